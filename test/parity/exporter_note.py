"""What PyTorch's default exporter notes beside a node: the function that it was.

Where ONNX's operator lacks an argument of that function, nothing else tells it.
"""

KEY = "pkg.torch.onnx.fx_node"


def note(node, function, *arguments):
    """Notes that a node was a call of torch.ops.aten's `function` with these arguments."""
    node.metadata_props.add(
        key=KEY,
        value=f"%{function} : [num_users=1] = call_function[target=torch.ops.aten.{function}."
              f"default](args = ({', '.join(map(str, arguments))}), kwargs = {{}})")

"""Lists the convolutions of emitted CUDA programs for cudnn-plan-check.

  conv-shapes.py PROGRAM.cu ... | cudnn-plan-check     (of one device)

Reads the declarations (`Tensor name = f32(offset, {dims});`) and the calls of
conv, conv_grad_input and conv_grad_weight that codegen prints.
"""

import re
import sys

DECLARATION = re.compile(r"Tensor (\w+)\s*=\s*f32\(\d+, \{([\d, ]*)\}\);")
CALL = re.compile(r"\b(conv|conv_grad_input|conv_grad_weight)\((.*?)\);", re.S)
FIELD = re.compile(r"\.(\w+) = (\{[\d, ]*\}|\w+)")


class UnknownForm(Exception):
    """The program is not as codegen prints it; the text says where."""


def convolutions(text):
    dims = {name: [int(d) for d in extents.split(",")]
            for name, extents in DECLARATION.findall(text) if extents}
    for match in CALL.finditer(text):
        callee, arguments = match.group(1), " ".join(match.group(2).split())
        operands, _, parameters = arguments.partition(", {.")
        operands = [o.strip().split(".")[-1] for o in operands.split(",")]
        fields = dict(FIELD.findall("." + parameters if parameters else ""))
        _, first, second, third = operands[:4]  # the lane comes first
        try:
            if callee == "conv":
                x, w, bias = dims[second], dims[third], operands[4] != "{}"
            elif callee == "conv_grad_input":
                x, w, bias = dims[first], dims[third], False
            else:
                w, x, bias = dims[first], dims[operands[4]], False
        except KeyError as missing:
            raise UnknownForm(f"unknown tensor {missing} in {match.group(0)!r}")

        def numbers(name, default):
            return ",".join(fields.get(name, default).strip("{}").split(", "))

        line = ["conv", "x=" + "x".join(map(str, x)), "w=" + "x".join(map(str, w)),
                "pad=" + numbers("pad", "{0, 0, 0, 0}"),
                "stride=" + numbers("stride", "{1, 1}"),
                "dilation=" + numbers("dilation", "{1, 1}")]
        line += ["bias"] * bias + ["relu"] * (fields.get("relu") == "true")
        yield " ".join(line)


def main():
    lines = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            try:
                lines.update(dict.fromkeys(convolutions(file.read())))
            except UnknownForm as error:
                sys.exit(f"conv-shapes.py: {path}: {error}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

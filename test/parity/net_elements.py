"""Operators of a random network (random_net.py) that name elements along an axis, and
its branches, loops and sequences. What several ops make of a layer is cut by samples
alone, so these have no extents.
"""

from onnx import TensorProto, helper

from net_composed import Composed
from net_graph import FLOAT, INT64


def graph(name, nodes, outputs, inputs=()):
    def infos(values):
        return [helper.make_tensor_value_info(value, kind, None) for value, kind in values]
    return helper.make_graph(nodes, name, infos(inputs), infos(outputs))


class Elements(Composed):
    """Elements by indices, and control flow that is known while compiling."""

    def elements(self):
        """Some of the columns, the same of each sample; or where the data says."""
        rng, (c, h, w), before = self.rng, self.shape, self.last
        kind = rng.choice(["GatherElements", "ScatterElements", "TopK", "ArgMax", "ArgMin",
                           "OneHot"])
        name = self.name("at")
        if kind == "TopK":
            k = rng.randrange(1, min(w, 4) + 1)
            self.op(kind, [self.integers(name, [k])], (c, h, k), {}, axis=3,
                    outputs=[name + ".values", name + ".places"],
                    largest=rng.randrange(2))
            return
        if kind == "OneHot":
            self.op("ArgMax", (), (c, h), {}, axis=3, keepdims=0)
            self.constants.append(helper.make_tensor(name, FLOAT, [2], [0.5, 2.0]))
            self.op(kind, [self.scalar(w, INT64), name], (c, h, w), {})
            self.op("Mul", [before], (c, h, w), {})
            return
        self.op("ArgMin" if kind == "ArgMin" else "ArgMax", (), (c, h, 1), {}, axis=3)
        places, self.last = self.last, before
        if kind == "GatherElements":
            self.op(kind, [places], (c, h, 1), {}, axis=3)
        elif kind == "ScatterElements":
            updates = self.op("ReduceMean", [self.integers(name, [3])], (c, h, 1), {})
            self.last = before
            self.op(kind, [places, updates], (c, h, w), {}, axis=3,
                    reduction=rng.choice(["none", "add"]))
        else:
            self.last = places
            self.op("Cast", (), None, {}, to=FLOAT)
            # From 1 on: zeros alone have no deviation, whose gradient is then none.
            self.op("Add", [self.scalar(1.0, FLOAT)], None, {})
            self.op("Mul", [before], (c, h, w), {})

    def inner(self, kind, value, name):
        """A node of a graph in a node."""
        return helper.make_node(kind, [value], [name], name=name)

    def control(self):
        """A branch that is taken, or a loop of some turns."""
        rng, name = self.rng, self.name("control")
        kinds = ["Tanh", "Sin", "Sigmoid"]
        extents = dict(zip("chw", self.shape))
        if rng.random() < 0.5:
            self.constants.append(helper.make_tensor(
                name + ".taken", TensorProto.BOOL, [], [rng.randrange(2)]))
            yes, no = (graph(f"{name}.{way}", [self.inner(
                rng.choice(kinds), self.last, f"{name}.{way}.f")],
                [(f"{name}.{way}.f", FLOAT)]) for way in ("yes", "no"))
            self.nodes.append(helper.make_node("If", [name + ".taken"], [name], name=name,
                                               then_branch=yes, else_branch=no))
            taken = "yes" if self.constants[-1].int32_data[0] else "no"
            self.layers.append((f"{name}.{taken}.f", extents))
        else:
            turns = rng.randrange(1, 4)
            body = graph(
                name + ".body", [self.inner("Identity", name + ".go", name + ".on"),
                                 self.inner(rng.choice(kinds), name + ".x", name + ".f")],
                [(name + ".on", TensorProto.BOOL), (name + ".f", FLOAT)],
                [(name + ".i", INT64), (name + ".go", TensorProto.BOOL),
                 (name + ".x", FLOAT)])
            self.nodes.append(helper.make_node(
                "Loop", [self.scalar(turns, INT64), "", self.last], [name], name=name,
                body=body))
            self.layers += [(f"{name}.f.{turn}", extents) for turn in range(turns)]
        self.last, self.kind = name, "Tanh"

    def list_of_values(self):
        """Values in a list, some of which are joined."""
        (c, h, w), before = self.shape, self.last
        name = self.name("list")
        other = self.op("Tanh", (), None, {})

        def node(kind, inputs, suffix):
            self.nodes.append(helper.make_node(kind, inputs, [name + suffix],
                                               name=name + suffix))
            return name + suffix

        last = node("SequenceConstruct", [before, other], ".two")
        empty = node("SequenceEmpty", [], ".empty")
        one = node("SequenceInsert", [empty, other], ".one")
        length = node("SequenceLength", [one], ".length")  # 1: the place of the second
        last = node("SequenceInsert", [last, before, length], ".three")
        self.last = node("SequenceErase", [last, self.scalar(0, INT64)], ".rest")
        if self.rng.random() < 0.5:
            body = graph(name + ".body", [self.inner("Sin", name + ".x", name + ".f")],
                         [(name + ".f", FLOAT)], [(name + ".x", FLOAT)])
            self.nodes.append(helper.make_node("SequenceMap", [self.last], [name + ".map"],
                                               name=name + ".map", body=body))
            self.last = name + ".map"
            self.layers += [(f"{name}.f.{i}", dict(zip("chw", (c, h, w)))) for i in (0, 1)]
        self.op("ConcatFromSequence", (), (2 * c, h, w), {}, axis=1)
        self.op("Mean", [self.last], None, {})

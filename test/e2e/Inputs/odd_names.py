"""Models whose names try to break the emitted text, made of a plain model.

  odd_names.py MODEL FOLDER            FOLDER/odd.onnx, wrong.onnx, machine.json
  odd_names.py MODEL FOLDER --files    FOLDER/files/: the model by many names
  odd_names.py MODEL FOLDER --check    the sources made of those in "FOLDER/a b"
"""

import json
import os
import re
import shutil
import sys

import onnx

TENSORS = ["Tensor", "NULL", "w", "gpu0.w", "a\n#error", "b\r#error", 'c"d\\', "*/",
           "n" * 100000, "权重", "\u2028#error", "e??/", "table1", "f32", "%s{0}",
           "gpu0", "gpu0.compute", "train_step", "a.b", "a/b", "a b", "-", "nan"]
LAYERS = ["l\n#error", "l\r#error", 'l"/></script></title><script>console.error("l")</script>', "l\\", "x" * 100000, "l\u2028#error",
          "l*/", "gpu0.0", "层", "l{0}%s", "l', 'm", "l[1]", "l backward"]
FILES = ["all", "install", "test", "help", "clean", "runtime", "trainer", "weights",
         "CMakeFiles", "CMakeLists", "Makefile", "edit_cache", "lwcc_rt_cpu", "main",
         "a;b", "a b", "$HOME", "${CMAKE_SOURCE_DIR}", "`date`", 'a"b', "a'b", "a\nb",
         "a\\", "-o", "--help", "-", "#", "(", "$<1:x>", "@NAME@", "模型", "x" * 200]


def write_odd(model, folder):
    tensors, layers = iter(TENSORS), iter(LAYERS)
    renamed = {i.name: i.name for i in [*model.graph.input, *model.graph.output]}

    def rename(name):
        if name and name not in renamed:
            renamed[name] = next(tensors, name)
        return renamed.get(name, name)

    del model.graph.value_info[:]
    for tensor in model.graph.initializer:
        tensor.name = rename(tensor.name)
    for node in model.graph.node:
        node.name = next(layers, node.name)
        node.input[:] = [rename(name) for name in node.input]
        node.output[:] = [rename(name) for name in node.output]
    assert next(layers, None) is None, "more layers than nodes"
    onnx.save(model, os.path.join(folder, "odd.onnx"))
    # The same with an operator that is not supported: its message has such a name in it.
    model.graph.node[0].op_type = "Det"
    onnx.save(model, os.path.join(folder, "wrong.onnx"))
    with open(os.path.join(folder, "machine.json"), "w") as file:
        json.dump({"version": 1, "name": 'evil\n#error "\\', "gpus": 2,
                   "device": {"fp32": 1e12, "bandwidth": 1e11, "memory": 1e10},
                   "link": {"bandwidth": 1e10}}, file)


def write_files(path, folder):
    os.makedirs(os.path.join(folder, "files"))
    for name in FILES:
        shutil.copy(path, os.path.join(folder, "files", name + ".onnx"))
    os.makedirs(os.path.join(folder, "a b"))


def check(folder):
    """Checks that the sources' CMakeLists.txt differ in the name of the program alone."""
    plain = None
    for name in sorted(os.listdir(os.path.join(folder, "a b"))):
        sources = os.path.join(folder, "a b", name)
        program, = (f for f in os.listdir(sources) if f.endswith(".cpp"))
        assert re.fullmatch(r"\w{1,96}\.cpp", program, re.ASCII), program
        with open(os.path.join(sources, "CMakeLists.txt")) as file:
            text = file.read().replace(program, "PROGRAM.cpp")
        assert plain in (None, text), name
        plain = text
        print(name, program)


def main():
    path, folder = sys.argv[1:3]
    if "--files" in sys.argv:
        write_files(path, folder)
    elif "--check" in sys.argv:
        check(folder)
    else:
        write_odd(onnx.load(path), folder)


if __name__ == "__main__":
    main()

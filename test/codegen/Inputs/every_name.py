"""Prints an exec program with a tensor for every name that the headers of an
emitted program mention: what the preprocessor defines, and every identifier in
what it gives. Then names that are no identifiers at all.

  every_name.py SOURCE_ROOT [INCLUDE_FOLDER HEADER]...
"""

import re
import subprocess
import sys

ODD = ["", " ", "a b", "a.b", "a/b", "a:b", "a_b", "a__b", "_", "__", "9", "9x",
       "\n", "x\n#error", "x\r#error", 'x"', "x\\", "x\\\n", "??/", "*/", "//",
       "\u2028", "\u202e", "gewichte_größe", "权重", "w", "gpu0.w", "gpu0.gpu0.w",
       "n" * 100000, "n" * 99999 + "m", "\x00", "\x01", "\x7f", "%s", "{0}",
       "table1", "table2", "R\"(", "u8\"x\"", "0x1p3", "TRUE", "i", "k", "d",
       "gpu", "machine", "M_PI", "M_PI_2", "M_PI_", "float", "float_", "float_2"]


def preprocess(flags, text):
    return subprocess.run(["g++", "-std=c++20", "-x", "c++", "-E", *flags, "-"],
                          input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def symbol(name):
    """A name of any bytes, as MLIR writes a symbol."""
    return '@"' + "".join(
        chr(c) if 0x20 <= c < 0x7f and c not in b'"\\' else f"\\{c:02X}"
        for c in name.encode()) + '"'


def tensor(name):
    """The symbol of the tensor with this name; no other symbol is equal to it."""
    return symbol("d." + name)


def main():
    root, rest = sys.argv[1], sys.argv[2:]
    flags, text = [f"-I{root}"], '#include "runtime/emit/Generated.h"\n'
    for folder, header in zip(rest[::2], rest[1::2]):
        flags.append(f"-I{folder}")
        text += f"#include <{header}>\n"
    macros = re.findall(r"^#define (\w+)", preprocess([*flags, "-dM"], text), re.M)
    words = re.findall(r"\b[A-Za-z_]\w*", preprocess([*flags, "-P"], text))
    # Identifiers of a reserved form are never made of tensor names.
    names = {n for n in macros + words if "__" not in n and n[0] != "_"}
    assert {"Tensor", "NULL", "INT64_MAX", "std", "float"} <= names
    names = sorted(names | set(ODD))
    print(f"// {len(names)} names")
    print('exec.program @names attributes {exec.model = "names\\0A#error.onnx", '
          'exec.plan = "of\\0D#error \\\\", exec.batch = 1 : i64, '
          'exec.classes = 2 : i64, exec.compiler = "lwcc"} {')
    print("  exec.device @d node 0 gpu 0 arena 64")
    print("  exec.lane compute @lane on @d")
    for i, name in enumerate(names):
        # Tensors of two ranks, so that there are several members.
        shape = "2x" if i % 2 else ""
        role, rest = "activation", ""
        if name in ODD:  # it is in the trainer's tables as a string, too
            role = "trainable"
            rest = " {exec.init = #train.init<constant 0.0>}"
        print(f"  exec.buffer {role} {tensor(name)} of {symbol(name)[1:]} : "
              f"tensor<{shape}2xf32> "
              f"on @d at 0{rest}")
    print("  exec.sequence @train_step {")
    for name in ODD:
        print(f'    exec.call "fill" [] -> [{tensor(name)}] on @lane for '
              f'{symbol(name)[1:]} forward with {{value = 0.0 : f32}}')
    print("  }\n  exec.sequence @evaluate {\n  }\n}")


if __name__ == "__main__":
    main()

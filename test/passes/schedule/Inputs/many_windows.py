"""Prints a function that reads columns of many rows, each twice.

Two rows are a view of the input (they begin at 256 bytes), and their columns a window of
that view. Naming a window makes two buffers, and there are more of them than hash tables
have room for at first: a reference into a table must not be kept.
"""

ROWS, WIDTH, PARTS = 200, 32, 40


def tensor(rows, width=WIDTH):
    return f"tensor<{rows}x{width}xf32, #p0>"


PLACE = "train.tiling = #on0"
ARGUMENTS = (f'%x: {tensor(ROWS)} {{train.name = "x"}}, '
             '%labels: tensor<2xi32, #p0> {train.name = "labels", train.role = #train.role<labels>}, '
             '%scalars: tensor<64xui8, #p0> {train.name = "scalars", train.role = #train.role<scalars>}')
RESULTS = "(tensor<f32, #p0>, tensor<2xi32, #p0>)"


def loss(value, rows, width):
    return (f"    %loss = train.reduce({value}) {{axes = array<i64: 0, 1>, "
            f"mean = false, {PLACE}}} : ({tensor(rows, width)}) -> "
            "tensor<f32, #p0>\n"
            "    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>\n"
            "  }")


def concat(name, values, rows, width):
    return (f"    %{name} = train.concat({', '.join(values)}) {{axis = 0 : i64, "
            f'train.names = ["{name}"], {PLACE}}} : '
            f"({', '.join([tensor(rows, width)] * len(values))}) -> "
            f"{tensor(rows * len(values), width)}")


print('#p0 = #train.place<"0.0.0">')
print('#on0 = #train.tiling<n = 1 c = 1 h = 1 w = 1 k = 1 on [<"0.0.0">]>')
print("module {")
print(f"  func.func @train_step({ARGUMENTS}) -> {RESULTS} {{")
for i in range(ROWS // 2):
    print(f"    %r{i} = train.slice(%x) {{start = array<i64: {2 * i}, 0>, "
          f'step = array<i64: 1, 1>, train.names = ["r{i}"], {PLACE}}} : '
          f"({tensor(ROWS)}) -> {tensor(2)}")
    print(f"    %w{i} = train.slice(%r{i}) {{start = array<i64: 0, 3>, "
          f'step = array<i64: 1, 1>, train.names = ["w{i}"], {PLACE}}} : '
          f"({tensor(2)}) -> {tensor(2, 5)}")
parts = []
for i in range(0, ROWS // 2, PARTS):
    for again in "ab":
        values = [f"%w{j}" for j in range(i, min(i + PARTS, ROWS // 2))]
        print(concat(f"{again}{i}", values, 2, 5))
        parts.append((f"%{again}{i}", 2 * len(values)))
for name, rows in parts:
    print(f"    %s{name[1:]} = train.reduce({name}) {{axes = array<i64: 0, 1>, "
          f"mean = false, {PLACE}}} : ({tensor(rows, 5)}) -> tensor<f32, #p0>")
print("    %loss = train.sum(" + ", ".join(f"%s{name[1:]}" for name, _ in parts)
      + f") {{{PLACE}}} : (" + ", ".join(["tensor<f32, #p0>"] * len(parts))
      + ") -> tensor<f32, #p0>")
print("    return %loss, %labels : tensor<f32, #p0>, tensor<2xi32, #p0>\n  }")
print(f"  func.func @evaluate({ARGUMENTS}) -> {RESULTS} {{")
print(loss("%x", ROWS, WIDTH))
print("}")

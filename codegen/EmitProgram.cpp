//===- EmitProgram.cpp - exec as readable CUDA C++ ------------------------===//
//
// The statements of the program: kernels, one struct per device, one function
// per sequence and phase. A call is printed from its own operands and
// parameters, so a new operator needs nothing here.
//
//===----------------------------------------------------------------------===//

#include "codegen/EmitProgram.h"
#include "codegen/ProgramNames.h"
#include "ir/exec/Kernels.h"
#include "ir/train/Expression.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

ProgramNames::ProgramNames(ProgramOp program)
    : program(program), symbols(program) {
  auto add = [&](auto &list, auto op) {
    index[op] = static_cast<int>(list.size());
    list.push_back(op);
  };
  for (Operation &op : program.getBody().front())
    TypeSwitch<Operation *>(&op)
        .Case([&](DeviceOp device) { add(devices, device); })
        .Case([&](LaneOp lane) { add(lanes, lane); })
        .Case([&](EventOp event) { add(events, event); })
        .Case([&](exec::KernelOp kernel) { add(kernels, kernel); })
        .Case([&](BufferOp buffer) { add(buffers, buffer); });

  // Inside a kernel its own name would hide a function that it calls.
  NameTable kernelNames({"Tensor", "Tensors", "Machine", "StepScalars", "abs",
                         "exp", "log", "sqrt", "tanh", "erf", "pow", "floor",
                         "min", "max", "sigmoid", "dropout_mask"});
  for (exec::KernelOp kernel : kernels)
    member[kernel] = kernelNames.get(kernel.getSymName());
  // Members of one struct per device; a tensor wins over nothing.
  for (DeviceOp device : devices) {
    NameTable members({"arena", "f32", "i32", "u8", "view", "Dims"});
    StringRef name = device.getSymName();
    for (LaneOp lane : lanes)
      if (lane.getDevice() == name)
        member[lane] = members.get(lane.getSymName().rsplit('.').second.empty()
                                       ? lane.getSymName()
                                       : lane.getSymName().rsplit('.').second);
    for (BufferOp buffer : buffers)
      if (buffer.getDevice() == name)
        member[buffer] = members.get(buffer.getSymName());
  }
}

int64_t ProgramNames::offsetOf(BufferOp buffer) {
  auto [root, distance] = rootOf(buffer, symbols);
  return root.getOffset() + distance;
}

std::string ProgramNames::variableOf(int device) const {
  return devices.size() == 1 ? "d" : "d" + std::to_string(device);
}

std::string lwcc::textOf(ProgramOp program, StringRef attribute) {
  auto text = program->getAttrOfType<StringAttr>(attribute);
  return text ? text.str() : "";
}

int64_t lwcc::numberOf(ProgramOp program, StringRef attribute) {
  auto number = program->getAttrOfType<IntegerAttr>(attribute);
  return number ? number.getInt() : 0;
}

std::string lwcc::braced(ArrayRef<int64_t> values) {
  return "{" +
         llvm::join(llvm::map_range(values,
                                    [](int64_t v) { return std::to_string(v); }),
                    ", ") +
         "}";
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

namespace {

class Emitter {
public:
  explicit Emitter(ProgramOp program) : names(program) {}
  FailureOr<std::string> run();

private:
  void header();
  LogicalResult kernel(exec::KernelOp op);
  void deviceStruct(DeviceOp device);
  LogicalResult sequence(SequenceOp op, StringRef cppName);
  LogicalResult body(StringRef function, StringRef comment,
                     ArrayRef<Operation *> ops);
  LogicalResult statement(Operation *op);
  LogicalResult call(CallOp op);

  std::string lane(StringRef name);
  std::string tensor(Attribute operand);
  FailureOr<std::string> parameter(CallOp op, NamedAttribute attr);
  std::string deviceArguments(bool declare);

  ProgramNames names;
  CppWriter out;
};

} // namespace

std::string Emitter::lane(StringRef name) {
  auto op = names.symbols.lookup<LaneOp>(name);
  return names.variableOf(names.deviceOf(op.getDevice())) + "." +
         names.memberOf(op);
}

std::string Emitter::tensor(Attribute operand) {
  auto name = dyn_cast<FlatSymbolRefAttr>(operand);
  if (!name)
    return "{}";
  auto op = names.symbols.lookup<BufferOp>(name.getValue());
  return names.variableOf(names.deviceOf(op.getDevice())) + "." +
         names.memberOf(op);
}

FailureOr<std::string> Emitter::parameter(CallOp op, NamedAttribute attr) {
  Attribute value = attr.getValue();
  std::string text;
  if (auto flag = dyn_cast<BoolAttr>(value))
    text = flag.getValue() ? "true" : "false";
  else if (auto number = dyn_cast<IntegerAttr>(value))
    text = std::to_string(number.getInt());
  else if (auto number = dyn_cast<FloatAttr>(value))
    text = floatLiteral(static_cast<float>(number.getValueAsDouble()));
  else if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    text = braced(list.asArrayRef());
  else
    return op.emitOpError("has a parameter that cannot be printed: ") << value;
  return "." + attr.getName().str() + " = " + text;
}

LogicalResult Emitter::call(CallOp op) {
  const KernelSignature *row = findKernel(op.getCallee());
  assert(row && "verified");
  std::vector<CppArgument> arguments = {lane(op.getLane())};
  std::string callee = op.getCallee().str();

  auto add = [&](ArrayAttr list, int count) {
    std::vector<std::string> items;
    for (Attribute operand : list)
      items.push_back(tensor(operand));
    size_t single = count < 0 ? -count - 1 : items.size();
    for (size_t i = 0; i < single; ++i)
      arguments.push_back(CppArgument(items[i]));
    if (count < 0)
      arguments.push_back(CppArgument(
          std::vector<std::string>(items.begin() + single, items.end())));
  };
  add(op.getOuts(), row->results);
  if (auto kernelName = op.getKernel()) {
    // A generated kernel: its inputs as a list, then the step's scalars if its
    // expression draws random numbers.
    auto kernel = names.symbols.lookup<exec::KernelOp>(*kernelName);
    callee += "<kernels::" + names.kernelName(*kernelName) + ">";
    std::vector<std::string> inputs;
    for (uint64_t i = 0; i < kernel.getInputs(); ++i)
      inputs.push_back(tensor(op.getIns()[i]));
    arguments.push_back(CppArgument(inputs));
    for (size_t i = kernel.getInputs(); i < op.getIns().size(); ++i)
      arguments.push_back(CppArgument(tensor(op.getIns()[i])));
  } else {
    add(op.getIns(), row->operands);
  }
  if (DictionaryAttr params = op.getParamsAttr(); params && !params.empty()) {
    std::vector<std::string> fields;
    for (NamedAttribute attr : params) {
      if (isDefaultParameter(attr.getName(), attr.getValue()))
        continue;
      FailureOr<std::string> field = parameter(op, attr);
      if (failed(field))
        return failure();
      fields.push_back(*field);
    }
    arguments.push_back(CppArgument(std::move(fields)));
  }
  out.call(callee, arguments);
  return success();
}

LogicalResult Emitter::statement(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](CallOp callOp) { return call(callOp); })
      .Case<RecordOp, WaitOp>([&](auto sync) {
        auto event = names.symbols.lookup<EventOp>(sync.getEvent());
        out.line(llvm::formatv("machine.event({0}).{1}({2});",
                               names.indexOf(event),
                               isa<RecordOp>(op) ? "record" : "wait",
                               lane(sync.getLane()))
                     .str());
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("has no printed form");
      });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string Emitter::deviceArguments(bool declare) {
  std::string text;
  // The machine is there for its events only.
  if (!names.events.empty())
    text = declare ? "Machine &machine, " : "machine, ";
  for (size_t i = 0; i < names.devices.size(); ++i) {
    std::string variable = names.variableOf(static_cast<int>(i));
    text += (i ? ", " : "") +
            (declare ? llvm::formatv("Device{0} &{1}", i, variable).str()
                     : variable);
  }
  return text;
}

LogicalResult Emitter::body(StringRef function, StringRef comment,
                            ArrayRef<Operation *> ops) {
  out.comment(comment);
  std::string head =
      ("void " + function + "(" + deviceArguments(true) + ") {").str();
  if (ops.empty()) {
    out.line(head + "}");
    out.line();
    return success();
  }
  out.line(head);
  out.indent();
  // The lane is told the layer where it changes, for profiles and messages.
  std::map<std::string, std::pair<StringRef, StringRef>> current;
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (auto call = dyn_cast<CallOp>(op)) {
      auto &layer = current[call.getLane().str()];
      std::pair<StringRef, StringRef> next = {call.getLayer(), call.getPhase()};
      if (next != layer) {
        if (i != 0)
          out.line();
        out.call(lane(call.getLane()) + ".layer",
                 {CppArgument(quoted(next.first)),
                  CppArgument(quoted(next.second))});
        layer = next;
      }
    }
    if (failed(statement(op)))
      return failure();
  }
  out.dedent();
  out.line("}");
  out.line();
  return success();
}

LogicalResult Emitter::sequence(SequenceOp op, StringRef cppName) {
  // Everything up to the first op of another phase is the forward pass.
  std::vector<Operation *> forward, rest;
  for (Operation &inner : op.getBody().front()) {
    auto call = dyn_cast<CallOp>(inner);
    bool isForward = rest.empty() && (!call || call.getPhase() == "forward");
    (isForward ? forward : rest).push_back(&inner);
  }
  std::string arguments = deviceArguments(false);
  std::string base = op.getSymName().str();
  std::vector<std::string> parts;
  if (failed(body(base + "_forward",
                  rest.empty() ? "Running statistics, no dropout."
                               : "Batch statistics, dropout; saves what the "
                                 "backward pass reads.",
                  forward)))
    return failure();
  parts.push_back(base + "_forward");
  if (!rest.empty()) {
    if (failed(body(base + "_backward",
                    "Gradients; each parameter is updated as soon as its "
                    "gradient exists.",
                    rest)))
      return failure();
    parts.push_back(base + "_backward");
  }
  out.line(("void " + cppName + "(Machine &machine) {").str());
  out.indent();
  for (size_t i = 0; i < names.devices.size(); ++i)
    out.line(llvm::formatv("Device{0} {1}(machine);", i,
                           names.variableOf(static_cast<int>(i)))
                 .str());
  for (const std::string &part : parts)
    out.line(part + "(" + arguments + ");");
  out.dedent();
  out.line("}");
  out.line();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and devices
//===----------------------------------------------------------------------===//

LogicalResult Emitter::kernel(exec::KernelOp op) {
  llvm::Expected<Expression> parsed = Expression::parse(op.getExpr());
  if (!parsed)
    return op.emitOpError("has a malformed expression: ")
           << llvm::toString(parsed.takeError());
  const bool indexed = parsed->usesDropout();
  std::string arguments = indexed ? "const StepScalars &s, uint64_t i"
                                  : "const StepScalars &, uint64_t";
  for (uint64_t i = 0; i < op.getInputs(); ++i)
    arguments += ", float x" + std::to_string(i);
  out.line("struct " + names.memberOf(op) + " {");
  out.indent();
  out.line(llvm::formatv("static constexpr int inputs = {0};", op.getInputs())
               .str());
  out.line(llvm::formatv("static constexpr bool indexed = {0};",
                         indexed ? "true" : "false")
               .str());
  std::vector<CppArgument> list;
  for (StringRef argument : llvm::split(arguments, ", "))
    list.push_back(CppArgument(argument.str()));
  out.signature("LWCC_HD static float at", list);
  out.indent();
  // In C++ the mask also needs the step and the element at hand.
  std::string text = parsed->print();
  const StringRef mask = "dropout_mask(";
  for (size_t at = text.find(mask); at != std::string::npos;
       at = text.find(mask, at + mask.size()))
    text.insert(at + mask.size(), "s, i, ");
  out.returns(text);
  out.dedent();
  out.line("}");
  out.dedent();
  out.line("};");
  out.line();
  return success();
}

static StringRef titleOf(Role role) {
  switch (role) {
  case Role::Parameter:
    return "Parameters.";
  case Role::Statistic:
    return "Running statistics.";
  case Role::Optimizer:
    return "Optimizer state.";
  case Role::Constant:
    return "Constants of the model.";
  case Role::Input:
  case Role::Labels:
  case Role::Scalars:
    return "Written by the trainer before each step.";
  case Role::Loss:
  case Role::Metric:
    return "Read by the trainer after each step.";
  case Role::Activation:
    return "Activations; memory is shared where lifetimes allow.";
  case Role::Gradient:
    return "Gradients; memory is shared where lifetimes allow.";
  }
  llvm_unreachable("covered switch");
}

void Emitter::deviceStruct(DeviceOp device) {
  int number = names.indexOf(device);
  out.line(llvm::formatv("/// The tensors of GPU {0} on node {1}.",
                         device.getGpu(), device.getNode())
               .str());
  out.line(llvm::formatv("struct Device{0} : DeviceMemory {{", number).str());
  out.indent();
  out.line(llvm::formatv("explicit Device{0}(Machine &machine)", number).str());
  std::string initializers = llvm::formatv(
      "    : DeviceMemory(machine, {0})", number);
  for (LaneOp lane : names.lanes)
    if (lane.getDevice() == device.getSymName()) {
      std::string next = llvm::formatv("{0}(machine.lane({1}))",
                                       names.memberOf(lane),
                                       names.indexOf(lane));
      if (initializers.size() + 2 + next.size() + 4 > 78) {
        out.line(initializers + ",");
        initializers = "      " + next;
      } else {
        initializers += ", " + next;
      }
    }
  out.line(initializers + " {}");
  out.line();
  for (LaneOp lane : names.lanes)
    if (lane.getDevice() == device.getSymName())
      out.line("Lane &" + names.memberOf(lane) + ";");

  StringRef title;
  for (unsigned role = 0; role <= getMaxEnumValForRole(); ++role)
    for (BufferOp buffer : names.buffers) {
      if (buffer.getDevice() != device.getSymName() ||
          static_cast<unsigned>(buffer.getRole()) != role)
        continue;
      if (title != titleOf(buffer.getRole())) {
        title = titleOf(buffer.getRole());
        out.line();
        out.comment(title);
      }
      RankedTensorType type = buffer.getTensorType();
      Type element = type.getElementType();
      StringRef make = element.isF32() ? "f32"
                       : element.isInteger(32) ? "i32"
                                               : "u8";
      std::string value = llvm::formatv("{0}({1}, {2})", make,
                                        names.offsetOf(buffer),
                                        braced(type.getShape()));
      out.assignment("Tensor " + names.memberOf(buffer), value);
    }
  out.dedent();
  out.line("};");
  out.line();
}

void Emitter::header() {
  ProgramOp program = names.program;
  std::string model = textOf(program, "exec.model");
  out.banner("A trainer for " + model);
  out.comment("");
  out.comment("Generated by " + textOf(program, "exec.compiler") +
              "; change the model or the plan, not this file.");
  out.comment("");
  auto row = [&](StringRef key, const std::string &value) {
    if (!value.empty())
      out.comment(llvm::formatv("  {0,-10} {1}", key, value).str());
  };
  row("model", textOf(program, "exec.summary"));
  row("plan", textOf(program, "exec.plan"));
  row("loss", textOf(program, "exec.loss"));
  row("precision", textOf(program, "exec.precision"));
  row("arena", textOf(program, "exec.memory"));
  out.comment("");
  out.comment("A call appends one operation to a lane; the trainer records the "
              "step once and replays it. Shapes are [n, c, h, w]; tensors of "
              "rank 4 are stored channels-last.");
  out.comment("");
  out.ruler();
  out.line();
}

FailureOr<std::string> Emitter::run() {
  header();
  out.line("#include \"runtime/core/Generated.h\"");
  out.line();
  out.line("extern \"C\" const char lwcc_blob[], lwcc_blob_end[];");
  out.line("extern \"C\" const int64_t lwcc_blob_bytes;");
  out.line();
  if (!names.kernels.empty()) {
    out.comment("Elementwise kernels: one element of the result, from the "
                "elements x0, x1, ... of the inputs.");
    out.line("namespace lwcc::rt::kernels {");
    out.line("namespace {");
    out.line();
    for (exec::KernelOp op : names.kernels)
      if (failed(kernel(op)))
        return failure();
    out.line("} // namespace");
    out.line("} // namespace lwcc::rt::kernels");
    out.line();
  }
  out.line("using namespace lwcc::rt;");
  out.line();
  out.line("namespace {");
  out.line();
  for (DeviceOp device : names.devices)
    deviceStruct(device);
  for (Operation &op : names.program.getBody().front())
    if (auto sequenceOp = dyn_cast<SequenceOp>(op)) {
      StringRef cppName =
          sequenceOp.getSymName() == "train_step" ? "trainStep" : "evaluate";
      if (failed(sequence(sequenceOp, cppName)))
        return failure();
    }
  emitTables(names, out);
  return out.take();
}

FailureOr<std::string> lwcc::emitProgram(ProgramOp program) {
  return Emitter(program).run();
}

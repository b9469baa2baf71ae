//===- Info.cpp - What a program says about itself ------------------------===//

#include "runtime/train/report/Info.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/state/GlobalTensors.h"

namespace lwcc::rt::train {

namespace {
/// The tensors of some roles.
struct Tally {
  int64_t tensors = 0, elements = 0, bytes = 0;

  template <typename IsOfThem>
  Tally(const Program &program, IsOfThem isOfThem) {
    for (const StateTensor &state : program.state)
      if (isOfThem(state.role)) {
        ++tensors;
        elements += elementsOf(state.tensor);
        bytes += bytesOf(state.tensor);
      }
  }
  std::string text() const {
    return countText(elements) + " in " + plural(tensors, "tensor") + ", " +
           bytesText(bytes);
  }
};

auto only(Role role) {
  return [role](Role other) { return other == role; };
}
} // namespace

const char *sampleNoun(const Program &program) {
  if (program.inputs.size() > 1)
    return "sample";
  const InputTensor &input = program.inputs.front();
  return input.tokens ? "sequence" : input.dims.size() == 2 ? "row" : "image";
}

std::string describeHeader(const Program &program) {
  std::string text = program.compiler + ": " + program.model + ", " +
                     program.loss + ", " + program.precision + ", batch " +
                     countText(program.batch) + "\n" + "  parameters  " +
                     Tally(program, isWeight).text();
  if (!program.plan.empty())
    text += "\n  plan        " + program.plan;
  return text;
}

std::string describeProgram(const Program &program) {
  std::string text;
  auto row = [&](const char *title, const std::string &value) {
    text += format("  %-14s", title) + value + "\n";
  };
  text += "model\n";
  row("file", program.model);
  row("hash", program.modelHash);
  for (const InputTensor &input : program.inputs)
    row("input",
        input.name + " " + dimsText(input.dims) +
            (input.tokens ? ", integers below " + countText(input.tokens)
                          : ""));
  if (program.lossName.empty())
    row("classes", countText(program.classes) +
                       (program.labels.dims.size() > 1
                            ? ", labels " + dimsText(program.labels.dims)
                            : ""));
  else
    row("targets", isComputedByModel(program.lossName)
                       ? "none: the output is the loss"
                       : dimsText(program.labels.dims));
  row("parameters", Tally(program, isWeight).text());
  row("statistics", Tally(program, only(Role::statistic)).text());
  if (Tally averages(program, only(Role::average)); averages.tensors)
    row("averages", averages.text());
  row("optim. state", Tally(program, only(Role::optimizer)).text());
  row("constants", Tally(program, only(Role::constant)).text());
  text += "memory\n";
  const MachineSpec &machine = program.machine;
  for (size_t d = 0; d < machine.devices.size(); ++d)
    row(format("device %zu", d).c_str(),
        bytesText(machine.devices[d].arenaBytes) +
            " arena, besides what libraries need");
  text += "fixed when it was compiled\n";
  row("compiler", program.compiler);
  row("batch", countText(program.batch));
  row("loss", program.loss);
  row("optimizer", program.optimizer);
  row("precision", program.precision);
  row("plan", program.plan);
  row("devices", countText(machine.devices.size()));
  std::string lanes;
  for (const LaneSpec &lane : machine.lanes)
    lanes += (lanes.empty() ? "" : ", ") + std::string(lane.name);
  row("lanes", lanes);
  row("ONNX export",
      program.onnxExport.empty() ? "no (--export-onnx is refused)" : "yes");
  return text;
}

std::vector<std::pair<std::string, std::string>>
flagsOfOthers(const Program &program) {
  auto compiled = [&](const std::string &value, const std::string &flag) {
    return "was fixed when the program was compiled (" + value +
           "); lwcc MODEL " + flag + " compiles another";
  };
  std::string batch = compiled(countText(program.batch), "--batch=N");
  std::string devices = plural(program.machine.devices.size(), "device");
  std::string plan = program.plan.empty() ? devices : program.plan;
  // What programs do not know of themselves.
  auto ofCompiler = [](const std::string &flag) {
    return "is a flag of the compiler: lwcc MODEL --" + flag;
  };
  return {
      {"class-weights", ofCompiler("class-weights=W,W..")},
      {"clip-norm", ofCompiler("clip-norm=X")},
      {"ema", ofCompiler("ema=D")},
      {"freeze", ofCompiler("freeze=REGEX")},
      {"frozen-bn", ofCompiler("frozen-bn")},
      {"group", ofCompiler("group=REGEX:lr-scale=X")},
      {"label-smoothing", ofCompiler("label-smoothing=X")},
      {"no-decay", ofCompiler("no-decay=bias,norm")},
      {"batch", batch},
      {"batch-size", batch},
      {"gpus", compiled(devices, "--gpus=N")},
      {"precision", compiled(program.precision, "--precision=P")},
      {"plan", compiled(plan, "--plan=FILE")},
      {"strategy", compiled(plan, "--strategy=S")},
      {"loss", "was fixed when the program was compiled (" + program.loss +
                   "); it is the model file's, or cross entropy where that "
                   "has none"},
      {"optimizer", compiled(program.optimizer, "--optimizer=NAME")},
  };
}

} // namespace lwcc::rt::train

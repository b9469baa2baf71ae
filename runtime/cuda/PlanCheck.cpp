//===- PlanCheck.cpp - cudnn-plan-check: will cuDNN take these? -----------===//
//
// Builds the plans of a list of convolutions for devices that need not be
// there, so that a machine without a GPU can tell whether cuDNN takes every
// graph of a model. Reads lines such as
//
//   conv x=8x3x224x224 w=64x3x7x7 pad=3,3,3,3 stride=2,2 dilation=1,1 bias relu
//
// (see tools/gpu/conv-shapes.py) from the files named, or from standard input,
// and builds the forward plan and both gradients of each. Prints how many were
// accepted and every refusal; exits with 1 if any plan is refused. A refused
// fusion of a bias is only counted: the runtime then adds it apart.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/cuda/ConvPlan.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

struct Convolution {
  ConvShape shape;
  bool bias = false, relu = false;
  auto operator<=>(const Convolution &) const = default;
};

struct Counts {
  int accepted = 0, refused = 0, unfused = 0;
};

} // namespace

/// "8x3x224x224" or "1,1" as numbers.
template <size_t N>
static std::array<int64_t, N> numbers(const std::string &text, char separator) {
  std::array<int64_t, N> values = {};
  std::istringstream in(text);
  for (size_t i = 0; i < N; ++i) {
    if (i != 0 && in.get() != separator)
      throw Error("expected " + std::to_string(N) + " numbers in '" + text +
                  "'");
    if (!(in >> values[i]))
      throw Error("expected a number in '" + text + "'");
  }
  if (in.peek() != std::istringstream::traits_type::eof())
    throw Error("trailing text in '" + text + "'");
  return values;
}

static Convolution parse(const std::string &line) {
  Convolution conv;
  ConvShape &shape = conv.shape;
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word != "conv")
    throw Error("a line starts with 'conv', found '" + word + "'");
  while (words >> word) {
    size_t equals = word.find('=');
    std::string key = word.substr(0, equals);
    std::string value =
        equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "x")
      shape.x = numbers<4>(value, 'x');
    else if (key == "w")
      shape.w = numbers<4>(value, 'x');
    else if (key == "pad")
      shape.pad = numbers<4>(value, ',');
    else if (key == "stride")
      shape.stride = numbers<2>(value, ',');
    else if (key == "dilation")
      shape.dilation = numbers<2>(value, ',');
    else if (word == "bias")
      conv.bias = true;
    else if (word == "relu")
      conv.relu = true;
    else
      throw Error("unknown word '" + word + "'");
  }
  if (shape.x[0] == 0 || shape.w[0] == 0)
    throw Error("a line needs x= and w=");
  shape.y = {shape.x[0], shape.w[0], 0, 0};
  for (size_t d = 0; d < 2; ++d)
    shape.y[2 + d] = (shape.x[2 + d] + shape.pad[d] + shape.pad[2 + d] -
                      (shape.w[2 + d] - 1) * shape.dilation[d] - 1) /
                         shape.stride[d] +
                     1;
  return conv;
}

static void readLines(std::istream &in, const std::string &name,
                      std::set<Convolution> &list) {
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#')
      continue;
    try {
      list.insert(parse(line));
    } catch (const Error &error) {
      throw Error(name + ":" + std::to_string(number) + ": " + error.what());
    }
  }
}

static std::string fileContents(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!(text << file.rdbuf()))
    throw Error("cannot read " + path);
  return text.str();
}

static bool tryPlan(const PlanTarget &target, const ConvShape &shape,
                    std::string &reason) {
  return buildConvPlan(target, shape, &reason).has_value();
}

static void checkOne(const PlanTarget &target, const std::string &device,
                     Convolution conv, Counts &counts) {
  std::string reason;
  auto need = [&](ConvKind kind) {
    conv.shape.kind = kind;
    if (tryPlan(target, conv.shape, reason)) {
      ++counts.accepted;
      return;
    }
    ++counts.refused;
    std::printf("%s refused: %s: %s\n", device.c_str(),
                conv.shape.describe().c_str(), reason.c_str());
  };
  if (conv.bias && !conv.relu) {
    conv.shape.kind = ConvKind::forwardBias;
    tryPlan(target, conv.shape, reason) ? ++counts.accepted : ++counts.unfused;
  }
  need(ConvKind::forward);
  need(ConvKind::gradInput);
  need(ConvKind::gradWeight);
}

static int run(int argc, char **argv) {
  std::vector<std::string> files;
  std::string folder = LWCC_DEVICE_FOLDER;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help") {
      std::printf("usage: cudnn-plan-check [--devices=FOLDER] [FILE...]\n"
                  "Builds cuDNN plans for the convolutions listed in the files "
                  "(or on standard input)\nfor sm_80, sm_90 and sm_100, "
                  "without a GPU. See runtime/README.md.\n");
      return 0;
    }
    if (argument.rfind("--devices=", 0) == 0)
      folder = argument.substr(10);
    else if (argument.rfind("-", 0) == 0)
      throw Error("unknown option " + argument + " (try --help)");
    else
      files.push_back(argument);
  }
  std::set<Convolution> list;
  if (files.empty())
    readLines(std::cin, "<stdin>", list);
  for (const std::string &path : files) {
    std::istringstream text(fileContents(path));
    readLines(text, path, list);
  }
  Counts total;
  for (const char *device : {"sm_80", "sm_90", "sm_100"}) {
    PlanTarget target =
        PlanTarget::fromJson(fileContents(folder + "/" + device + ".json"));
    Counts counts;
    for (Convolution conv : list)
      for (bool tf32 : {false, true})
        for (bool deterministic : {false, true}) {
          conv.shape.tf32 = tf32;
          conv.shape.deterministic = deterministic;
          checkOne(target, device, conv, counts);
        }
    std::printf("%s: %d plans accepted, %d refused, %d fusions left to own "
                "kernels (%zu convolutions)\n",
                device, counts.accepted, counts.refused, counts.unfused,
                list.size());
    total.accepted += counts.accepted;
    total.refused += counts.refused;
  }
  std::printf("%d accepted, %d refused\n", total.accepted, total.refused);
  return total.refused == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cudnn-plan-check: error: %s\n", error.what());
    return 1;
  }
}

//===- FakeProgram.cpp - A small program that really learns ---------------===//

#include "FakeProgram.h"

#include "FakeMachine.h"
#include "runtime/core/Scalars.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace lwcc::rt {

namespace {
/// Hands out arena offsets.
struct Layouter {
  MachineSpec spec;

  TensorRef place(int device, std::vector<int64_t> dims,
                  DType type = DType::f32) {
    int64_t bytes = sizeOf(type);
    for (int64_t dim : dims)
      bytes *= dim;
    TensorRef ref;
    ref.device = device;
    ref.offset = spec.devices[device].arenaBytes;
    ref.type = type;
    ref.layout = dims.size() == 4 ? Layout::nhwc : Layout::dense;
    ref.dims = std::move(dims);
    spec.devices[device].arenaBytes += (bytes + 255) / 256 * 256;
    return ref;
  }
};

/// The refs that the step computes with, one of each per device.
struct Refs {
  TensorRef x[2], weight[2], velocity[2], bias[2], biasVelocity[2], labels[2],
      mean[2], loss, correct, scalars[2], logits;
  int64_t batch, classes, features; ///< features of one device
};
} // namespace

static void addSgd(FakeMachine &machine, const TensorRef &w, const TensorRef &v,
                   const TensorRef &scalars, const TensorRef &loss,
                   const char *layer, std::function<float(int64_t)> gradient) {
  Tensor weight = w.on(machine), velocity = v.on(machine);
  auto *s = scalars.on(machine).as<StepScalars>();
  float *l = loss.on(machine).as<float>();
  machine.append({layer,
                  "update",
                  "sgd",
                  {weight, velocity},
                  [=] {
                    if (!std::isfinite(*l))
                      return;
                    for (int64_t i = 0; i < weight.elements(); ++i) {
                      float &p = weight.as<float>()[i];
                      float &m = velocity.as<float>()[i];
                      float g = gradient(i) + s->weight_decay * p;
                      m = s->momentum * m + g;
                      p -= s->lr * (s->nesterov ? g + s->momentum * m : m);
                    }
                  },
                  w.device});
}

/// Logits, loss and counts; fills `probs` for the backward half.
static void addForward(FakeMachine &machine, const Refs &r,
                       std::shared_ptr<std::vector<float>> probs) {
  Tensor logits = r.logits.on(machine), loss = r.loss.on(machine);
  machine.append(
      {"fc", "forward", "matmul", {logits}, [&machine, r, logits] {
         for (int64_t n = 0; n < r.batch; ++n)
           for (int64_t k = 0; k < r.classes; ++k) {
             float sum = r.bias[0].on(machine).as<float>()[k];
             for (int d = 0; d < 2; ++d)
               for (int64_t f = 0; f < r.features; ++f)
                 sum += r.x[d].on(machine).as<float>()[n * r.features + f] *
                        r.weight[d].on(machine).as<float>()[k * r.features + f];
             logits.as<float>()[n * r.classes + k] = sum;
           }
       }});
  machine.append(
      {"loss",
       "forward",
       "cross_entropy",
       {loss},
       [&machine, r, logits, loss, probs] {
         const int32_t *labels = r.labels[0].on(machine).as<int32_t>();
         float *correct = r.correct.on(machine).as<float>();
         correct[0] = correct[1] = 0;
         float total = 0;
         int64_t counted = 0;
         probs->assign(r.batch * r.classes, 0);
         for (int64_t n = 0; n < r.batch; ++n) {
           if (labels[n] < 0)
             continue;
           ++counted;
           const float *row = logits.as<float>() + n * r.classes;
           float top = *std::max_element(row, row + r.classes), sum = 0;
           for (int64_t k = 0; k < r.classes; ++k)
             sum += std::exp(row[k] - top);
           for (int64_t k = 0; k < r.classes; ++k)
             (*probs)[n * r.classes + k] = std::exp(row[k] - top) / sum;
           total += std::log(sum) + top - row[labels[n]];
           int64_t above = std::count_if(row, row + r.classes, [&](float v) {
             return v > row[labels[n]];
           });
           correct[0] += above < 1;
           correct[1] += above < 5;
         }
         *loss.as<float>() = counted ? total / counted : 0;
         for (int64_t n = 0; n < r.batch; ++n)
           for (int64_t k = 0; k < r.classes && labels[n] >= 0; ++k) {
             float &p = (*probs)[n * r.classes + k];
             p = (p - (labels[n] == k)) / counted;
           }
       }});
}

static void addBackward(FakeMachine &machine, const Refs &r,
                        std::shared_ptr<std::vector<float>> probs) {
  for (int d = 0; d < 2; ++d) {
    addSgd(machine, r.weight[d], r.velocity[d], r.scalars[d], r.loss, "fc",
           [&machine, r, d, probs](int64_t i) {
             int64_t k = i / r.features, f = i % r.features;
             float sum = 0;
             for (int64_t n = 0; n < r.batch; ++n)
               sum += (*probs)[n * r.classes + k] *
                      r.x[d].on(machine).as<float>()[n * r.features + f];
             return sum;
           });
    addSgd(machine, r.bias[d], r.biasVelocity[d], r.scalars[d], r.loss, "fc",
           [r, probs](int64_t k) {
             float sum = 0;
             for (int64_t n = 0; n < r.batch; ++n)
               sum += (*probs)[n * r.classes + k];
             return sum;
           });
    Tensor mean = r.mean[d].on(machine);
    machine.append({"norm",
                    "update",
                    "map",
                    {mean},
                    [&machine, r, mean] {
                      float sum = 0;
                      for (const auto &x : r.x)
                        for (int64_t i = 0; i < r.batch * r.features; ++i)
                          sum += x.on(machine).as<float>()[i];
                      float &value = *mean.as<float>();
                      value = 0.9f * value +
                              0.1f * sum / (2 * r.batch * r.features);
                    },
                    d});
  }
}

Program makeFakeProgram(const FakeOptions &options) {
  int64_t half = options.height / 2, n = options.batch, k = options.classes;
  int64_t features = half * options.width;
  Layouter layouter;
  layouter.spec.devices.resize(2);
  Refs r;
  r.batch = n;
  r.classes = k;
  r.features = features;
  for (int d = 0; d < 2; ++d) {
    r.x[d] = layouter.place(d, {n, 1, half, options.width});
    r.weight[d] = layouter.place(d, {k, features});
    r.velocity[d] = layouter.place(d, {k, features});
    r.bias[d] = layouter.place(d, {k});
    r.biasVelocity[d] = layouter.place(d, {k});
    r.mean[d] = layouter.place(d, {1});
    r.labels[d] = layouter.place(d, {n}, DType::i32);
    r.scalars[d] = layouter.place(d, {64}, DType::u8);
  }
  r.loss = layouter.place(0, {});
  r.correct = layouter.place(0, {2}, DType::i32);
  r.logits = layouter.place(0, {n, k});
  TensorRef scale = layouter.place(0, {3});

  Program program;
  program.model = "fake.onnx";
  program.modelHash = options.modelHash;
  program.compiler = "lwcc test";
  program.plan = "rows over two devices";
  program.precision = "fp32";
  program.loss = "cross entropy on logits";
  program.batch = n;
  program.classes = k;
  layouter.spec.lanes = {{0, "lane0"}, {1, "lane1"}};
  program.machine = layouter.spec;

  auto replicas = [](const std::string &name, TensorRef(&refs)[2]) {
    std::vector<int64_t> begin(refs[0].dims.size(), 0);
    return GlobalTensor{
        name, refs[0].dims, {{refs[0], begin}, {refs[1], begin}}};
  };
  auto columns = [&](const std::string &name, TensorRef(&refs)[2]) {
    return GlobalTensor{
        name, {k, 2 * features}, {{refs[0], {0, 0}}, {refs[1], {0, features}}}};
  };
  Init zero, normal, uniform, blob;
  normal = {Init::normal, 0, 0.0f, 0.01f};
  uniform = {Init::uniform, 0, -0.5f, 0.5f};
  blob = {Init::blob, 4, 0, 0};
  program.state = {
      {columns("fc.weight", r.weight), Role::trainable, normal, uniform},
      {replicas("fc.bias", r.bias), Role::trainable, blob, zero},
      {replicas("norm.running_mean", r.mean), Role::statistic, zero, zero},
      {columns("fc.weight.momentum", r.velocity), Role::optimizer, zero, zero},
      {replicas("fc.bias.momentum", r.biasVelocity), Role::optimizer, zero,
       zero},
      {GlobalTensor{"scale", {3}, {{scale, {0}}}}, Role::constant,
       Init{Init::constant, 0, 2.5f, 0}, zero}};

  program.inputs.push_back(
      {{"image",
        {n, 1, options.height, options.width},
        {{r.x[0], {0, 0, 0, 0}}, {r.x[1], {0, 0, half, 0}}}}});
  program.labels = replicas("labels", r.labels);
  program.loss_value = r.loss;
  program.correct = r.correct;
  program.scores = r.logits;
  program.scalars = {r.scalars[0], r.scalars[1]};
  auto probs = std::make_shared<std::vector<float>>();
  program.trainStep = [=](Machine &machine) {
    auto &fake = static_cast<FakeMachine &>(machine);
    addForward(fake, r, probs);
    addBackward(fake, r, probs);
  };
  program.evaluate = [=](Machine &machine) {
    addForward(static_cast<FakeMachine &>(machine), r, probs);
  };

  // "HEAD", the bias (0, 0.25, ...), "TAIL".
  static constexpr int64_t maxClasses = 16;
  static const std::vector<char> bytes = [] {
    std::vector<char> all{'H', 'E', 'A', 'D'};
    for (int64_t i = 0; i < maxClasses; ++i) {
      float value = 0.25f * static_cast<float>(i);
      const char *raw = reinterpret_cast<const char *>(&value);
      all.insert(all.end(), raw, raw + 4);
    }
    for (char c : {'T', 'A', 'I', 'L'})
      all.push_back(c);
    return all;
  }();
  program.blob = bytes.data();
  program.blobBytes = static_cast<int64_t>(bytes.size());
  program.onnxExport = {{"", 0, 4},
                        {"fc.weight", 0, k * 2 * features * 4},
                        {"fc.bias", 0, k * 4},
                        {"", 4 + maxClasses * 4, 4}};
  return program;
}

} // namespace lwcc::rt

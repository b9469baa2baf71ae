//===- Remarks.cpp - Data that can be trained on, but looks wrong ---------===//

#include "runtime/train/report/Remarks.h"

#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lwcc::rt::train {

/// So many columns for each class that there is are no accident of the data.
static constexpr int64_t farMore = 10;

static std::string remarkOnTargets(const DataSource &source,
                                   const ModelInput &input) {
  std::vector<float> targets(input.labelsPerSample());
  float low = std::numeric_limits<float>::infinity(), high = -low;
  bool areDecisions = true;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.targets(i, targets);
    for (float target : targets) {
      if (target != target)
        continue;
      low = std::min(low, target);
      high = std::max(high, target);
      areDecisions &= target == 0 || target == 1;
    }
  }
  if (high < low)
    return "not one target counts: nothing is learned";
  if (low == high)
    return format("all targets are %g: there is nothing to tell apart", low);
  if (areDecisions && input.loss != "bce")
    return "all targets are 0 or 1: a model compiled with --loss=bce decides "
           "between them";
  return "";
}

static std::string remarkOnLabels(const DataSource &source,
                                  const ModelInput &input) {
  if (source.isOwnTarget || isComputedByModel(input.loss))
    return "";
  if (!input.loss.empty())
    return remarkOnTargets(source, input);
  const int64_t columns = input.classes, perSample = input.labelsPerSample();
  std::vector<bool> seen(columns);
  std::vector<int32_t> labels(perSample);
  int64_t classes = 0;
  int32_t low = std::numeric_limits<int32_t>::max(), high = 0;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.labels(i, labels);
    for (int32_t label : labels) {
      if (label < 0)
        continue;
      low = std::min(low, label);
      high = std::max(high, label);
      if (!seen[label]) {
        seen[label] = true;
        ++classes;
      }
    }
  }
  if (classes == 0)
    return "not one label counts: nothing is learned";
  if (classes == 1)
    return format("all of %s are %d: with one class there is nothing to tell "
                  "apart, and the loss falls to 0 whatever the images show",
                  plural(source.size() * perSample, "label").c_str(), low);
  // A vocabulary is the language's, not the text's.
  const bool isText = source.format().tokens && perSample > 1;
  if (columns <= farMore * classes || isText)
    return "";
  return format("the loss is over %s columns, but the labels have only %s "
                "classes (%d..%d); that is right for a classifier with classes "
                "to spare, and wrong for a model whose output is no score for "
                "each class (an image, a regression)",
                countText(columns).c_str(), countText(classes).c_str(), low,
                high);
}

static std::string remarkOnValues(const DataSource &source) {
  if (source.format().tokens || source.format().type.kind == 'u')
    return ""; // no amounts, or scaled by themselves
  // Enough to know a scale by, and soon read.
  constexpr int64_t sampled = 64;
  int64_t count = std::min(sampled, source.size());
  std::vector<float> values(source.format().elements());
  Sample sample;
  double low = 0, high = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    source.read(source.size() / count * i, sample);
    readPlanes(sample, values.data());
    for (float value : values) {
      low = std::min<double>(low, value);
      high = std::max<double>(high, value);
      sum += value;
      squares += double(value) * value;
    }
  }
  double n = double(count) * double(values.size());
  double mean = sum / n, deviation = std::sqrt(squares / n - mean * mean);
  // Not finite ones are the business of the step that meets them.
  if (!(low >= 0 && high > 2 && high <= 255 && deviation > 0))
    return "";
  return format("floats from 0 to %.4g are taken as they are, but most models "
                "expect small numbers around 0: --mean=%.3g --std=%.3g makes "
                "them that (images of uint8 are scaled to [0, 1] by "
                "themselves)",
                high, mean, deviation);
}

std::vector<std::string> remarksOn(const DataSource &source,
                                   const std::string &place,
                                   const std::vector<ModelInput> &inputs,
                                   bool scaled) {
  std::vector<std::string> remarks{source.remark,
                                   remarkOnLabels(source, inputs.front())};
  for (size_t k = 0; !scaled && k < inputs.size(); ++k)
    remarks.push_back(remarkOnValues(source.part(k)));
  std::erase(remarks, "");
  for (std::string &remark : remarks)
    remark = place + ": " + remark;
  return remarks;
}

} // namespace lwcc::rt::train

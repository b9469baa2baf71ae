//===- ClassTable.cpp - How well each class is told apart -----------------===//

#include "runtime/train/report/ClassTable.h"

#include "runtime/core/Error.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/report/PredictionTable.h"

#include <cassert>
#include <utility>

namespace lwcc::rt::train {

/// Of the matrix: 2 GiB, far more than anybody reads.
static constexpr int64_t maxClasses = 16384;

ClassTable::ClassTable(int64_t classes, std::vector<std::string> names)
    : classes(classes), names(std::move(names)) {
  if (classes > maxClasses)
    throw Error("--metrics: a matrix of " + countText(classes) +
                " classes is too large; at most " + countText(maxClasses));
  counts.resize(classes * classes);
  ofLabel.resize(classes);
  ofPredicted.resize(classes);
}

void ClassTable::add(int64_t label, int64_t predicted) {
  assert(label >= 0 && label < classes && "no class");
  ++counts[label * classes + predicted];
  ++ofLabel[label];
  ++ofPredicted[predicted];
}

static double fraction(int64_t part, int64_t whole) {
  return whole ? double(part) / double(whole) : 0;
}

std::optional<ClassScore> ClassTable::scoreOf(int64_t label) const {
  const int64_t right = count(label, label);
  const int64_t all = ofLabel[label] + ofPredicted[label];
  if (all == 0)
    return std::nullopt;
  return ClassScore{fraction(right, ofPredicted[label]),
                    fraction(right, ofLabel[label]), fraction(2 * right, all)};
}

ClassScore ClassTable::macro() const {
  ClassScore sum;
  int64_t scored = 0;
  for (int64_t label = 0; label < classes; ++label)
    if (std::optional<ClassScore> score = scoreOf(label)) {
      ++scored;
      sum.precision += score->precision;
      sum.recall += score->recall;
      sum.f1 += score->f1;
    }
  const double count = scored ? static_cast<double>(scored) : 1;
  return {sum.precision / count, sum.recall / count, sum.f1 / count};
}

std::string ClassTable::nameOf(int64_t label) const {
  return label < static_cast<int64_t>(names.size()) ? csvField(names[label])
                                                    : std::to_string(label);
}

std::string ClassTable::text() const {
  std::string text = "class,images,precision,recall,f1";
  for (int64_t label = 0; label < classes; ++label)
    text += "," + nameOf(label);
  text += "\n";
  for (int64_t label = 0; label < classes; ++label) {
    text += nameOf(label) + "," + std::to_string(ofLabel[label]);
    if (std::optional<ClassScore> score = scoreOf(label))
      text +=
          format(",%.6g,%.6g,%.6g", score->precision, score->recall, score->f1);
    else
      text += ",,,";
    for (int64_t predicted = 0; predicted < classes; ++predicted)
      text += "," + std::to_string(count(label, predicted));
    text += "\n";
  }
  return text;
}

} // namespace lwcc::rt::train

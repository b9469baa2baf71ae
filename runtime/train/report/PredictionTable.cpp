//===- PredictionTable.cpp - Predictions as lines of CSV ------------------===//

#include "runtime/train/report/PredictionTable.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace lwcc::rt::train {

std::string csvField(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == text.npos &&
                     !text.starts_with(' ') && !text.ends_with(' ');
  if (plain)
    return std::string(text);
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Prediction predictionOf(std::span<const float> scores) {
  assert(!scores.empty() && "scores of no class");
  size_t top = 0;
  for (size_t k = 1; k < scores.size() && !std::isnan(scores[top]); ++k)
    if (scores[k] > scores[top] || std::isnan(scores[k]))
      top = k;
  double sum = 0; // of the shares, where that of the largest is 1
  for (float score : scores)
    sum += score == scores[top] ? 1 : std::exp(double(score) - scores[top]);
  return {static_cast<int64_t>(top), static_cast<float>(1 / sum)};
}

static void addNumber(std::string &line, float value) {
  char text[64];
  line += ',';
  if (std::isnan(value)) // without a sign
    line += "nan";
  else
    line.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string PredictionTable::nameOf(int64_t number) const {
  return number < static_cast<int64_t>(names.size()) ? csvField(names[number])
                                                     : std::to_string(number);
}

std::string PredictionTable::header() const {
  std::string line = "image";
  if (kind != Scores::classes) {
    for (int64_t k = 0; k < count; ++k)
      line += ",value" + (count > 1 ? std::to_string(k) : "");
    return line + "\n";
  }
  line += ",class,probability";
  for (int64_t k = 0; withScores && k < count; ++k)
    line += "," + nameOf(k);
  return line + "\n";
}

std::string PredictionTable::row(std::string_view image,
                                 std::span<const float> scores) const {
  assert(static_cast<int64_t>(scores.size()) == count);
  std::string line = csvField(image);
  if (kind == Scores::classes) {
    Prediction prediction = predictionOf(scores);
    line += "," + nameOf(prediction.top);
    addNumber(line, prediction.probability);
  }
  if (kind != Scores::classes || withScores)
    for (float score : scores)
      addNumber(line,
                kind == Scores::decisions ? 1 / (1 + std::exp(-score)) : score);
  return line + "\n";
}

std::string PredictionTable::emptyRow(std::string_view image) const {
  const int64_t columns = kind != Scores::classes ? count
                          : withScores            ? 2 + count
                                                  : 2;
  return csvField(image) + std::string(static_cast<size_t>(columns), ',') +
         "\n";
}

} // namespace lwcc::rt::train

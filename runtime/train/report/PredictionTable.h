//===- PredictionTable.h - Predictions as lines of CSV ----------*- C++ -*-===//
//
// One row per sample:
//
//   image,class,probability[,scores...]
//   cat/1.jpg,cat,0.98[,3.5,-1.25]
//
// The class is that of the largest score, by its name where the training's
// classes have names, else by its number. The probability is the softmax of the
// scores there, which is the model's where the loss is cross entropy. Fields
// are quoted as RFC 4180 says, lines end with \n, and a float has the digits to
// get it back.
//
// Of a model with a loss of numbers the columns are `value`, or `value0`,
// `value1` and so on. Those of binary cross entropy are probabilities.
//
// Decides what the text is. What is predicted, and where the text goes, is
// decided by the caller (cli/Predict.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_PREDICTIONTABLE_H
#define LWCC_RUNTIME_TRAIN_REPORT_PREDICTIONTABLE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

/// A field of a line: in quotes if a reader could take it for more than one.
std::string csvField(std::string_view text);

/// The class of the largest score and its share of all.
struct Prediction {
  int64_t top = 0;
  float probability = 0;
};

/// `scores` is not empty. As NumPy's argmax has it, the first of equal scores
/// is the largest, and a NaN is larger than any; then the probability is NaN.
Prediction predictionOf(std::span<const float> scores);

/// What the scores of a sample are.
enum class Scores {
  classes,
  numbers,
  decisions ///< the logits of probabilities
};

class PredictionTable {
public:
  /// `names` are the classes', by number, or fewer than the scores, or none.
  /// `withScores` adds those of classes.
  PredictionTable(Scores kind, int64_t count, std::vector<std::string> names,
                  bool withScores)
      : kind(kind), count(count), names(std::move(names)),
        withScores(withScores) {}

  /// With the end of the line, as all rows.
  std::string header() const;
  std::string row(std::string_view image, std::span<const float> scores) const;
  /// Of a sample that could not be read: all but its name is empty.
  std::string emptyRow(std::string_view image) const;

private:
  std::string nameOf(int64_t number) const;

  Scores kind;
  int64_t count; ///< of scores
  std::vector<std::string> names;
  bool withScores;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_PREDICTIONTABLE_H

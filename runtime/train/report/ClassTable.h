//===- ClassTable.h - How well each class is told apart ---------*- C++ -*-===//
//
// Counts for every class as which of them its images were taken, and writes
// a row of CSV for each:
//
//   class,images,precision,recall,f1,cat,dog
//   cat,50,0.96,0.98,0.9699,49,1
//   dog,40,...
//
// Behind f1 stands the confusion matrix: how many images of the row's class
// were taken for the column's. Precision, recall and F1 are scikit-learn's: 0
// where their divisor is 0, and empty for a class that neither an image is of
// nor was taken for. The mean over the other classes is `macro`.
//
// Decides what the numbers and the text are; what is predicted, and where the
// text goes, is decided by the caller (cli/Evaluate.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_CLASSTABLE_H
#define LWCC_RUNTIME_TRAIN_REPORT_CLASSTABLE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// Fractions, of one class or as a mean over some.
struct ClassScore {
  double precision = 0, recall = 0, f1 = 0;
};

class ClassTable {
public:
  /// `names` are the classes', by number, or none. Throws Error where there are
  /// so many classes that their matrix does not fit into memory.
  ClassTable(int64_t classes, std::vector<std::string> names);

  /// An image of a class that was taken for another, or the same.
  void add(int64_t label, int64_t predicted);

  /// Nothing where no image is of the class nor was taken for it.
  std::optional<ClassScore> scoreOf(int64_t label) const;
  /// The mean over all classes that have a score.
  ClassScore macro() const;
  /// The whole file.
  std::string text() const;

private:
  int64_t count(int64_t label, int64_t predicted) const {
    return counts[label * classes + predicted];
  }
  std::string nameOf(int64_t label) const;

  int64_t classes;
  std::vector<std::string> names;
  std::vector<int64_t> counts;               ///< [label, predicted]
  std::vector<int64_t> ofLabel, ofPredicted; ///< sums of rows and of columns
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_CLASSTABLE_H

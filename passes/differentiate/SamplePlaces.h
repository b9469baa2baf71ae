//===- SamplePlaces.h - In which dimension the samples are ------*- C++ -*-===//
//
// Follows the samples through the forward ops of a model, from its inputs on.
// What is done about it, SamplesFirst.cpp decides.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_SAMPLEPLACES_H
#define LWCC_PASSES_DIFFERENTIATE_SAMPLEPLACES_H

#include "ir/train/Train.h"

#include <optional>

namespace lwcc {

/// Where samples are: dimension `dim` is outer * samples * inner.
struct Samples {
  int64_t dim = 0, outer = 1, inner = 1;
  bool operator==(const Samples &) const = default;
  bool isFirst() const { return dim == 0 && outer == 1; }
  /// How many dimensions the factors of `dim` take but for the samples.
  int64_t factors() const { return int64_t(outer > 1) + int64_t(inner > 1); }
};
using MaybeSamples = std::optional<Samples>;

class SamplePlaces {
public:
  /// None: the value has no samples, or they could not be followed.
  MaybeSamples of(mlir::Value value) const {
    auto found = places.find(value);
    return found == places.end() ? std::nullopt : MaybeSamples(found->second);
  }
  void set(mlir::Value value, const Samples &samples) {
    places[value] = samples;
  }
  /// Notes where they are in an op's results, and gives it: the same dimension
  /// of all of them. `batch` is how many samples there are.
  MaybeSamples follow(mlir::Operation *op, int64_t batch);

private:
  MaybeSamples infer(mlir::Operation *op, int64_t batch) const;
  MaybeSamples inferMap(train::MapOp map) const;

  llvm::DenseMap<mlir::Value, Samples> places;
};

} // namespace lwcc

#endif // LWCC_PASSES_DIFFERENTIATE_SAMPLEPLACES_H

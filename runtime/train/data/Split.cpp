//===- Split.cpp - Training data of which a part is held back -------------===//

#include "runtime/train/data/Split.h"

#include "runtime/train/data/DataOrder.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

namespace {
/// Some images of a source, under numbers of their own.
class Subset : public DataSource {
public:
  Subset(std::shared_ptr<const DataSource> all, std::vector<uint32_t> chosen,
         size_t inputs)
      : whole(std::move(all)), images(std::move(chosen)) {
    isOwnTarget = whole->isOwnTarget;
    for (size_t k = 1; k < inputs; ++k)
      others.push_back(std::make_unique<Subset>(
          std::shared_ptr<const DataSource>(whole, &whole->part(k)), images,
          1));
  }

  int64_t size() const override { return int64_t(images.size()); }
  SampleFormat format() const override { return whole->format(); }
  int32_t label(int64_t index) const override {
    return whole->label(images[index]);
  }
  void labels(int64_t index, std::span<int32_t> out) const override {
    whole->labels(images[index], out);
  }
  void targets(int64_t index, std::span<float> out) const override {
    whole->targets(images[index], out);
  }
  void read(int64_t index, Sample &sample) const override {
    whole->read(images[index], sample);
  }
  std::string describe() const override {
    return countText(size()) + " of " + whole->describe();
  }
  std::string nameOf(int64_t index) const override {
    return whole->nameOf(images[index]);
  }
  std::vector<std::string> classNames() const override {
    return whole->classNames();
  }
  bool isDecoded() const override { return whole->isDecoded(); }
  const DataSource &part(size_t input) const override {
    return input == 0 ? *this : *others.at(input - 1);
  }

private:
  std::shared_ptr<const DataSource> whole;
  std::vector<uint32_t> images;
  std::vector<std::unique_ptr<Subset>> others; ///< parts of the same samples
};
} // namespace

int64_t heldBack(int64_t images, double part) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(images) * part));
}

DataSplit splitData(std::unique_ptr<DataSource> whole, double part,
                    uint64_t seed, size_t inputs) {
  const int64_t count = heldBack(whole->size(), part);
  assert(count < whole->size() && "nothing is left to train on");
  std::vector<uint32_t> first =
      permutation(whole->size(), seed, "validation split", 0);
  std::vector<uint32_t> rest(first.begin() + count, first.end());
  first.resize(count);
  std::sort(first.begin(), first.end());
  std::sort(rest.begin(), rest.end());
  std::shared_ptr<const DataSource> shared = std::move(whole);
  return {std::make_unique<Subset>(shared, std::move(rest), inputs),
          std::make_unique<Subset>(shared, std::move(first), inputs)};
}

} // namespace lwcc::rt::train

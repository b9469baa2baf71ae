//===- PictureCacheTest.cpp - Decoded pictures that stay in memory --------===//

#include "runtime/train/data/PictureCache.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace lwcc::rt::train;

namespace {
/// Pictures of as many pixels as their numbers say, each of its number; the
/// third one cannot be read. Counts what is decoded.
struct Pictures : DataSource {
  explicit Pictures(std::atomic<int> &decoded) : decoded(decoded) {
    remark = "remarkable";
    isOwnTarget = true;
  }
  int64_t size() const override { return 64; }
  SampleFormat format() const override {
    return {3, 0, 0, true, {'u', 1}, SampleLayout::pixels};
  }
  int32_t label(int64_t index) const override { return int32_t(index % 10); }
  void labels(int64_t index, std::span<int32_t> out) const override {
    std::fill(out.begin(), out.end(), int32_t(index % 7));
  }
  void targets(int64_t index, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), float(index));
  }
  std::string describe() const override { return "64 pictures"; }
  std::string nameOf(int64_t index) const override {
    return "cat/" + std::to_string(index);
  }
  std::vector<std::string> classNames() const override { return {"cat"}; }
  bool isDecoded() const override { return true; }
  void read(int64_t index, Sample &sample) const override {
    ++decoded;
    if (index == 2)
      throw BadSample("torn");
    sample.format = {3, 1, index + 1, true, {'u', 1}, SampleLayout::pixels};
    sample.storage.assign(sample.format.bytes(), char(index));
    sample.data = sample.storage.data();
  }
  std::atomic<int> &decoded;
};

void readAll(const DataSource &source) {
  Sample sample;
  for (int64_t i = 0; i < source.size(); ++i)
    if (i == 2) {
      EXPECT_THROW(source.read(i, sample), BadSample);
    } else {
      source.read(i, sample);
      ASSERT_EQ(sample.format.width, i + 1);
      ASSERT_EQ(std::string(sample.data, sample.format.bytes()),
                std::string(3 * (i + 1), char(i)));
    }
}
} // namespace

TEST(PictureCache, DecodesEachPictureOnceButTheBadOneEveryTime) {
  std::atomic<int> decoded = 0;
  auto source = keepDecoded(std::make_unique<Pictures>(decoded),
                            std::make_shared<PictureMemory>(1 << 20));
  readAll(*source);
  EXPECT_EQ(decoded, 64);
  readAll(*source);
  readAll(*source);
  EXPECT_EQ(decoded, 66);
}

TEST(PictureCache, SaysOfTheSourceWhatTheSourceSays) {
  std::atomic<int> decoded = 0;
  auto source = keepDecoded(std::make_unique<Pictures>(decoded),
                            std::make_shared<PictureMemory>(1 << 20));
  EXPECT_EQ(source->size(), 64);
  EXPECT_EQ(source->format(), Pictures(decoded).format());
  EXPECT_EQ(source->label(13), 3);
  int32_t labels[2];
  source->labels(13, labels);
  EXPECT_EQ(labels[1], 6);
  float targets[2];
  source->targets(13, targets);
  EXPECT_EQ(targets[1], 13);
  EXPECT_EQ(source->describe(), "64 pictures");
  EXPECT_EQ(source->nameOf(4), "cat/4");
  EXPECT_EQ(source->classNames(), std::vector<std::string>{"cat"});
  EXPECT_TRUE(source->isDecoded());
  EXPECT_EQ(source->remark, "remarkable");
  EXPECT_TRUE(source->isOwnTarget);
  EXPECT_EQ(&source->part(0), source.get());
}

TEST(PictureCache, DecodesAnewWhatTheMemoryDoesNotHold) {
  std::atomic<int> decoded = 0;
  // 63 pictures of 3 x 1 to 3 x 64 bytes, without the third, and a format each.
  const int64_t needed =
      3 * (64 * 65 / 2 - 3) + 63 * int64_t(sizeof(SampleFormat));
  for (auto [limit, again] : {std::pair(needed, 1), std::pair(needed - 1, 2)}) {
    decoded = 0;
    auto source = keepDecoded(std::make_unique<Pictures>(decoded),
                              std::make_shared<PictureMemory>(limit));
    readAll(*source);
    readAll(*source);
    EXPECT_EQ(decoded, 64 + again) << limit;
  }
}

TEST(PictureCache, SharesItsMemoryWithAnotherSet) {
  std::atomic<int> first = 0, second = 0;
  auto memory = std::make_shared<PictureMemory>(
      3 * 64 * 65 / 2 + 64 * int64_t(sizeof(SampleFormat)));
  auto training = keepDecoded(std::make_unique<Pictures>(first), memory),
       validation = keepDecoded(std::make_unique<Pictures>(second), memory);
  readAll(*training);
  readAll(*validation);
  readAll(*training);
  readAll(*validation);
  EXPECT_EQ(first, 65);
  EXPECT_GT(second, 120);
}

TEST(PictureCache, ServesSeveralThreads) {
  std::atomic<int> decoded = 0;
  auto source = keepDecoded(std::make_unique<Pictures>(decoded),
                            std::make_shared<PictureMemory>(-1));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int epoch = 0; epoch < 50; ++epoch)
        readAll(*source);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(decoded, 4 * 64 + 200);
}

//===- TrainerTest.h - What tests of whole trainings share ------*- C++ -*-===//
//
// Folders of images that the fake program (FakeProgram.h) can learn, and the
// log of what was trained.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMETRAIN_TRAINERTEST_H
#define LWCC_TEST_RUNTIMETRAIN_TRAINERTEST_H

#include "RunTrainer.h"

#include <cmath>

namespace lwcc::rt {

class TrainerTest : public testing::Test {
protected:
  /// A folder of `count` float images of 4x4 in four classes.
  std::string dataFolder(const std::string &name, int count,
                         int brokenImage = -1) {
    std::vector<float> pixels(count * 16);
    std::vector<uint8_t> labels(count);
    for (int i = 0; i < count; ++i) {
      labels[i] = i % 4;
      for (int p = 0; p < 16; ++p)
        pixels[i * 16 + p] = (p / 4 == i % 4 ? 1.0f : 0.0f) + 0.01f * (i % 7);
    }
    if (brokenImage >= 0)
      pixels[brokenImage * 16 + 3] = std::nanf("");
    std::string n = std::to_string(count);
    writeFile(folder / (name + "/images.npy"),
              npyBytes("<f4", "(" + n + ", 4, 4)", bytesOfValues(pixels)));
    writeFile(folder / (name + "/labels.npy"),
              npyBytes("|u1", "(" + n + ",)", bytesOfValues(labels)));
    return folder / name;
  }
  std::vector<train::Json> log() { return readLog(folder / "log"); }
  std::string logFlag() { return "--log=" + (folder / "log"); }

  TempFolder folder;
};

} // namespace lwcc::rt

#endif // LWCC_TEST_RUNTIMETRAIN_TRAINERTEST_H

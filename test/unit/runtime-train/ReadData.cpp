//===- ReadData.cpp - What a data folder becomes --------------------------===//
//
// lwcc-read-data FOLDER CHANNELS HEIGHT WIDTH CROP-PART OUT [EPOCH [HOW]]:
// the inputs of all samples as floats in OUT, and a line "NAME LABEL" for each.
// With EPOCH they are augmented as torchvision's RandomResizedCrop and a mirror
// with probability 0.5 have it, under seed 7. HOW is what they are augmented by
// instead: `colours`, ColorJitter and RandomErasing with probability 0.5;
// `rotation`, RandomRotation(60); a number, two changes of RandAugment with
// that strength.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Transform.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

int main(int argc, char **argv) {
  if (argc < 7 || argc > 9)
    return 2;
  Augmentation augmentation;
  int64_t epoch = 0;
  if (argc >= 8)
    epoch = std::atoll(argv[7]);
  if (argc == 8) {
    augmentation.scale = {0.08, 1};
    augmentation.flip = augmentation.verticalFlip = 0.5;
  } else if (argc == 9 && std::string_view(argv[8]) == "rotation") {
    augmentation.rotate = 60;
  } else if (argc == 9 && std::string_view(argv[8]) != "colours") {
    augmentation.randAugment = {2, std::atof(argv[8])};
  } else if (argc == 9) {
    augmentation.colour = {0.4, 0.5, 1.25, 0.3};
    augmentation.erase = 0.5;
  }
  ModelInput input{
      {std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])},
      1000,
      {}};
  try {
    auto source = openData(argv[1], DataRole::training, {input}, 0);
    Transform transform(source->format(), input.dims, {}, {},
                        std::atof(argv[5]), augmentation);
    std::ofstream out(argv[6], std::ios::binary);
    std::vector<float> values(input.dims[0] * input.dims[1] * input.dims[2]);
    Sample sample;
    for (int64_t i = 0; i < source->size(); ++i) {
      try {
        source->read(i, sample);
        transform.apply(sample, {7, epoch, i}, values.data());
      } catch (const BadSample &bad) {
        std::printf("bad %s\n", bad.what());
        continue;
      }
      out.write(reinterpret_cast<const char *>(values.data()),
                std::streamsize(values.size() * sizeof(float)));
      std::printf("%s %d\n", source->nameOf(i).c_str(), source->label(i));
    }
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

//===- TrainerTargets.cpp - The files that a trainer reads ----------------===//
//
// Readers take paths. The bytes get one without touching the disk; what must
// have a certain name is a link to them in a folder that goes with the process.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/cli/Flags.h"
#include "runtime/train/data/Array.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Picture.h"
#include "runtime/train/state/Checkpoint.h"
#include "runtime/train/state/OnnxTensors.h"
#include "runtime/train/state/Safetensors.h"
#include "test/fuzz/Targets.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

namespace {
class BytesAsFile {
public:
  BytesAsFile() : file(memfd_create("bytes", MFD_CLOEXEC)) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "lwcc-fuzz-XXXXXX").string();
    if (file < 0 || !mkdtemp(pattern.data()))
      std::abort();
    folder = pattern;
    for (const char *name :
         {"state.json", "array.gz", "tokens.bin", "data_batch_1.bin",
          "train.bin", "batches.meta.txt"})
      std::filesystem::create_symlink(path(), folder / name);
  }
  ~BytesAsFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    close(file);
  }

  void set(const uint8_t *data, size_t size) {
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size))
      std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

  std::filesystem::path folder;

private:
  int file;
};
} // namespace

/// Whatever is wrong with a file, its reader says so by Error.
static int run(const uint8_t *data, size_t size,
               const std::function<void(const BytesAsFile &)> &read) {
  static BytesAsFile bytes;
  bytes.set(data, size);
  try {
    read(bytes);
  } catch (const Error &) {
  }
  return 0;
}

/// So that the sanitizer sees whether they are there.
static void touch(const char *data, int64_t size) {
  volatile char sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum = static_cast<char>(sum ^ data[i]);
}

static void touch(const Array &array) {
  int64_t items = array.dims.empty() ? 0 : array.dims[0];
  touch(array.data, items * array.bytesPerItem());
}

int lwcc::fuzz::readState(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    CheckpointInfo info = readCheckpointInfo(bytes.folder.string());
    Flags flags;
    (void)recallFlags(flags, info.flags, "state.json");
  });
}

int lwcc::fuzz::readTensors(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    SafetensorsFile file(bytes.path());
    for (const TensorEntry &entry : file.tensors())
      touch(file.data(entry), entry.bytes);
  });
}

int lwcc::fuzz::readInitializers(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    OnnxTensors file(bytes.path());
    for (const FileTensor &tensor : file.tensors())
      if (tensor.data)
        touch(tensor.data, *checkedProduct(sizeOf(tensor.type), tensor.dims));
  });
}

int lwcc::fuzz::readNumpy(const uint8_t *data, size_t size) {
  return run(data, size,
             [](const BytesAsFile &bytes) { touch(readNpy(bytes.path())); });
}

int lwcc::fuzz::readIdxFile(const uint8_t *data, size_t size) {
  return run(data, size,
             [](const BytesAsFile &bytes) { touch(readIdx(bytes.path())); });
}

int lwcc::fuzz::readIdxGz(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    touch(readIdx((bytes.folder / "array.gz").string()));
  });
}

int lwcc::fuzz::readTokens(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    ModelInput input{{5}, 1000, 1000, {5}};
    auto source = openTokens(bytes.folder.string(), {"tokens.bin"},
                             DataRole::training, input);
    Sample sample;
    std::vector<int32_t> labels(5);
    for (int64_t i = 0; i < source->size(); ++i) {
      source->read(i, sample);
      touch(sample.data, sample.format.bytes());
      source->labels(i, labels);
    }
  });
}

int lwcc::fuzz::readCifar(const uint8_t *data, size_t size) {
  for (const char *name : {"data_batch_1.bin", "train.bin"})
    run(data, size, [name](const BytesAsFile &bytes) {
      ModelInput input{{3, 32, 32}, 256};
      auto source =
          openCifar(bytes.folder.string(), {name}, DataRole::training, input);
      Sample sample;
      for (int64_t i = 0; i < source->size(); ++i) {
        source->read(i, sample);
        touch(sample.data, sample.format.bytes());
      }
    });
  return 0;
}

int lwcc::fuzz::readCsv(const uint8_t *data, size_t size) {
  for (const char *loss : {"", "mse"})
    run(data, size, [loss](const BytesAsFile &bytes) {
      ModelInput input{{3},
                       5,
                       0,
                       loss[0] ? std::vector<int64_t>{1}
                               : std::vector<int64_t>{},
                       loss};
      auto source = openCsv(bytes.path(), DataRole::training, input);
      Sample sample;
      std::vector<float> targets(1);
      for (int64_t i = 0; i < source->size(); ++i) {
        source->read(i, sample);
        touch(sample.data, sample.format.bytes());
        source->label(i);
        source->targets(i, targets);
      }
    });
  return 0;
}

int lwcc::fuzz::readNpz(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    auto source = openNpz(bytes.path(), DataRole::training, {{3}, 3});
    Sample sample;
    for (int64_t i = 0; i < source->size(); ++i) {
      source->read(i, sample);
      touch(sample.data, sample.format.bytes());
      source->label(i);
    }
  });
}

int lwcc::fuzz::readTar(const uint8_t *data, size_t size) {
  for (DataRole role : {DataRole::training, DataRole::prediction})
    run(data, size, [role](const BytesAsFile &bytes) {
      auto source = openTar("bytes", {bytes.path()}, role, {{3, 8, 8}, 9});
      Sample sample;
      for (int64_t i = 0; i < source->size(); ++i) {
        source->label(i);
        try {
          source->read(i, sample);
        } catch (const BadSample &) {
        }
      }
    });
  return 0;
}

int lwcc::fuzz::readPicture(const uint8_t *data, size_t size) {
  for (int64_t channels : {1, 3})
    try {
      Sample sample;
      decodePicture({reinterpret_cast<const char *>(data), size}, channels,
                    sample);
      touch(sample.data, sample.format.height * sample.format.width * channels);
    } catch (const Error &) {
    }
  return 0;
}

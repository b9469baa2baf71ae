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
#include "runtime/train/state/InitialWeights.h"
#include "runtime/train/state/OnnxTensors.h"
#include "runtime/train/state/Safetensors.h"
#include "test/fuzz/Targets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::train;
namespace fs = std::filesystem;

static fs::path makeFolder() {
  std::string pattern =
      (fs::temp_directory_path() / "lwcc-fuzz-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    std::abort();
  return pattern;
}

namespace {
class BytesAsFile {
public:
  BytesAsFile()
      : folder(makeFolder()), file(memfd_create("bytes", MFD_CLOEXEC)) {
    if (file < 0)
      std::abort();
    for (const char *name :
         {"state.json", "array.gz", "tokens.bin", "tokens.txt",
          "data_batch_1.bin", "train.bin", "batches.meta.txt", "model.onnx",
          "model.safetensors", "optim.safetensors"})
      fs::create_symlink(path(), folder / name);
  }
  ~BytesAsFile() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    close(file);
  }

  void set(const uint8_t *data, size_t size) {
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size))
      std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

  const fs::path folder;

private:
  int file;
};
} // namespace

/// Whatever is wrong with a file, its reader says so by Error.
static void attempt(const std::function<void()> &step) {
  try {
    step();
  } catch (const Error &) {
  }
}

static int run(const uint8_t *data, size_t size,
               const std::function<void(const BytesAsFile &)> &read) {
  static BytesAsFile bytes;
  bytes.set(data, size);
  attempt([&] { read(bytes); });
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

//===----------------------------------------------------------------------===//
// Checkpoints and weights
//===----------------------------------------------------------------------===//

int lwcc::fuzz::readState(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    CheckpointInfo info = readCheckpointInfo(bytes.folder.string());
    Flags flags;
    (void)recallFlags(flags, info.flags, "state.json");
  });
}

/// A program whose weights the files of the corpus have.
static const Program &smallProgram() {
  static const Program program = [] {
    Program made;
    made.model = "model.onnx";
    auto add = [&](const char *name, std::vector<int64_t> dims, Role role) {
      StateTensor state;
      state.tensor = {name, dims, {{{.dims = dims}, {0, 0}}}};
      state.role = role;
      made.state.push_back(state);
    };
    add("w", {2, 3}, Role::trainable);
    add("b", {3}, Role::trainable);
    add("w.momentum", {2, 3}, Role::optimizer);
    return made;
  }();
  return program;
}

/// As --init-from does.
static void convert(FileType type, const char *data, int64_t elements) {
  if (!becomesFloat(type))
    return;
  std::vector<float> floats(elements);
  copyAsFloats(type, data, elements, floats.data());
}

int lwcc::fuzz::readTensors(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    const std::string folder = bytes.folder.string();
    attempt(
        [&] { checkCheckpoint(folder, smallProgram(), CheckpointPart::all); });
    attempt([&] {
      (void)InitialWeights(folder + "/model.safetensors", smallProgram())
          .describe();
    });
    SafetensorsFile file(bytes.path());
    for (const TensorEntry &entry : file.tensors()) {
      touch(file.data(entry), entry.bytes);
      convert(entry.type, file.data(entry), entry.bytes / sizeOf(entry.type));
    }
  });
}

int lwcc::fuzz::readInitializers(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    const std::string path = (bytes.folder / "model.onnx").string();
    attempt([&] { (void)InitialWeights(path, smallProgram()).describe(); });
    OnnxTensors file(path);
    for (const FileTensor &tensor : file.tensors())
      if (tensor.data) {
        touch(tensor.data, *checkedProduct(sizeOf(tensor.type), tensor.dims));
        convert(tensor.type, tensor.data, *checkedProduct(1, tensor.dims));
      }
  });
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Reads whatever a trainer may ask of a source.
static void touch(const DataSource &source, const ModelInput &input) {
  Sample sample;
  std::vector<int32_t> labels(input.labelsPerSample());
  std::vector<float> targets(labels.size());
  (void)source.describe();
  (void)source.classNames();
  for (int64_t i = 0; i < source.size(); ++i) {
    (void)source.label(i);
    (void)source.nameOf(i);
    source.labels(i, labels);
    source.targets(i, targets);
    try {
      source.read(i, sample);
      touch(sample.data, sample.format.bytes());
    } catch (const BadSample &) {
    }
  }
}

/// Models of rows, of sequences, of pictures; with classes, with numbers.
static const std::vector<ModelInput> &models() {
  static const std::vector<ModelInput> all = {
      {.dims = {3}, .classes = 5},
      {.dims = {3}, .classes = 5, .classNames = {"cat", "dog"}},
      {.dims = {2},
       .classes = 5,
       .columns = {"a", "b"},
       .targetColumns = {"y"}},
      {.dims = {3}, .classes = 1, .labels = {1}, .loss = "mse"},
      {.dims = {4}, .labels = {4}, .loss = "bce"},
      {.dims = {3}, .classes = 9, .tokens = 9, .labels = {3}},
      {.dims = {3, 2, 2}, .classes = 9},
      {.dims = {1, 2, 2}, .classes = 9, .labels = {2, 2}, .ignoredLabel = 0},
  };
  return all;
}

static constexpr DataRole roles[] = {DataRole::training, DataRole::validation,
                                     DataRole::prediction};

/// Opens the bytes for every model, and for some in every role: what a role
/// looks for is hardly a matter of the model.
static void openAll(const std::function<std::unique_ptr<DataSource>(
                        DataRole, const ModelInput &)> &open) {
  for (const ModelInput &input : models())
    for (DataRole role : roles)
      if (role == DataRole::training || &input == &models().front() ||
          !input.columns.empty())
        attempt([&] { touch(*open(role, input), input); });
}

int lwcc::fuzz::readNumpy(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    const Array array = readNpy(bytes.path());
    touch(array);
    for (const ModelInput &input : models())
      for (bool labelled : {false, true})
        attempt([&] {
          touch(*makeArraySource(array,
                                 labelled ? std::optional(array) : std::nullopt,
                                 input),
                input);
        });
  });
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
  for (const char *name : {"tokens.bin", "tokens.txt"})
    run(data, size, [name](const BytesAsFile &bytes) {
      for (const std::vector<int64_t> &labels : {std::vector<int64_t>{5}, {}}) {
        ModelInput input{
            .dims = {5}, .classes = 1000, .tokens = 1000, .labels = labels};
        attempt([&] {
          touch(*openTokens(bytes.folder.string(), {name}, DataRole::training,
                            input),
                input);
        });
      }
    });
  return 0;
}

int lwcc::fuzz::readCifar(const uint8_t *data, size_t size) {
  for (const char *name : {"data_batch_1.bin", "train.bin"})
    run(data, size, [name](const BytesAsFile &bytes) {
      ModelInput input{.dims = {3, 32, 32}, .classes = 256};
      touch(
          *openCifar(bytes.folder.string(), {name}, DataRole::training, input),
          input);
    });
  return 0;
}

int lwcc::fuzz::readCsv(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    openAll([&](DataRole role, const ModelInput &input) {
      return openCsv(bytes.path(), role, input);
    });
  });
}

int lwcc::fuzz::readNpz(const uint8_t *data, size_t size) {
  return run(data, size, [](const BytesAsFile &bytes) {
    openAll([&](DataRole role, const ModelInput &input) {
      return openNpz(bytes.path(), role, input);
    });
    // Of two inputs, which have the names of the usual arrays.
    const std::vector<ModelInput> inputs = {
        {.dims = {3}, .classes = 3, .name = "images"},
        {.dims = {3}, .classes = 3, .name = "x"}};
    auto source = openSeveral(bytes.path(), DataRole::training, inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      touch(source->part(i), inputs[i]);
  });
}

int lwcc::fuzz::readTar(const uint8_t *data, size_t size) {
  for (DataRole role : {DataRole::training, DataRole::prediction})
    run(data, size, [role](const BytesAsFile &bytes) {
      ModelInput input{.dims = {3, 8, 8}, .classes = 9};
      touch(*openTar("bytes", {bytes.path()}, role, input), input);
    });
  return 0;
}

int lwcc::fuzz::readPicture(const uint8_t *data, size_t size) {
  for (int64_t channels : {1, 3})
    attempt([&] {
      Sample sample;
      decodePicture({reinterpret_cast<const char *>(data), size}, channels,
                    sample);
      touch(sample.data, sample.format.height * sample.format.width * channels);
    });
  return 0;
}

/// Writes files into a folder: each begins with a line "==" before its name
/// and the rest up to the next such line is its content.
static void writeFiles(std::string_view text, const fs::path &folder) {
  constexpr std::string_view mark = "==";
  constexpr int most = 16;
  for (int files = 0; text.starts_with(mark) && files < most; ++files) {
    text.remove_prefix(mark.size());
    const std::string_view file = text.substr(0, text.find("\n=="));
    text.remove_prefix(std::min(file.size() + 1, text.size()));
    const size_t line = std::min(file.find('\n'), file.size());
    const fs::path name(file.substr(0, line));
    // It shall not leave the folder.
    if (name.is_absolute() || name.native().find('\0') != std::string::npos ||
        std::find(name.begin(), name.end(), "..") != name.end())
      continue;
    std::error_code ignored;
    fs::create_directories((folder / name).parent_path(), ignored);
    std::ofstream(folder / name, std::ios::binary)
        << file.substr(std::min(line + 1, file.size()));
  }
}

int lwcc::fuzz::readFolder(const uint8_t *data, size_t size) {
  const fs::path folder = makeFolder();
  writeFiles({reinterpret_cast<const char *>(data), size}, folder);
  for (DataRole role : roles)
    for (const ModelInput &input : models())
      attempt(
          [&] { touch(*openData(folder.string(), role, {input}, 0), input); });
  fs::remove_all(folder);
  return 0;
}

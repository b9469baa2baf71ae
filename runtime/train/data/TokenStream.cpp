//===- TokenStream.cpp - A text, or a file of tokens ----------------------===//
//
// A long stream of tokens is cut into samples that do not overlap. The labels
// of a sample of t tokens are the t tokens that follow each of its own, or the
// one that follows them all, as the model's scores have it. A stream is
//
//   NAME.txt  the bytes of a text
//   NAME.bin  uint16, as nanoGPT writes them; or llm.c's, which begin with a
//             header of 256 int32: 20240520, 1, the number of tokens
//
// Decides which file serves a role, and what its bytes mean.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Text.h"

#include <cstring>
#include <filesystem>

namespace lwcc::rt::train {

namespace {
class TokenStream : public DataSource {
public:
  /// The token `ignored` is a label that does not count.
  TokenStream(Array tokens, int64_t length, int64_t samples, int64_t ignored)
      : stream(std::move(tokens)), samples(samples), ignored(ignored) {
    shape.channels = length;
    shape.image = false;
    shape.tokens = true;
    shape.type = stream.type;
  }

  int64_t size() const override { return samples; }
  SampleFormat format() const override { return shape; }
  /// The token behind the sample.
  int32_t label(int64_t index) const override {
    return labelAt((index + 1) * shape.channels);
  }
  void labels(int64_t index, std::span<int32_t> out) const override {
    // One is that of the last token.
    const int64_t end = (index + 1) * shape.channels + 1;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = labelAt(end - static_cast<int64_t>(out.size() - i));
  }
  void read(int64_t index, Sample &sample) const override {
    sample.format = shape;
    sample.data = stream.data + index * shape.bytes();
  }
  std::string describe() const override {
    return plural(samples, "sequence") + ", " + shape.text() + " (" +
           stream.path + ")";
  }

private:
  int32_t labelAt(int64_t index) const {
    const int64_t token = integerAt(stream.type, stream.data, index);
    return token == ignored ? -1 : static_cast<int32_t>(token);
  }

  Array stream;
  int64_t samples, ignored;
  SampleFormat shape;
};
} // namespace

/// llm.c's header, if the file begins with one.
static constexpr int32_t magic = 20240520;
static constexpr int64_t headerBytes = 256 * 4;

static Array openStream(const std::string &path) {
  auto file = std::make_shared<MappedFile>(path);
  Array stream;
  stream.path = path;
  stream.owner = file;
  stream.data = file->data();
  int64_t bytes = file->size();
  if (!path.ends_with(".bin")) {
    stream.dims = {bytes};
    return stream;
  }
  stream.type = {'u', 2};
  int32_t header[3] = {};
  if (bytes >= headerBytes)
    std::memcpy(header, stream.data, sizeof header);
  if (header[0] == magic) {
    stream.data += headerBytes;
    bytes -= headerBytes;
    if (header[1] != 1 || bytes != int64_t(header[2]) * 2)
      throw Error(format("%s: has llm.c's header of version %d for %d tokens, "
                         "and %lld bytes behind it; expected version 1, and "
                         "two bytes for each token",
                         path.c_str(), header[1], header[2],
                         static_cast<long long>(bytes)));
  }
  if (bytes % 2)
    throw Error(path + ": has an odd number of bytes; expected tokens of two "
                       "bytes (uint16)");
  stream.dims = {bytes / 2};
  return stream;
}

/// The one stream of the folder that serves the role; "" if it holds none.
static std::string chooseStream(const std::string &folder,
                                const std::vector<std::string> &names,
                                DataRole role) {
  std::vector<std::string> all, fitting;
  for (const std::string &name : names) {
    if (!name.ends_with(".bin") && !name.ends_with(".txt"))
      continue;
    all.push_back(name);
    const std::string stem = name.substr(0, name.size() - 4);
    const bool trains = stem.ends_with("train");
    const bool validates = stem.ends_with("val") || stem.ends_with("valid") ||
                           stem.ends_with("validation") ||
                           stem.ends_with("test");
    if (role == DataRole::training ? trains : validates)
      fitting.push_back(name);
  }
  if (all.size() <= 1)
    return all.empty() ? "" : all.front();
  if (fitting.size() == 1)
    return fitting.front();
  std::string list;
  for (const std::string &name : all)
    list += "\n  " + name;
  throw Error(folder +
              ": holds several streams of tokens and it is not clear which one "
              "to take (train... is for training, val... for validation):" +
              list);
}

std::unique_ptr<DataSource> openTokens(const std::string &folder,
                                       const std::vector<std::string> &names,
                                       DataRole role, const ModelInput &input) {
  const std::string name = chooseStream(folder, names, role);
  if (name.empty())
    return nullptr;
  const std::string path = (std::filesystem::path(folder) / name).string();
  if (input.dims.size() != 1 ||
      !(input.labels.empty() || input.labels == input.dims))
    throw Error(path +
                ": a stream of tokens is for a model of sequences, with "
                "scores for the next token; this one takes " +
                dimsText(input.dims) + " integers and labels of shape " +
                dimsText(input.labels));
  Array stream = openStream(path);
  const int64_t length = input.dims[0], count = stream.dims[0];
  // Every token is read, the last one only as a label.
  const int64_t samples = (count - 1) / length;
  if (samples < 1)
    throw Error(path + ": has " + plural(count, "token") +
                ", fewer than a sequence and one more (" +
                countText(length + 1) + ")");
  const int64_t end = std::min(input.tokens, input.classes);
  if (const Outside outside = findOutside(stream, end); outside.count)
    throw Error(format("%s: token %lld, at place %lld, is out of range; the "
                       "model has tokens 0 to %lld",
                       path.c_str(), static_cast<long long>(outside.firstValue),
                       static_cast<long long>(outside.firstAt),
                       static_cast<long long>(end - 1)));
  return std::make_unique<TokenStream>(std::move(stream), length, samples,
                                       input.ignoredLabel);
}

} // namespace lwcc::rt::train

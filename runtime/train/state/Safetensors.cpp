//===- Safetensors.cpp - Named tensors in a file --------------------------===//

#include "runtime/train/state/Safetensors.h"

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/files/Json.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace lwcc::rt::train {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little endian and are written as they lie");

static constexpr int64_t lengthBytes = 8;
/// The format's own limit.
static constexpr int64_t maxHeader = 100'000'000;
static constexpr size_t maxRank = 64;

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

SafetensorsFile::SafetensorsFile(const std::string &path) : file(path) {
  parseHeader(path);
}

/// One member of the header; `fail` throws.
template <typename Fail>
static TensorEntry parseEntry(const std::string &name, const Json &json,
                              const Fail &fail) {
  TensorEntry entry;
  entry.name = name;
  const Json *dtype = json.find("dtype");
  const Json *shape = json.find("shape");
  const Json *offsets = json.find("data_offsets");
  if (!dtype || dtype->kind != Json::string || !shape ||
      shape->kind != Json::array || !offsets || offsets->kind != Json::array ||
      offsets->items.size() != 2)
    fail("needs dtype, shape and two data_offsets");
  const std::optional<FileType> type = fileTypeOf(dtype->text);
  if (!type)
    fail("has dtype " + dtype->text +
         "; a trainer knows floats, integers and booleans of whole bytes");
  entry.type = *type;

  for (const Json &item : shape->items) {
    int64_t dim = 0;
    if (!item.get(dim) || shape->items.size() > maxRank)
      fail("has an impossible shape");
    entry.dims.push_back(dim);
  }
  auto bytes = checkedProduct(sizeOf(entry.type), entry.dims);
  if (!bytes)
    fail("has an impossible shape");
  entry.bytes = *bytes;
  int64_t end = 0;
  if (!offsets->items[0].get(entry.begin) || !offsets->items[1].get(end) ||
      checkedSum(entry.begin, entry.bytes) != end)
    fail("has data_offsets that do not fit its shape");
  return entry;
}

void SafetensorsFile::parseHeader(const std::string &path) {
  uint64_t length = 0;
  if (file.size() < lengthBytes)
    throw Error(path + ": not a safetensors file: it has only " +
                std::to_string(file.size()) + " bytes");
  std::memcpy(&length, file.data(), lengthBytes);
  if (length > maxHeader || int64_t(length) > file.size() - lengthBytes ||
      length == 0)
    throw Error(format("%s: not a safetensors file, or cut short: a header of "
                       "%llu bytes in a file of %lld",
                       path.c_str(), static_cast<unsigned long long>(length),
                       static_cast<long long>(file.size())));
  dataStart = lengthBytes + int64_t(length);
  visitJsonMembers(
      file.text().substr(lengthBytes, length), path + " (header)",
      [&](const std::string &name, const Json &json) {
        if (name == "__metadata__")
          return;
        entries.push_back(
            parseEntry(name, json, [&](const std::string &problem) {
              throw Error(path + ": tensor '" + name + "' " + problem);
            }));
      });
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const auto &a, const auto &b) { return a.begin < b.begin; });
  int64_t expected = 0;
  for (const TensorEntry &entry : entries) {
    if (entry.begin != expected)
      throw Error(path + ": tensor '" + entry.name +
                  "' leaves a hole or overlaps another");
    auto sum = checkedSum(expected, entry.bytes);
    if (!sum)
      throw Error(path + ": tensor '" + entry.name + "' is impossibly large");
    expected = *sum;
  }
  if (file.size() - dataStart != expected)
    throw Error(format("%s: has %lld bytes of data, its header says %lld",
                       path.c_str(),
                       static_cast<long long>(file.size() - dataStart),
                       static_cast<long long>(expected)));
  for (size_t i = 0; i < entries.size(); ++i)
    indexOf[entries[i].name] = i;
}

const TensorEntry *SafetensorsFile::find(const std::string &name) const {
  auto found = indexOf.find(name);
  return found == indexOf.end() ? nullptr : &entries[found->second];
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

SafetensorsWriter::SafetensorsWriter(
    const std::string &path, std::vector<TensorEntry> list,
    const std::vector<std::pair<std::string, std::string>> &metadata)
    : file(path), entries(std::move(list)) {
  JsonObject header;
  if (!metadata.empty()) {
    JsonObject pairs;
    for (const auto &[name, value] : metadata)
      pairs.add(name, value);
    header.addRaw("__metadata__", pairs.str());
  }
  int64_t begin = 0;
  for (TensorEntry &entry : entries) {
    int64_t elements = 1;
    for (int64_t dim : entry.dims)
      elements *= dim;
    entry.begin = begin;
    entry.bytes = elements * sizeOf(entry.type);
    begin += entry.bytes;
    header.addRaw(entry.name, JsonObject()
                                  .add("dtype", nameOf(entry.type))
                                  .add("shape", entry.dims)
                                  .add("data_offsets", {entry.begin, begin})
                                  .str());
  }
  std::string text = header.str();
  // The elements start at a multiple of 8, so that readers may map them.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  file.write(&length, lengthBytes);
  file.write(text);
}

void SafetensorsWriter::append(const void *elements) {
  assert(next < entries.size() && "more tensors than entries");
  file.write(elements, entries[next++].bytes);
}

void SafetensorsWriter::finish() {
  assert(next == entries.size() && "fewer tensors than entries");
  file.finish();
}

} // namespace lwcc::rt::train

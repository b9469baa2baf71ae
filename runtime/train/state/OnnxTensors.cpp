//===- OnnxTensors.cpp - The initializers of an ONNX file -----------------===//

#include "runtime/train/state/OnnxTensors.h"

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unordered_set>

namespace lwcc::rt::train {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The wire format of protocol buffers
//===----------------------------------------------------------------------===//

namespace {
/// Bytes that are no message.
struct Malformed {};

/// Goes over the fields of a message.
class WireReader {
public:
  explicit WireReader(std::string_view message) : rest(message) {}

  enum Kind { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  int64_t field = 0;
  Kind kind = varint;
  uint64_t number = 0;   ///< of a varint
  std::string_view text; ///< of all other kinds, its bytes

  /// Reads the next field; false at the end. Throws Malformed.
  bool next() {
    if (rest.empty())
      return false;
    const uint64_t tag = readVarint();
    field = static_cast<int64_t>(tag >> 3);
    switch (tag & 7) {
    case varint:
      kind = varint;
      number = readVarint();
      return true;
    case fixed64:
      kind = fixed64;
      text = take(8);
      return true;
    case bytes:
      kind = bytes;
      text = take(readVarint());
      return true;
    case fixed32:
      kind = fixed32;
      text = take(4);
      return true;
    default:
      throw Malformed();
    }
  }
  bool is(int64_t wanted, Kind of) const {
    return field == wanted && kind == of;
  }
  bool atEnd() const { return rest.empty(); }
  uint64_t readVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
    throw Malformed();
  }

private:
  std::string_view take(uint64_t count) {
    if (count > rest.size())
      throw Malformed();
    std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  std::string_view rest;
};
} // namespace

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

/// What is read of a TensorProto.
struct OnnxTensors::Fields {
  std::string name;
  std::vector<int64_t> dims;
  uint64_t type = 0;
  std::vector<std::string_view> parts; ///< of its elements
  bool isExternal = false;
  std::string location;
  std::string offset, length; ///< decimal; "" where they are not given
};

/// Of TensorProto.DataType; nothing for those that no FileType is.
static std::optional<FileType> typeOfOnnx(uint64_t type) {
  switch (type) {
  case 1:
    return FileType::f32;
  case 2:
    return FileType::u8;
  case 3:
    return FileType::i8;
  case 4:
    return FileType::u16;
  case 5:
    return FileType::i16;
  case 6:
    return FileType::i32;
  case 7:
    return FileType::i64;
  case 9:
    return FileType::boolean;
  case 10:
    return FileType::f16;
  case 11:
    return FileType::f64;
  case 12:
    return FileType::u32;
  case 13:
    return FileType::u64;
  case 16:
    return FileType::bf16;
  default:
    return std::nullopt;
  }
}

/// An entry of TensorProto.external_data.
template <typename Fields>
static void readEntry(std::string_view message, Fields &fields) {
  std::string_view key, value;
  for (WireReader reader(message); reader.next();) {
    if (reader.is(1, WireReader::bytes))
      key = reader.text;
    else if (reader.is(2, WireReader::bytes))
      value = reader.text;
  }
  if (key == "location")
    fields.location = value;
  else if (key == "offset")
    fields.offset = value;
  else if (key == "length")
    fields.length = value;
}

OnnxTensors::OnnxTensors(const std::string &path) : path(path), file(path) {
  try {
    bool hasGraph = false;
    for (WireReader model(file.text()); model.next();)
      if (model.is(7, WireReader::bytes)) {
        hasGraph = true;
        readGraph(model.text);
      }
    if (!hasGraph)
      throw Malformed();
  } catch (const Malformed &) {
    throw Error(path + ": not an ONNX model, or cut short");
  }
  std::unordered_set<std::string> names;
  for (const FileTensor &tensor : found)
    if (!names.insert(tensor.name).second)
      throw Error(path + ": two initializers are called '" + tensor.name + "'");
}

void OnnxTensors::readGraph(std::string_view graph) {
  for (WireReader reader(graph); reader.next();)
    if (reader.is(5, WireReader::bytes))
      addTensor(reader.text);
}

void OnnxTensors::addTensor(std::string_view bytes) {
  Fields fields;
  for (WireReader reader(bytes); reader.next();) {
    if (reader.is(1, WireReader::varint)) {
      fields.dims.push_back(static_cast<int64_t>(reader.number));
    } else if (reader.is(1, WireReader::bytes)) {
      for (WireReader packed(reader.text); !packed.atEnd();)
        fields.dims.push_back(static_cast<int64_t>(packed.readVarint()));
    } else if (reader.is(2, WireReader::varint)) {
      fields.type = reader.number;
    } else if (reader.is(4, WireReader::bytes) ||
               reader.is(4, WireReader::fixed32) ||
               reader.is(9, WireReader::bytes) ||
               reader.is(10, WireReader::bytes) ||
               reader.is(10, WireReader::fixed64)) {
      fields.parts.push_back(reader.text);
    } else if (reader.is(8, WireReader::bytes)) {
      fields.name = reader.text;
    } else if (reader.is(13, WireReader::bytes)) {
      readEntry(reader.text, fields);
    } else if (reader.is(14, WireReader::varint)) {
      fields.isExternal = reader.number == 1;
    }
  }
  const std::optional<FileType> type = typeOfOnnx(fields.type);
  if (!type)
    return;
  FileTensor tensor{fields.name, *type, fields.dims};
  // What is no real number is not read: its name is all that is told of it.
  if (becomesFloat(*type)) {
    const std::string where = path + ": initializer '" + fields.name + "' ";
    const auto wanted = checkedProduct(sizeOf(*type), fields.dims);
    if (!wanted)
      throw Error(where + "has an impossible shape");
    const bool isElsewhere = fields.parts.empty() && !fields.isExternal;
    if (!isElsewhere || *wanted == 0) {
      const std::string_view elements = elementsOf(fields);
      if (static_cast<int64_t>(elements.size()) != *wanted)
        throw Error(where + format("has %s of elements, its shape needs %s",
                                   bytesText(elements.size()).c_str(),
                                   bytesText(*wanted).c_str()));
      tensor.data = elements.data() ? elements.data() : "";
    }
  }
  found.push_back(std::move(tensor));
}

std::string_view OnnxTensors::elementsOf(const Fields &fields) {
  if (fields.isExternal)
    return externalElements(fields);
  if (fields.parts.empty())
    return {};
  if (fields.parts.size() == 1)
    return fields.parts.front();
  std::string &whole = joined.emplace_back();
  for (std::string_view part : fields.parts)
    whole += part;
  return whole;
}

/// "" stands for `absent`.
static bool parseCount(const std::string &text, uint64_t absent,
                       uint64_t &value) {
  value = absent;
  if (text.empty())
    return true;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

std::string_view OnnxTensors::externalElements(const Fields &fields) {
  const std::string where = path + ": initializer '" + fields.name +
                            "' keeps its data in '" + fields.location +
                            "', which ";
  const fs::path location(fields.location);
  if (fields.location.empty() || location.is_absolute() ||
      std::find(location.begin(), location.end(), "..") != location.end())
    throw Error(where + "leaves the model's folder; weights must lie beside "
                        "the model");
  const std::string target = (fs::path(parentOf(path)) / location).string();
  std::string_view text =
      external.try_emplace(fields.location, target).first->second.text();
  uint64_t offset = 0, length = 0;
  if (!parseCount(fields.offset, 0, offset) || offset > text.size() ||
      !parseCount(fields.length, text.size() - offset, length) ||
      length > text.size() - offset)
    throw Error(where + "is too short: it has " +
                bytesText(static_cast<int64_t>(text.size())) +
                "; the download or copy is incomplete");
  return text.substr(offset, length);
}

} // namespace lwcc::rt::train

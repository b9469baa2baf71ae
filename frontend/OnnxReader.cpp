//===- OnnxReader.cpp - An ONNX file in memory ----------------------------===//
//
// A model names the files of its weights, and the model may come from a
// stranger. So a location must be relative, must lie inside the model's folder
// after all links are resolved, and must be a regular file that holds the bytes
// that the tensor asks for.
//
//===----------------------------------------------------------------------===//

#include "frontend/OnnxReader.h"
#include "frontend/HostTensor.h"
#include "ir/InputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <onnx/defs/parser.h>

using namespace lwcc;
using namespace llvm;
using mlir::InFlightDiagnostic;

static constexpr int64_t oldestOpset = 7;
static constexpr int64_t newestOpset = 28;

//===----------------------------------------------------------------------===//
// Reporter
//===----------------------------------------------------------------------===//

std::string lwcc::firstOf(ArrayRef<std::string> names) {
  constexpr size_t most = 3;
  return join(names.take_front(most), ", ") +
         (names.size() > most ? ", ..." : "");
}

StringRef lwcc::layerName(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return "";
}

mlir::Location Reporter::at(const onnx::NodeProto &node) const {
  std::string text = "node '" + layerName(node).str() + "' (" + node.op_type() +
                     ") in " + file;
  return mlir::NameLoc::get(mlir::StringAttr::get(context, text));
}

mlir::Location Reporter::atFile() const {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, file));
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Removes lines that are comments. ONNX's text format has none; the tests need
/// them for what they check.
static std::string withoutComments(StringRef text) {
  std::string result;
  for (StringRef line : split(text, '\n'))
    if (!line.ltrim().starts_with("//"))
      (result += line) += '\n';
  return result;
}

static std::string parseModel(StringRef path, StringRef bytes,
                              onnx::ModelProto &model) {
  if (path.ends_with(".onnxtext")) {
    std::string text = withoutComments(bytes);
    auto status = onnx::OnnxParser::Parse(model, text.c_str());
    return status.IsOK() ? "" : "is not ONNX text: " + status.ErrorMessage();
  }
  if (bytes.size() > size_t(INT32_MAX))
    return "is larger than 2 GiB, the limit of protobuf; store its weights as "
           "external data (torch.onnx.export's default)";
  if (!model.ParseFromArray(bytes.data(), bytes.size()))
    return "is not an ONNX model: it is truncated or of another format";
  if (!model.has_graph() || model.opset_import_size() == 0)
    return "is not an ONNX model: it has no graph or no opset";
  return "";
}

static bool checkOpset(OnnxFile &file, Reporter &reporter) {
  for (const auto &opset : file.model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      file.opset = std::max<int64_t>(file.opset, opset.version());
  if (file.opset < oldestOpset) {
    reporter.error()
        << "uses opset " << file.opset << "; the oldest supported is "
        << oldestOpset
        << ". Convert it with onnx.version_converter, or export it "
           "again with opset_version=20";
    return false;
  }
  if (file.opset > newestOpset)
    reporter.warning() << "uses opset " << file.opset
                       << ", which is newer than the newest known ("
                       << newestOpset << "); operators may mean something else";
  return true;
}

std::unique_ptr<OnnxFile> OnnxFile::open(StringRef path, Reporter &reporter) {
  auto file = std::make_unique<OnnxFile>();
  file->name = sys::path::filename(path).str();
  if (sys::fs::is_directory(path)) {
    reporter.error() << "is a directory; name the .onnx file in it";
    return nullptr;
  }
  // What is wrong with a file that is too large, its parser knows.
  auto buffer = readInput(path, sys::fs::is_regular_file(path)
                                    ? std::numeric_limits<int64_t>::max()
                                    : mostOnnxBytes);
  if (!buffer) {
    reporter.error() << "cannot be read: " << toString(buffer.takeError());
    return nullptr;
  }
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty()) {
    reporter.error() << "is empty";
    return nullptr;
  }
  std::string problem = parseModel(path, bytes, file->model);
  if (!problem.empty()) {
    reporter.error() << problem;
    return nullptr;
  }
  StringRef folder = sys::path::parent_path(path);
  if (!checkOpset(*file, reporter) ||
      !file->openWeights(folder.empty() ? "." : folder, reporter))
    return nullptr;

  XXH128_hash_t hash = xxh3_128bits(arrayRefFromStringRef(bytes));
  uint64_t low = hash.low64, high = hash.high64;
  SmallVector<StringRef> locations(file->files.keys());
  llvm::sort(locations);
  for (StringRef location : locations) {
    StringRef weights = file->files[location]->getBuffer();
    XXH128_hash_t next = xxh3_128bits(arrayRefFromStringRef(weights));
    low = low * 0x9E3779B185EBCA87u + next.low64;
    high = high * 0x9E3779B185EBCA87u + next.high64;
  }
  file->hash = utohexstr(high, /*LowerCase=*/true, /*Width=*/16) +
               utohexstr(low, /*LowerCase=*/true, /*Width=*/16);
  return file;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// The entries of TensorProto.external_data.
struct ExternalData {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  bool valid = true;

  explicit ExternalData(const onnx::TensorProto &tensor) {
    for (const auto &entry : tensor.external_data()) {
      StringRef value = entry.value();
      uint64_t number = 0;
      if (entry.key() == "location") {
        location = value;
      } else if (entry.key() == "offset" || entry.key() == "length") {
        valid &= !value.getAsInteger(10, number);
        if (entry.key() == "offset")
          offset = number;
        else
          length = number;
      }
    }
  }
};
} // namespace

static bool isExternal(const onnx::TensorProto &tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

std::optional<StringRef>
OnnxFile::rawBytes(const onnx::TensorProto &tensor) const {
  if (!isExternal(tensor))
    return tensor.has_raw_data() ? std::optional<StringRef>(tensor.raw_data())
                                 : std::nullopt;
  ExternalData external(tensor);
  StringRef bytes = files.find(external.location)->second->getBuffer();
  return bytes.substr(external.offset,
                      external.length.value_or(StringRef::npos));
}

std::string OnnxFile::openExternal(StringRef folder,
                                   const onnx::TensorProto &tensor) {
  ExternalData external(tensor);
  StringRef location = external.location;
  std::string where = "keeps its data in '" + location.str() + "', which ";
  if (location.empty() || !external.valid)
    return "has a damaged description of its external data";
  if (sys::path::is_absolute(location) ||
      is_contained(
          make_range(sys::path::begin(location), sys::path::end(location)),
          ".."))
    return where +
           "leaves the model's folder; weights must lie beside the model";

  if (!files.contains(location)) {
    SmallString<128> path(folder), target, home;
    sys::path::append(path, location);
    sys::fs::file_status status;
    if (std::error_code error = sys::fs::status(path, status))
      return where + "cannot be read: " + error.message() +
             "; keep the file beside the model";
    if (sys::fs::real_path(path, target) || sys::fs::real_path(folder, home) ||
        !target.str().starts_with((home + "/").str()))
      return where + "links to a place outside the model's folder; copy the "
                     "file there instead";
    if (status.type() != sys::fs::file_type::regular_file)
      return where + "is not a regular file";
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    if (!buffer)
      return where + "cannot be read: " + buffer.getError().message();
    files[location] = std::move(*buffer);
  }
  uint64_t size = files[location]->getBufferSize();
  uint64_t length = external.length.value_or(
      external.offset <= size ? size - external.offset : 0);
  if (external.offset > size || length > size - external.offset)
    return where + "is too short: it has " + std::to_string(size) +
           " bytes, and " + std::to_string(length) + " at offset " +
           std::to_string(external.offset) +
           " are needed; the download or copy is incomplete";
  return "";
}

bool OnnxFile::openWeights(StringRef folder, Reporter &reporter) {
  bool good = true;
  auto open = [&](const onnx::TensorProto &tensor, auto &&complain) {
    // A type that we do not know matters only where an operator reads it.
    if (!elementBytes(tensor.data_type()))
      return;
    std::string problem;
    if (isExternal(tensor))
      problem = openExternal(folder, tensor);
    if (problem.empty())
      problem = checkTensor(tensor, rawBytes(tensor));
    if (problem.empty())
      return;
    complain() << problem;
    good = false;
  };
  auto openGraph = [&](const onnx::GraphProto &graph, auto &&self) -> void {
    for (const auto &tensor : graph.initializer())
      open(tensor, [&] {
        InFlightDiagnostic diagnostic = reporter.error();
        diagnostic << "initializer '" << tensor.name() << "' ";
        return diagnostic;
      });
    for (const auto &node : graph.node())
      for (const auto &attribute : node.attribute()) {
        if (attribute.has_t())
          open(attribute.t(), [&] {
            InFlightDiagnostic diagnostic = reporter.error(node);
            diagnostic << "the tensor of attribute '" << attribute.name()
                       << "' ";
            return diagnostic;
          });
        if (attribute.has_g()) // a branch, or the body of a loop
          self(attribute.g(), self);
      }
    for (const auto &tensor : graph.sparse_initializer()) {
      reporter.error() << "initializer '" << tensor.values().name()
                       << "' is sparse; store it as a dense tensor";
      good = false;
    }
  };
  openGraph(model.graph(), openGraph);
  return good;
}

//===- OutputFolder.cpp - A folder that lwcc writes -----------------------===//
//
// A manifest tells what of the folder lwcc wrote: only that is ever replaced or
// removed.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc/OutputFolder.h"
#include "tools/driver/Interrupt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <set>

using namespace lwcc;
using llvm::Error;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

void FolderContents::addText(StringRef path, std::string text) {
  texts.push_back(std::move(text));
  files[path.str()] = {texts.back(), FileKind::data};
}

Error FolderContents::addFile(StringRef path, StringRef from, FileKind kind) {
  auto bytes = llvm::MemoryBuffer::getFile(from, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return makeError("cannot read " + from + ": " + bytes.getError().message());
  copies.push_back(std::move(*bytes));
  StringRef text = copies.back()->getBuffer();
  files[path.str()] = {llvm::ArrayRef(text.data(), text.size()), kind};
  return Error::success();
}

Error FolderContents::addFolder(StringRef to, StringRef from, StringRef skip) {
  std::error_code code;
  for (fs::recursive_directory_iterator it(from, code), end; it != end && !code;
       it.increment(code)) {
    if (it->type() == fs::file_type::directory_file) {
      if (path::filename(it->path()) == skip)
        it.no_push();
    } else if (Error error = addFile(
                   (to + StringRef(it->path()).drop_front(from.size())).str(),
                   it->path(), FileKind::data)) {
      return error;
    }
  }
  if (code)
    return makeError("cannot read " + from + ": " + code.message());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// What is there
//===----------------------------------------------------------------------===//

namespace {
/// A line a file that lwcc wrote, with a hash of what it wrote: what has been
/// changed since is no longer lwcc's. While files are being replaced, it tells
/// both the old and the new ones.
class Manifest {
public:
  static constexpr llvm::StringLiteral name = ".lwcc";
  static constexpr llvm::StringLiteral header =
      "Written by lwcc, which replaces these files as long as they are as it "
      "wrote them.\n";

  static std::string hashOf(StringRef bytes) {
    llvm::XXH128_hash_t hash =
        llvm::xxh3_128bits(llvm::arrayRefFromStringRef(bytes));
    return llvm::utohexstr(hash.high64, /*LowerCase=*/true, /*Width=*/16) +
           llvm::utohexstr(hash.low64, /*LowerCase=*/true, /*Width=*/16);
  }
  static Manifest read(StringRef folder) {
    Manifest manifest;
    auto text = llvm::MemoryBuffer::getFile(folder + "/" + name);
    if (!text)
      return manifest;
    for (StringRef line : llvm::split((*text)->getBuffer(), '\n'))
      if (auto [hash, path] = line.split("  "); !path.empty())
        manifest.rows.insert({path.str(), hash.str()});
    return manifest;
  }
  void add(StringRef path, StringRef bytes) {
    rows.insert({path.str(), hashOf(bytes)});
  }
  bool has(StringRef path, StringRef bytes) const {
    return rows.count({path.str(), hashOf(bytes)}) != 0;
  }
  std::string text() const {
    std::string lines = header.str();
    for (const auto &[path, hash] : rows)
      lines += hash + "  " + path + "\n";
    return lines;
  }
  std::set<std::pair<std::string, std::string>> rows; ///< path, hash
};
} // namespace

/// The bytes of a file below the folder; nothing if none is there. Links are
/// not followed: what they lead to is not the folder's.
static std::unique_ptr<llvm::MemoryBuffer> bytesOf(const std::string &file) {
  fs::file_status status;
  if (fs::status(file, status, /*follow=*/false) ||
      status.type() != fs::file_type::regular_file)
    return nullptr;
  auto bytes = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  return bytes ? std::move(*bytes) : nullptr;
}

static bool isThere(const std::string &path) {
  fs::file_status status;
  return !fs::status(path, status, /*follow=*/false);
}

/// Whether a path's folders are what `folder` has of its own.
static bool isReachable(StringRef folder, StringRef file) {
  if (path::is_absolute(file) ||
      llvm::is_contained(llvm::make_range(path::begin(file), path::end(file)),
                         ".."))
    return false; // no manifest of ours says so
  for (StringRef part = path::parent_path(file); !part.empty();
       part = path::parent_path(part)) {
    fs::file_status status;
    if (!fs::status(folder + "/" + part, status, /*follow=*/false) &&
        status.type() != fs::file_type::directory_file)
      return false;
  }
  return true;
}

/// An error that names what lwcc did not write, if it is in the way.
static Error checkForeign(StringRef folder, const FolderContents &contents,
                          const Manifest &manifest) {
  constexpr size_t shown = 3;
  std::vector<std::string> foreign;
  const std::string list = (folder + "/" + Manifest::name).str();
  if (auto bytes = bytesOf(list);
      isThere(list) &&
      !(bytes && bytes->getBuffer().starts_with(Manifest::header)))
    foreign.push_back(Manifest::name.str());
  for (const auto &[name, wanted] : contents.files) {
    const std::string file = (folder + "/" + name).str();
    StringRef text(wanted.bytes.data(), wanted.bytes.size());
    auto bytes = bytesOf(file);
    if (isReachable(folder, name) &&
        (!isThere(file) || (bytes && (bytes->getBuffer() == text ||
                                      manifest.has(name, bytes->getBuffer())))))
      continue;
    foreign.push_back(name);
  }
  if (foreign.empty())
    return Error::success();
  std::string names =
      llvm::join(llvm::ArrayRef(foreign).take_front(shown), ", ");
  if (foreign.size() > shown)
    names += " and " + std::to_string(foreign.size() - shown) + " more";
  return makeError(
      "cannot write " + folder +
      ": in the way are files that lwcc did not write, or that were "
      "changed since (" +
      names + "); move them away or take another folder");
}

Error lwcc::checkFolder(StringRef folder) {
  auto cannot = [&](const llvm::Twine &why) {
    return makeError("cannot write " + folder + ": " + why);
  };
  std::string place = folder.str();
  if (!isThere(place)) {
    place = path::parent_path(folder.rtrim('/')).str();
    if (place.empty())
      place = ".";
  }
  if (!fs::is_directory(place))
    return cannot(place == folder ? "it is no folder"
                                  : place + " is not a folder");
  if (fs::access(place, fs::AccessMode::Write))
    return cannot("no permission to write in " + place);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Everything is written into a folder of its own first: where the disk is
/// full, nothing was replaced.
static Error writeContents(StringRef folder, const FolderContents &contents,
                           const Manifest &before) {
  Manifest after, both = before;
  for (const auto &[name, wanted] : contents.files)
    after.add(name, StringRef(wanted.bytes.data(), wanted.bytes.size()));
  both.rows.insert(after.rows.begin(), after.rows.end());

  auto staged = TemporaryFolder::make(folder);
  if (!staged)
    return staged.takeError();
  std::vector<std::string> changed;
  for (const auto &[name, wanted] : contents.files) {
    const auto &[bytes, kind] = wanted;
    auto there = bytesOf((folder + "/" + name).str());
    if (there && there->getBuffer() == StringRef(bytes.data(), bytes.size()))
      continue; // so that cmake builds no more than it must
    std::string file = (*staged)->file(std::to_string(changed.size()));
    if (Error error = writeFile(file, bytes, kind))
      return error;
    changed.push_back(name);
  }
  const std::string manifestFile = (folder + "/" + Manifest::name).str();
  if (Error error = writeFile(manifestFile, both.text()))
    return error;
  for (auto [i, name] : llvm::enumerate(changed)) {
    std::string to = (folder + "/" + name).str();
    std::error_code code = fs::create_directories(path::parent_path(to));
    if (!code)
      code = fs::rename((*staged)->file(std::to_string(i)), to);
    if (code)
      return makeError("cannot write " + to + ": " + code.message());
  }
  // What an earlier program had and this one has not.
  for (const auto &[name, hash] : before.rows)
    if (!contents.files.count(name) && isReachable(folder, name))
      if (auto bytes = bytesOf((folder + "/" + name).str());
          bytes && Manifest::hashOf(bytes->getBuffer()) == hash)
        fs::remove(folder + "/" + name);
  return writeFile(manifestFile, after.text());
}

Error lwcc::writeFolder(StringRef folder, const FolderContents &contents) {
  if (Error error = checkFolder(folder))
    return error;
  const Manifest manifest = Manifest::read(folder);
  if (Error error = checkForeign(folder, contents, manifest))
    return error;
  const bool isNew = !fs::exists(folder);
  if (std::error_code code = fs::create_directory(folder))
    return makeError("cannot write " + folder + ": " + code.message());
  Error error = writeContents(folder, contents, manifest);
  if (error && isNew)
    fs::remove(folder); // unless something is in it by now
  return error;
}

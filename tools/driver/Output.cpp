//===- Output.cpp - What lwcc writes --------------------------------------===//
//
// With exceptions: the writer of files is the runtime's. None leaves.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Output.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/SystemError.h"
#include "tools/driver/Interrupt.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

Error lwcc::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

int lwcc::complain(const llvm::Twine &message) {
  llvm::errs() << "lwcc: error: " << message << "\n";
  return 1;
}

int lwcc::complain(Error error) {
  return complain(llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Standard output
//===----------------------------------------------------------------------===//

/// Before LLVM's streams end, which would abort where an error is left.
static void closeStandardOutput() {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (code)
    complain("cannot write to the standard output: " + code.message());
  llvm::errs().clear_error();
  if (!code)
    return;
  std::fflush(nullptr);
  _exit(1);
}

void lwcc::prepareOutput() {
  // A file that is opened must not take the place of a stream that is closed.
  (void)llvm::sys::Process::FixupStandardFileDescriptors();
  // Writing beyond a limit of the file size fails instead.
  std::signal(SIGXFSZ, SIG_IGN);
  // What is registered later is called earlier: the streams' ends, before.
  (void)llvm::outs();
  (void)llvm::errs();
  std::atexit(closeStandardOutput);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string lwcc::endOfLinks(StringRef path) {
  return rt::train::endOfLinks(path.str());
}

bool lwcc::isSpecial(StringRef path) {
  return rt::train::isSpecial(path.str());
}

Error lwcc::writeFile(StringRef output, llvm::ArrayRef<char> bytes,
                      FileKind kind) {
  removeTemporariesOnSignal();
  try {
    rt::train::writeAtomically(
        output.str(),
        [&](rt::train::FileWriter &file) {
          file.write(bytes.data(), bytes.size());
        },
        {.program = kind == FileKind::program, .durable = false});
    return Error::success();
  } catch (const rt::train::SystemError &error) {
    return makeError("cannot write " + output + ": " +
                     std::generic_category().message(error.code));
  }
}

Error lwcc::checkOutput(StringRef output) {
  auto cannot = [&](const llvm::Twine &why) {
    return makeError("cannot write " + output + ": " + why);
  };
  if (rt::train::isDescriptor(output.str()))
    return Error::success();
  const std::string file = endOfLinks(output);
  if (fs::is_directory(file))
    return cannot("it is a folder");
  if (fs::exists(file))
    if (std::error_code code = fs::access(file, fs::AccessMode::Write))
      return cannot(code.message());
  StringRef parent = path::parent_path(file);
  if (parent.empty())
    parent = ".";
  if (!fs::is_directory(parent))
    return cannot(parent + " is not a folder");
  if (!fs::exists(file) && fs::access(parent, fs::AccessMode::Write))
    return cannot("no permission to write in " + parent);
  return Error::success();
}

bool lwcc::isSameFile(StringRef one, StringRef other) {
  bool same = false;
  return !fs::equivalent(one, other, same) && same;
}

//===- Installation.cpp - Where lwcc's own files lie ----------------------===//

#include "tools/lwcc/Installation.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace lwcc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// $LWCC_DEPS, or where tools/setup.sh puts things without it.
static std::string depsOfUser() {
  if (auto deps = llvm::sys::Process::GetEnv("LWCC_DEPS");
      deps && !deps->empty())
    return *deps;
  llvm::SmallString<128> home;
  if (!path::home_directory(home))
    return "";
  path::append(home, ".local", "share", "lwcc");
  return home.str().str();
}

static Installation find() {
  // An address in the program itself tells which file it was loaded from.
  const std::string program =
      fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&depsOfUser));
  const std::string prefix =
      path::parent_path(path::parent_path(program)).str();
  const std::string sources = prefix + "/share/lwcc";
  if (fs::is_directory(sources + "/runtime"))
    return {.sources = sources,
            .libraries = prefix + "/lib/lwcc",
            .onednn = prefix + "/lib/lwcc/onednn",
            .json = "",
            .deps = depsOfUser()};
  return {.sources = LWCC_SOURCE_DIR,
          .libraries = LWCC_BUILD_DIR "/lib",
          .onednn = LWCC_DEPS_DIR "/onednn",
          .json = LWCC_JSON_DIR,
          .deps = LWCC_DEPS_DIR};
}

const Installation &lwcc::installation() {
  static const Installation found = find();
  return found;
}

//===- ThisMachine.cpp - Plans without --machine --------------------------===//

#include "tools/lwcc/ThisMachine.h"
#include "ir/InputFile.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace lwcc;

std::string lwcc::probedFile(Target target) {
  llvm::SmallString<128> file;
  // As the XDG base directory specification has it: not if it is relative.
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && llvm::sys::path::is_absolute(cache))
    file = cache;
  else if (llvm::sys::path::home_directory(file))
    llvm::sys::path::append(file, ".cache");
  else
    return "";
  llvm::sys::path::append(file, "lwcc",
                          target == Target::cuda ? "machine-cuda.json"
                                                 : "machine-cpu.json");
  return file.str().str();
}

std::string lwcc::thisMachine(Target target, int64_t gpus) {
  std::string builtIn = target == Target::cpu ? "cpu" : "";
  std::string file = probedFile(target);
  if (file.empty() || !llvm::sys::fs::exists(file))
    return builtIn;
  auto buffer = readInput(file, mostJsonBytes);
  plan::Machine machine;
  bool readable =
      buffer && plan::machineFromJson((*buffer)->getBuffer(), machine).empty();
  if (!buffer)
    llvm::consumeError(buffer.takeError());
  return readable && machine.devices() < gpus ? builtIn : file;
}

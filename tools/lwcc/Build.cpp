//===- Build.cpp - From C++ text to a trainer -----------------------------===//
//
// Compiles in a temporary folder beside nothing the user owns, then moves the
// finished binary into place.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc/Build.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace lwcc;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

Error lwcc::failed(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

Error lwcc::writeFile(StringRef file, llvm::ArrayRef<char> bytes) {
  std::error_code code;
  llvm::raw_fd_ostream out(file, code);
  if (!code) {
    out.write(bytes.data(), bytes.size());
    out.close();
    code = out.error();
    out.clear_error();
  }
  if (code)
    return failed("cannot write " + file + ": " + code.message());
  return Error::success();
}

std::string lwcc::blobAssembly(const TrainerSource &source, StringRef file) {
  return llvm::formatv(R"(    .section .rodata, "a"
    .global lwcc_blob
    .global lwcc_blob_end
    .global lwcc_blob_bytes
    .balign 64
lwcc_blob:
    {0}
lwcc_blob_end:
    .balign 8
lwcc_blob_bytes:
    .quad {1}
    .section .note.GNU-stack, "", @progbits
)",
                       source.embeds() ? ".incbin \"" + file.str() + "\"" : "",
                       source.weights.size());
}

Error lwcc::checkOutput(StringRef output, bool folder) {
  SmallString<128> parent(path::parent_path(output));
  if (parent.empty())
    parent = ".";
  if (!fs::is_directory(parent))
    return failed("cannot write " + output + ": " + parent +
                  " is not a folder");
  if (fs::access(parent, fs::AccessMode::Write))
    return failed("cannot write " + output + ": no permission to write in " +
                  parent);
  if (!folder && fs::is_directory(output))
    return failed("cannot write " + output + ": it is a folder");
  return Error::success();
}

std::vector<std::string> lwcc::defaultArchitectures(Target target) {
  if (target == Target::cpu)
    return {"x86-64-v3"};
  return {"sm_80", "sm_90", "sm_100"};
}

Expected<std::string> lwcc::findCompiler(Target target) {
  if (target == Target::cpu) {
    if (fs::exists(LWCC_CXX))
      return std::string(LWCC_CXX);
    auto found = llvm::sys::findProgramByName("g++");
    if (found)
      return *found;
    return failed("--target=cpu needs g++, which is not installed");
  }
  for (std::string candidate : {std::string(LWCC_DEPS_DIR) + "/cuda/bin/nvcc",
                                std::string("/usr/local/cuda/bin/nvcc")})
    if (fs::exists(candidate))
      return candidate;
  if (auto found = llvm::sys::findProgramByName("nvcc"))
    return *found;
  return failed("--target=cuda needs nvcc, which is not installed: run "
                "tools/setup.sh, which installs it, or compile with "
                "--target=cpu");
}

Error lwcc::execute(llvm::ArrayRef<std::string> command, StringRef log) {
  std::vector<StringRef> arguments(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(), log, log};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(command[0], arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  if (code == 0)
    return Error::success();
  auto text = llvm::MemoryBuffer::getFile(log);
  return failed("'" + llvm::join(command, " ") + "' failed" +
                (message.empty() ? "" : ": " + message) + "\n" +
                (text ? (*text)->getBuffer() : ""));
}

/// Copies a finished file to its place: beside it first, so that the last step
/// is a rename.
static Error install(StringRef file, const llvm::Twine &place,
                     fs::perms permissions) {
  std::string staged = (place + ".partial").str();
  std::error_code code = fs::copy_file(file, staged);
  if (!code)
    code = fs::setPermissions(staged, permissions);
  if (!code)
    code = fs::rename(staged, place);
  if (!code)
    return Error::success();
  fs::remove(staged);
  return failed("cannot write " + place + ": " + code.message());
}

Error lwcc::buildBinary(const TrainerSource &source, StringRef output) {
  Expected<std::string> compiler = findCompiler(source.target);
  if (!compiler)
    return compiler.takeError();
  SmallString<128> work;
  if (std::error_code code = fs::createUniqueDirectory("lwcc", work))
    return failed("cannot make a temporary folder: " + code.message());
  llvm::scope_exit cleanUp([&] { fs::remove_directories(work); });
  auto in = [&](const llvm::Twine &name) { return (work + "/" + name).str(); };

  const bool cuda = source.target == Target::cuda;
  const std::string unit = in(source.name + (cuda ? ".cu" : ".cpp"));
  const std::string deps = LWCC_DEPS_DIR, build = LWCC_BUILD_DIR;
  if (Error error = writeFile(unit, source.text))
    return error;
  if (Error error = writeFile(in("weights.bin"), source.weights))
    return error;
  if (Error error =
          writeFile(in("weights.s"), blobAssembly(source, in("weights.bin"))))
    return error;
  if (Error error = execute(
          {LWCC_CXX, "-c", in("weights.s"), "-o", in("weights.o")}, in("log")))
    return error;

  const std::string temporary = in("trainer");
  std::vector<std::string> command = {*compiler, "-std=c++20", "-O3",
                                      "-I" LWCC_SOURCE_DIR};
  if (cuda) {
    const std::string root =
        path::parent_path(path::parent_path(*compiler)).str();
    for (const std::string &architecture : source.architectures) {
      std::string number = StringRef(architecture).substr(3).str();
      command.push_back("-gencode=arch=compute_" + number +
                        ",code=" + architecture);
    }
    for (std::string flag :
         {std::string("--expt-relaxed-constexpr"), unit, in("weights.o"),
          std::string("-o"), temporary, build + "/lib/liblwcc_rt_train.a",
          build + "/lib/liblwcc_rt_cuda.a", build + "/lib/liblwcc_rt_train.a",
          "-L" + root + "/lib64", "-L" + root + "/lib", std::string("-lcudnn"),
          std::string("-lcublasLt"), std::string("-lz"), std::string("-ldl"),
          std::string("-lpthread"),
          "-Xlinker=-rpath=$ORIGIN:" + root + "/lib64:" + root + "/lib"})
      command.push_back(flag);
  } else {
    // Fixed instruction set and no contraction: the same binary gives the same
    // numbers on every machine that runs it.
    for (std::string flag :
         {"-march=" + source.architectures.front(),
          std::string("-ffp-contract=off"), std::string("-fno-math-errno"),
          std::string("-fno-trapping-math"), unit, in("weights.o"),
          std::string("-o"), temporary, build + "/lib/liblwcc_rt_train.a",
          build + "/lib/liblwcc_rt_cpu.a", "-L" + deps + "/onednn/lib",
          std::string("-ldnnl"), std::string("-fopenmp"), std::string("-lz"),
          std::string("-lpthread"),
          "-Wl,-rpath,$ORIGIN:" + deps + "/onednn/lib"})
      command.push_back(flag);
  }
  if (Error error = execute(command, in("log")))
    return error;

  if (!source.embeds())
    if (Error error = install(in("weights.bin"), output + ".weights",
                              fs::all_read | fs::owner_write))
      return error;
  return install(temporary, output,
                 fs::all_read | fs::owner_write | fs::all_exe);
}

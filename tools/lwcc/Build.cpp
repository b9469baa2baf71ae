//===- Build.cpp - From C++ text to a trainer -----------------------------===//
//
// Compiles in a temporary folder of its own, then moves the finished binary
// into place.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc/Build.h"
#include "codegen/CppWriter.h"
#include "tools/driver/Interrupt.h"
#include "tools/lwcc/Installation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

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
                       source.embeds() ? ".incbin " + quoted(file) : "",
                       source.weights.size());
}

/// What the trainer decodes pictures with: static libraries beside the runtime
/// that was built with them, so that programs run where they are not.
static std::vector<std::string> pictureLibraries() {
  std::vector<std::string> paths;
  llvm::SmallVector<StringRef> names;
  StringRef(LWCC_PICTURE_LIBRARIES).split(names, ':', -1, /*KeepEmpty=*/false);
  for (StringRef name : names)
    paths.push_back(installation().libraries + "/" + name.str());
  return paths;
}

std::vector<std::string> lwcc::defaultArchitectures(Target target) {
  if (target == Target::cpu)
    return {"x86-64-v3"};
  return {"sm_80", "sm_90", "sm_100"};
}

StringRef lwcc::nameOf(Target target) {
  return target == Target::cpu ? "cpu" : "cuda";
}

/// A driver's device or tool.
static bool hasGpu() {
  return fs::exists("/dev/nvidiactl") || fs::exists("/dev/dxg") ||
         llvm::sys::findProgramByName("nvidia-smi");
}

/// nvcc, "" if there is none.
static std::string findNvcc() {
  for (std::string candidate : {installation().deps + "/cuda/bin/nvcc",
                                std::string("/usr/local/cuda/bin/nvcc")})
    if (fs::exists(candidate))
      return candidate;
  auto found = llvm::sys::findProgramByName("nvcc");
  return found ? *found : "";
}

static bool isFound(Expected<std::string> program) {
  bool found = bool(program);
  llvm::consumeError(program.takeError());
  return found;
}

std::optional<Target> lwcc::targetOf(StringRef flag, StringRef otherwise) {
  if (flag == "cpu")
    return Target::cpu;
  if (flag == "cuda")
    return Target::cuda;
  if (!flag.empty()) {
    complain("--target=" + flag + ": expected cuda or cpu");
    return std::nullopt;
  }
  if (hasGpu() || !findNvcc().empty() || !isFound(findCompiler(Target::cpu)))
    return Target::cuda;
  llvm::errs() << "lwcc: note: neither nvcc nor a GPU is here: " << otherwise
               << " (--target=cpu)\n";
  return Target::cpu;
}

Expected<std::string> lwcc::findCompiler(Target target) {
  if (target == Target::cpu) {
    if (fs::exists(LWCC_CXX))
      return std::string(LWCC_CXX);
    auto found = llvm::sys::findProgramByName("g++");
    if (found)
      return *found;
    return makeError("--target=cpu needs g++, which is not installed");
  }
  std::string nvcc = findNvcc();
  if (!nvcc.empty() &&
      !fs::exists(installation().libraries + "/liblwcc_rt_cuda.a"))
    return makeError(
        "--target=cuda: this lwcc was built where CUDA was missing, "
        "without the runtime that a program is linked to: write the "
        "sources (--emit=source) and build those, or compile with "
        "--target=cpu");
  if (!nvcc.empty())
    return nvcc;
  return makeError("--target=cuda needs nvcc, which is not installed: run "
                   "tools/setup.sh, which installs it, or compile with "
                   "--target=cpu");
}

/// The lines that say what went wrong, of all that a program printed: those
/// with the word, else the last one.
static std::string gistOf(StringRef output) {
  constexpr size_t most = 2;
  llvm::SmallVector<StringRef> lines, errors;
  output.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains_insensitive("error") && errors.size() < most)
      errors.push_back(line);
  if (errors.empty() && !lines.empty())
    errors.push_back(lines.back());
  return llvm::join(errors, "\n");
}

Error lwcc::execute(llvm::ArrayRef<std::string> command, StringRef log) {
  std::vector<StringRef> arguments(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(), log, log};
  // What a compiler writes for itself goes with the folder.
  const std::string folder = ("TMPDIR=" + path::parent_path(log)).str();
  std::vector<StringRef> environment = {folder};
  for (char **entry = environ; *entry; ++entry)
    if (!StringRef(*entry).starts_with("TMPDIR="))
      environment.push_back(*entry);
  std::string message;
  bool notStarted = false;
  llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      command[0], arguments, llvm::ArrayRef(environment), redirects,
      /*MemoryLimit=*/0, &message, &notStarted, /*AffinityMask=*/nullptr,
      /*DetachProcess=*/true); // with its own children, to end them together
  if (notStarted)
    return makeError("cannot run " + command[0] + ": " + message);
  setRunningChild(process.Pid);
  process = llvm::sys::Wait(process, std::nullopt, &message);
  setRunningChild(0);
  if (process.ReturnCode == 0)
    return Error::success();
  auto text = llvm::MemoryBuffer::getFile(log);
  std::string gist = text ? gistOf((*text)->getBuffer()) : "";
  std::string how = process.ReturnCode > 0
                        ? "exit code " + std::to_string(process.ReturnCode)
                        : message;
  return makeError(command[0] + " failed (" + how + ")" +
                   (gist.empty() ? "" : ":\n" + gist));
}

/// Copies a finished file to its place.
static Error install(StringRef file, const llvm::Twine &place, FileKind kind) {
  auto bytes = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return makeError("cannot read " + file + ": " + bytes.getError().message());
  return writeFile(place.str(), (*bytes)->getBuffer(), kind);
}

Error lwcc::buildBinary(const TrainerSource &source, StringRef output) {
  Expected<std::string> compiler = findCompiler(source.target);
  if (!compiler)
    return compiler.takeError();
  Expected<std::unique_ptr<TemporaryFolder>> work = TemporaryFolder::make();
  if (!work)
    return work.takeError();
  auto in = [&](const llvm::Twine &name) { return (*work)->file(name); };

  const bool cuda = source.target == Target::cuda;
  const std::string unit = in(source.name + (cuda ? ".cu" : ".cpp"));
  const Installation &ours = installation();
  if (Error error = writeFile(unit, source.text))
    return error;
  if (Error error = writeFile(in("weights.bin"), source.weights))
    return error;
  if (Error error =
          writeFile(in("weights.s"), blobAssembly(source, in("weights.bin"))))
    return error;
  Expected<std::string> assembler = findCompiler(Target::cpu);
  if (!assembler)
    return assembler.takeError();
  if (Error error =
          execute({*assembler, "-c", in("weights.s"), "-o", in("weights.o")},
                  in("log")))
    return error;

  const std::string temporary = in("trainer");
  std::vector<std::string> command = {*compiler, "-std=c++20", "-O3",
                                      "-I" + ours.sources};
  if (cuda) {
    const std::string root =
        path::parent_path(path::parent_path(*compiler)).str();
    // The last one also as code for newer GPUs, as in the runtime.
    for (const std::string &architecture : source.architectures) {
      std::string number = StringRef(architecture).substr(3).str();
      bool isLast = &architecture == &source.architectures.back();
      command.push_back("-gencode=arch=compute_" + number + ",code=" +
                        (isLast
                             ? "[" + architecture + ",compute_" + number + "]"
                             : architecture));
    }
    for (const std::string &flag :
         {std::string("--expt-relaxed-constexpr"),
          std::string(
              "-lineinfo"), // of sanitizers and profilers; costs no time
          unit, in("weights.o"), std::string("-o"), temporary,
          ours.libraries + "/liblwcc_rt_train.a",
          ours.libraries + "/liblwcc_rt_cuda.a",
          ours.libraries + "/liblwcc_rt_train.a"})
      command.push_back(flag);
    llvm::append_range(command, pictureLibraries());
    for (const std::string &flag :
         {"-L" + root + "/lib64", "-L" + root + "/lib", std::string("-lcudnn"),
          std::string("-lcublasLt"), std::string("-lz"), std::string("-ldl"),
          std::string("-lpthread"),
          "-Xlinker=-rpath=$ORIGIN:" + root + "/lib64:" + root + "/lib"})
      command.push_back(flag);
  } else {
    // Fixed instruction set and no contraction: the same binary gives the same
    // numbers on every machine that runs it.
    for (const std::string &flag :
         {"-march=" + source.architectures.front(),
          std::string("-ffp-contract=off"), std::string("-fno-math-errno"),
          std::string("-fno-trapping-math"), unit, in("weights.o"),
          std::string("-o"), temporary, ours.libraries + "/liblwcc_rt_train.a",
          ours.libraries + "/liblwcc_rt_cpu.a"})
      command.push_back(flag);
    llvm::append_range(command, pictureLibraries());
    for (const std::string &flag :
         {"-L" + ours.onednn + "/lib", std::string("-ldnnl"),
          std::string("-fopenmp"), std::string("-lz"), std::string("-ldl"),
          std::string("-lpthread"),
          "-Wl,-rpath,$ORIGIN:" + ours.onednn + "/lib"})
      command.push_back(flag);
  }
  if (Error error = execute(command, in("log")))
    return error;

  if (!source.embeds())
    if (Error error =
            writeFile(endOfLinks(output) + ".weights", source.weights))
      return error;
  return install(temporary, output, FileKind::program);
}

//===- Bundle.cpp - A trainer to be carried to other machines -------------===//
//
// A folder with the trainer and the libraries that a machine without lwcc and
// without a compiler has not: oneDNN and OpenMP's. The loader looks beside the
// program first (its run path begins with $ORIGIN), so that nothing has to be
// set there. The C library, C++'s and zlib are any system's.
//
//===----------------------------------------------------------------------===//

#include "tools/driver/Interrupt.h"
#include "tools/lwcc/Build.h"
#include "tools/lwcc/Installation.h"
#include "tools/lwcc/OutputFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace lwcc;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Where a target's compiler has a library; as the name alone if it has none.
static Expected<std::string> libraryOf(Target target, StringRef name,
                                       const std::string &log) {
  Expected<std::string> compiler = findCompiler(target);
  if (!compiler)
    return compiler.takeError();
  if (Error error =
          execute({*compiler, ("-print-file-name=" + name).str()}, log))
    return std::move(error);
  auto text = llvm::MemoryBuffer::getFile(log);
  if (!text)
    return makeError("cannot read " + log + ": " + text.getError().message());
  return (*text)->getBuffer().trim().str();
}

Error lwcc::writeBundle(const TrainerSource &source, StringRef folder) {
  Expected<std::unique_ptr<TemporaryFolder>> work = TemporaryFolder::make();
  if (!work)
    return work.takeError();
  const std::string program = (*work)->file("trainer");
  if (Error error = buildBinary(source, program))
    return error;
  Expected<std::string> openmp =
      libraryOf(source.target, "libgomp.so.1", (*work)->file("log"));
  if (!openmp)
    return openmp.takeError();

  FolderContents contents;
  const std::string onednn = installation().onednn + "/lib/libdnnl.so.3";
  if (Error error = contents.addFile("trainer", program, FileKind::program))
    return error;
  if (Error error = contents.addFile("libdnnl.so.3", onednn, FileKind::data))
    return error;
  if (Error error = contents.addFile("libgomp.so.1", *openmp, FileKind::data))
    return error;
  if (!source.embeds())
    contents.addBytes("trainer.weights", source.weights);
  return writeFolder(folder, contents);
}

//===- CorpusTest.cpp - Every file of the corpus, once --------------------===//
//
// The fuzzers' targets as an ordinary test: what was found once stays mended.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Targets.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace lwcc;
namespace fs = std::filesystem;

namespace {
void runAll(const char *folder, int (*target)(const uint8_t *, size_t)) {
  std::vector<fs::path> files;
  for (const auto &entry :
       fs::directory_iterator(LWCC_CORPUS "/" + std::string(folder)))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << "no corpus in " << folder;
  for (const fs::path &path : files) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(
        target(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()),
        0);
  }
}

TEST(Corpus, OnnxImported) { runAll("onnx", fuzz::importModel); }
TEST(Corpus, OnnxCompiled) { runAll("onnx", fuzz::compileModel); }
TEST(Corpus, Plans) { runAll("plan", fuzz::readPlan); }
TEST(Corpus, Machines) { runAll("machine", fuzz::readMachine); }
TEST(Corpus, Costs) { runAll("costs", fuzz::readCosts); }
TEST(Corpus, States) { runAll("state", fuzz::readState); }
TEST(Corpus, Safetensors) { runAll("safetensors", fuzz::readTensors); }
TEST(Corpus, Initializers) { runAll("onnx-tensors", fuzz::readInitializers); }
TEST(Corpus, Npy) { runAll("npy", fuzz::readNumpy); }
TEST(Corpus, Idx) { runAll("idx", fuzz::readIdxFile); }
TEST(Corpus, IdxGz) { runAll("idx-gz", fuzz::readIdxGz); }
TEST(Corpus, Tokens) { runAll("tokens", fuzz::readTokens); }
TEST(Corpus, Cifar) { runAll("cifar", fuzz::readCifar); }
TEST(Corpus, Csv) { runAll("csv", fuzz::readCsv); }
TEST(Corpus, Npz) { runAll("npz", fuzz::readNpz); }
TEST(Corpus, Tar) { runAll("tar", fuzz::readTar); }
TEST(Corpus, Folder) { runAll("folder", fuzz::readFolder); }
TEST(Corpus, Picture) { runAll("picture", fuzz::readPicture); }
} // namespace

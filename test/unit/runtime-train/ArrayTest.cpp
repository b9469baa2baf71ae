//===- ArrayTest.cpp - .npy and IDX files, whole and damaged --------------===//

#include "runtime/train/data/Array.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <sys/stat.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

namespace {
class ArrayTest : public testing::Test {
protected:
  Array npy(const std::string &bytes) {
    writeFile(folder / "a.npy", bytes);
    return readNpy(folder / "a.npy");
  }
  std::string npyError(const std::string &bytes) {
    return errorOf([&] { npy(bytes); });
  }
  Array idx(const std::string &bytes) {
    writeFile(folder / "a-idx", bytes);
    return readIdx(folder / "a-idx");
  }
  std::string idxError(const std::string &bytes) {
    return errorOf([&] { idx(bytes); });
  }
  TempFolder folder;
};
} // namespace

TEST_F(ArrayTest, NpyFloats) {
  Array array =
      npy(npyBytes("<f4", "(2, 3)", bytesOfValues<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(array.type, (ElementType{'f', 4}));
  EXPECT_EQ(array.type.name(), "float32");
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.bytesPerItem(), 12);
  EXPECT_EQ(reinterpret_cast<const float *>(array.data)[5], 6);
}

TEST_F(ArrayTest, NpyOneDimensionHasATrailingComma) {
  EXPECT_EQ(npy(npyBytes("|u1", "(3,)", "abc")).dims, std::vector<int64_t>{3});
}

TEST_F(ArrayTest, NpyVersion2) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': "
                       "(2,), }";
  std::string bytes("\x93NUMPY\x02\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += std::string(3, '\0') + header + "xy";
  EXPECT_EQ(std::string(npy(bytes).data, 2), "xy");
}

TEST_F(ArrayTest, NpyNotOne) {
  EXPECT_THAT(npyError("hello, world"), HasSubstr("a.npy: not a .npy file"));
  EXPECT_THAT(npyError(""), HasSubstr("not a .npy file"));
}

TEST_F(ArrayTest, NpyCutShortAnywhere) {
  std::string whole =
      npyBytes("<f4", "(2, 3)", bytesOfValues<float>({1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(npyError(whole.substr(0, size)), "") << size;
  EXPECT_THAT(npyError(whole.substr(0, whole.size() - 1)),
              HasSubstr("2x3 of float32 need 24 bytes, the file holds 23"));
}

TEST_F(ArrayTest, NpyWhatNobodyReads) {
  EXPECT_THAT(npyError(npyBytes(">f4", "(1,)", "abcd")),
              HasSubstr("big-endian"));
  EXPECT_THAT(npyError(npyBytes("<f4", "(1,)", "abcd", "True")),
              HasSubstr("Fortran order"));
  EXPECT_THAT(npyError(npyBytes("<c8", "(1,)", "abcdefgh")),
              HasSubstr("NumPy type '<c8'"));
  EXPECT_THAT(npyError(npyBytes("|O", "(1,)", "abcdefgh")), HasSubstr("a.npy"));
  EXPECT_THAT(npyError(npyBytes("<f4", "(-1,)", "abcd")),
              HasSubstr("damaged .npy header"));
  EXPECT_THAT(npyError(npyBytes("<f4", "(4294967296, 4294967296)", "abcd")),
              HasSubstr("impossible shape"));
}

TEST_F(ArrayTest, NpyAZeroHidesNothing) {
  for (const char *shape :
       {"(0, 4294967296, 4294967296)", "(4294967296, 4294967296, 0)",
        "(4294967296, 0, 4294967296)"})
    EXPECT_THAT(npyError(npyBytes("<f4", shape, "")),
                HasSubstr("impossible shape"));
  std::string ranks = "(1";
  for (int i = 0; i < 64; ++i)
    ranks += ", 1";
  EXPECT_THAT(npyError(npyBytes("|u1", ranks + ")", "x")),
              HasSubstr("damaged .npy header"));
}

TEST_F(ArrayTest, NpyMissing) {
  EXPECT_THAT(errorOf([&] { readNpy(folder / "none.npy"); }),
              HasSubstr("none.npy: cannot open: No such file"));
  EXPECT_THAT(errorOf([&] { readNpy(folder.path()); }),
              HasSubstr("not a regular file"));
}

TEST_F(ArrayTest, IdxImages) {
  Array array = idx(idxBytes({2, 1, 3}, "abcdef"));
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(std::string(array.data, 6), "abcdef");
}

TEST_F(ArrayTest, IdxPacked) {
  std::string path = folder / "a.gz";
  std::string bytes = idxBytes({3}, "xyz");
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, bytes.data(), bytes.size());
  ::gzclose(file);
  EXPECT_EQ(std::string(readIdx(path).data, 3), "xyz");

  std::string packed = readFile(path);
  writeFile(path, packed.substr(0, packed.size() - 9));
  EXPECT_THAT(errorOf([&] { readIdx(path); }), HasSubstr("a.gz: c"));
}

static void writePacked(const std::string &path, const std::string &bytes) {
  gzFile file = ::gzopen(path.c_str(), "wb9");
  ::gzwrite(file, bytes.data(), bytes.size());
  ::gzclose(file);
}

TEST_F(ArrayTest, IdxIsUnpackedAsFarAsItsHeaderSays) {
  std::string path = folder / "a.gz", bytes = idxBytes({3}, "xyz");
  // Damage where only unpacking everything would find it.
  std::string noise(1 << 20, '\0');
  uint32_t state = 1;
  for (char &c : noise)
    c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  writePacked(path, bytes + noise);
  std::string packed = readFile(path);
  packed.resize(packed.size() - 100);
  writeFile(path, packed);
  EXPECT_EQ(std::string(readIdx(path).data, 3), "xyz");
  // But all of what is used is checked.
  writePacked(path, bytes);
  packed = readFile(path);
  packed[packed.size() - 8] ^= 1;
  writeFile(path, packed);
  EXPECT_THAT(errorOf([&] { readIdx(path); }), HasSubstr("cannot unpack"));
}

TEST_F(ArrayTest, IdxPackedMoreThanCanBe) {
  std::string path = folder / "a.gz";
  writePacked(path, idxBytes({0xFFFFFFFF, 0x40000000}, "x"));
  EXPECT_THAT(errorOf([&] { readIdx(path); }),
              HasSubstr("no packing is that dense"));
  writePacked(path, idxBytes({2000}, "x"));
  EXPECT_THAT(errorOf([&] { readIdx(path); }),
              HasSubstr("2000 need 2000 bytes, the file holds 1"));
  writePacked(path, idxBytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"));
  EXPECT_THAT(errorOf([&] { readIdx(path); }), HasSubstr("impossible shape"));
  ASSERT_EQ(::mkfifo((folder / "pipe.gz").c_str(), 0600), 0);
  EXPECT_THAT(errorOf([&] { readIdx(folder / "pipe.gz"); }),
              HasSubstr("not a regular file"));
}

TEST_F(ArrayTest, IdxDamaged) {
  EXPECT_THAT(idxError("hello"), HasSubstr("not an IDX file"));
  EXPECT_THAT(idxError(idxBytes({2}, "ab", 0x0D)),
              HasSubstr("element type 0x0d"));
  EXPECT_THAT(idxError(idxBytes({2, 2}, "abc")),
              HasSubstr("2x2 need 4 bytes, the file holds 3"));
  EXPECT_THAT(idxError(idxBytes({2, 2}, "").substr(0, 9)),
              HasSubstr("inside the IDX header"));
}

//===- SafetensorsTest.cpp - Files of named tensors -----------------------===//

#include "runtime/train/state/Safetensors.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

namespace {
class SafetensorsTest : public testing::Test {
protected:
  std::string path() { return folder / "t.safetensors"; }
  std::string errorFor(std::string header, const std::string &data) {
    uint64_t length = header.size();
    writeFile(path(), bytesOfValues<uint64_t>({length}) + header + data);
    return errorOf([&] { SafetensorsFile file(path()); });
  }
  TempFolder folder;
};
} // namespace

TEST_F(SafetensorsTest, RoundTrip) {
  std::vector<float> weight{1, 2, 3, 4, 5, 6};
  std::vector<int32_t> count{-7};
  {
    SafetensorsWriter writer(path(),
                             {{"conv.weight", FileType::f32, {2, 3}},
                              {"odd \" name\n", FileType::i32, {}},
                              {"empty", FileType::u8, {0, 5}}},
                             {{"format", "pt"}});
    writer.append(weight.data());
    writer.append(count.data());
    writer.append(nullptr);
    writer.finish();
  }
  SafetensorsFile file(path());
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorEntry *entry = file.find("conv.weight");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(file.data(*entry), entry->bytes),
            bytesOfValues(weight));
  entry = file.find("odd \" name\n");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->dims.empty());
  EXPECT_EQ(std::string(file.data(*entry), 4), bytesOfValues(count));
  EXPECT_FALSE(file.find("other"));
}

TEST_F(SafetensorsTest, HeaderEndsAtAMultipleOfEight) {
  for (size_t size = 1; size < 10; ++size) {
    SafetensorsWriter(path(), {{std::string(size, 'n'), FileType::u8, {0}}}, {})
        .append(nullptr);
    EXPECT_EQ(std::filesystem::file_size(path()) % 8, 0u);
  }
}

TEST_F(SafetensorsTest, RefusesMalformedHeaders) {
  auto entry = [](const std::string &dtype, const std::string &shape,
                  const std::string &offsets) {
    return "{\"t\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}}";
  };
  std::string four(4, 'x');
  EXPECT_EQ(errorFor(entry("F32", "[1]", "[0,4]"), four), "");
  EXPECT_THAT(errorFor(entry("F32", "[1]", "[0,4]"), "xxx"),
              HasSubstr("has 3 bytes of data, its header says 4"));
  EXPECT_THAT(errorFor(entry("F32", "[1]", "[0,4]"), "xxxxx"),
              HasSubstr("has 5 bytes of data"));
  EXPECT_THAT(errorFor(entry("F32", "[2]", "[0,4]"), four),
              HasSubstr("tensor 't' has data_offsets that do not fit"));
  EXPECT_THAT(errorFor(entry("F32", "[1]", "[4,8]"), four + four),
              HasSubstr("leaves a hole"));
  EXPECT_EQ(errorFor(entry("BF16", "[2]", "[0,4]"), four), "");
  EXPECT_THAT(errorFor(entry("BF16", "[1]", "[0,4]"), four),
              HasSubstr("data_offsets that do not fit"));
  EXPECT_THAT(errorFor(entry("F4", "[8]", "[0,4]"), four),
              HasSubstr("has dtype F4"));
  EXPECT_THAT(errorFor(entry("F32", "[-1]", "[0,4]"), four),
              HasSubstr("impossible shape"));
  EXPECT_THAT(errorFor(entry("F32", "[4294967296,4294967296]", "[0,4]"), four),
              HasSubstr("impossible shape"));
  EXPECT_THAT(errorFor(entry("F32", "[0,4294967296,4294967296]", "[0,0]"), ""),
              HasSubstr("impossible shape"));
  EXPECT_THAT(errorFor(entry("F32", "[1]",
                             "[9223372036854775804,"
                             "-9223372036854775808]"),
                       four),
              HasSubstr("data_offsets that do not fit"));
  EXPECT_THAT(errorFor(entry("F32", "[1]", "[0,1e1]"), four),
              HasSubstr("data_offsets that do not fit"));
  std::string ranks = "[1";
  for (int i = 0; i < 64; ++i)
    ranks += ",1";
  EXPECT_THAT(errorFor(entry("F32", ranks + "]", "[0,4]"), four),
              HasSubstr("impossible shape"));
  EXPECT_THAT(errorFor("{\"t\":{}}", four), HasSubstr("needs dtype, shape"));
  EXPECT_THAT(errorFor("[]", ""), HasSubstr("no object"));
  EXPECT_THAT(errorFor("{", ""), HasSubstr("not valid JSON"));
}

TEST_F(SafetensorsTest, RefusesOtherFiles) {
  writeFile(path(), "abc");
  EXPECT_THAT(errorOf([&] { SafetensorsFile file(path()); }),
              HasSubstr("it has only 3 bytes"));
  writeFile(path(), std::string(64, '\xff'));
  EXPECT_THAT(errorOf([&] { SafetensorsFile file(path()); }),
              HasSubstr("not a safetensors file, or cut short"));
}

TEST_F(SafetensorsTest, SoManyTensorsThatEveryPairWouldTakeMinutes) {
  std::string header = "{";
  for (int i = 0; i < 50'000; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) +
              "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  EXPECT_EQ(errorFor(header + "}", std::string(50'000, 'x')), "");
  SafetensorsFile file(path());
  EXPECT_EQ(file.find("49999")->begin, 49'999);
  EXPECT_THAT(errorFor(header + ",\"7\":{}}", ""),
              HasSubstr("'7' appears twice"));
}

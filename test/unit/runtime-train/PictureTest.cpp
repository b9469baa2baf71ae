//===- PictureTest.cpp - Bitmaps, orientation, what is refused ------------===//
//
// The values of the other formats are compared with Pillow's in
// test/runtime-train/pictures.test.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Picture.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

static std::string little(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8)
    text += static_cast<char>(value & 0xFF);
  return text;
}

/// A bitmap with a Windows header; `extra` is its palette or its masks.
static std::string bmp(int32_t width, int32_t height, int bits,
                       const std::string &pixels, const std::string &extra = "",
                       uint32_t compression = 0) {
  auto start = static_cast<uint32_t>(54 + extra.size());
  return "BM" + little(0, 8) + little(start, 4) + little(40, 4) +
         little(static_cast<uint32_t>(width), 4) +
         little(static_cast<uint32_t>(height), 4) + little(1, 2) +
         little(bits, 2) + little(compression, 4) + little(0, 12) +
         little(0, 8) + extra + pixels;
}

static std::string pixelsOf(const std::string &bytes, int64_t channels = 3) {
  Sample sample;
  decodePicture(bytes, channels, sample);
  EXPECT_EQ(sample.format.channels, channels);
  return {sample.data, size_t(sample.format.bytes())};
}

static std::string errorOfPicture(const std::string &bytes) {
  return errorOf([&] { pixelsOf(bytes); });
}

TEST(Picture, Names) {
  for (const char *name : {"a.jpg", "a.b.JPEG", "x.png", ".webp", "y.bmp"})
    EXPECT_TRUE(isPictureName(name)) << name;
  for (const char *name : {"a", "jpg", "a.tiff", "a.jpg.txt", ""})
    EXPECT_FALSE(isPictureName(name)) << name;
}

TEST(Picture, BitmapsFromBelowAndFromAbove) {
  // Rows of four bytes: blue, green, red, and one to fill up.
  EXPECT_EQ(pixelsOf(bmp(1, 2, 24, "abc.def.")), "fedcba");
  EXPECT_EQ(pixelsOf(bmp(1, -2, 24, "abc.def.")), "cbafed");
}

TEST(Picture, BitmapsWithAPalette) {
  std::string palette = "abc.def.";
  EXPECT_EQ(pixelsOf(bmp(2, 1, 1, std::string("\x40\0\0\0", 4), palette)),
            "cbafed");
  std::string whole = palette + std::string(14 * 4, '\0');
  EXPECT_EQ(pixelsOf(bmp(2, 1, 4, std::string("\x10\0\0\0", 4), whole)),
            "fedcba");
  EXPECT_THAT(errorOfPicture(bmp(1, 1, 4, "\x30...", palette)),
              HasSubstr("the file ends early"));
}

TEST(Picture, BitmapsOfSixteenBits) {
  // 5 bits each; 31 of them are 255.
  EXPECT_EQ(pixelsOf(bmp(1, 1, 16, little(0x7c00, 4))),
            std::string("\xff\0\0", 3));
  std::string masks = little(0xf800, 4) + little(0x7e0, 4) + little(0x1f, 4);
  EXPECT_EQ(pixelsOf(bmp(1, 1, 16, little(0x07e0, 4), masks, 3)),
            std::string("\0\xff\0", 3));
  // One colour may have all bits.
  masks = little(0xffffffff, 4) + little(0, 4) + little(0, 4);
  EXPECT_EQ(pixelsOf(bmp(1, 1, 32, little(0xffffffff, 4), masks, 3)),
            std::string("\xff\0\0", 3));
}

TEST(Picture, GreyOfColours) {
  // 0.299 * 30 + 0.587 * 20 + 0.114 * 10 = 21.85
  EXPECT_EQ(pixelsOf(bmp(1, 1, 24, "\x0a\x14\x1e."), 1), "\x16");
}

// What each orientation means, from the standard: where row 0 and column 0 of
// the stored picture are.
TEST(Picture, Orientations) {
  const char *upright[] = {"abcdef", "cbafed", "fedcba", "defabc",
                           "adbecf", "daebfc", "fcebda", "cfbead"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Sample sample;
    makePixels(3, 2, 1, sample);
    sample.storage.assign({'a', 'b', 'c', 'd', 'e', 'f'});
    makeUpright(orientation, sample);
    EXPECT_EQ(std::string(sample.data, 6), upright[orientation - 1])
        << orientation;
    EXPECT_EQ(sample.format.width, orientation < 5 ? 3 : 2);
  }
}

TEST(Picture, OrientationOfExif) {
  // Byte order, 42, the directory at 8: one entry, a short.
  auto exif = [](uint32_t tag, uint32_t type, uint32_t value) {
    return "II" + little(42, 2) + little(8, 4) + little(1, 2) + little(tag, 2) +
           little(type, 2) + little(1, 4) + little(value, 4);
  };
  EXPECT_EQ(exifOrientation(exif(0x112, 3, 6)), 6);
  EXPECT_EQ(exifOrientation(std::string("Exif\0\0", 6) + exif(0x112, 3, 8)), 8);
  for (const std::string &none :
       {exif(0x113, 3, 6), exif(0x112, 4, 6), exif(0x112, 3, 9),
        exif(0x112, 3, 0), std::string(), std::string("MM"),
        exif(0x112, 3, 6).substr(0, 20)})
    EXPECT_EQ(exifOrientation(none), 1);
}

TEST(Picture, WhatIsRefused) {
  EXPECT_EQ(errorOfPicture(""), "the file is empty");
  EXPECT_THAT(errorOfPicture("hello"), HasSubstr("is no picture"));
  EXPECT_THAT(errorOfPicture(bmp(1, 1, 24, "abc.", "", 1)),
              HasSubstr("compressed BMP"));
  EXPECT_THAT(errorOfPicture(bmp(0, 1, 24, "")), HasSubstr("no pixels"));
  EXPECT_THAT(errorOfPicture(bmp(1, 1, 7, "abc.")), HasSubstr("7 bits"));
  EXPECT_THAT(errorOfPicture(bmp(2, 2, 24, "abc.")), HasSubstr("ends early"));
  EXPECT_THAT(errorOfPicture("\xff\xd8\xff"), HasSubstr("broken JPEG"));
  EXPECT_THAT(errorOfPicture("\x89PNG\r\n\x1a\n"), HasSubstr("broken PNG"));
  EXPECT_THAT(errorOfPicture("RIFF....WEBP"), HasSubstr("broken WebP"));
  Sample sample;
  EXPECT_THAT(errorOf([&] { makePixels(1 << 20, 1 << 20, 3, sample); }),
              HasSubstr("1048576 x 1048576 pixels, more than"));
}

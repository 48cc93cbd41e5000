#include "engine/data/idx_file.h"

#include <cstdio>

#include "limits.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::expectError;
using testing::Folder;
using testing::gzip;
using testing::readBytes;
using testing::twoImages;
using testing::twoLabels;

TEST(IdxFile, ReadsImages) {
  const Folder folder;
  const auto array = readIdx(folder.write("images", twoImages()), IdxKind::images);
  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_THAT(array->extents, ElementsAre(2, 2, 3));
  EXPECT_THAT(array->values, ElementsAre(0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255));
}

TEST(IdxFile, ReadsLabels) {
  const Folder folder;
  const auto array = readIdx(folder.write("labels", twoLabels()), IdxKind::labels);
  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_THAT(array->extents, ElementsAre(2));
  EXPECT_THAT(array->values, ElementsAre(7, 3));
}

TEST(IdxFile, ReadsGzipByContentWhateverTheName) {
  const Folder folder;
  for (const std::string name : {"images.gz", "images"}) {
    const auto array = readIdx(folder.write(name, gzip(twoImages())), IdxKind::images);
    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_EQ(array->values.size(), 12U);
    EXPECT_EQ(array->values.back(), 255);
  }
  ASSERT_TRUE(readIdx(folder.write("plain.gz", twoImages()), IdxKind::images).ok());
}

TEST(IdxFile, ReadsMoreThanOnePieceOfMemory) {
  const Folder folder;
  constexpr std::uint32_t count = 20'000'000;  // more than one 16 MiB piece
  Bytes bytes = {0, 0, 8, 1, count >> 24U, (count >> 16U) & 255U, (count >> 8U) & 255U, count & 255U};
  for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 251));
  const auto array = readIdx(folder.write("labels", bytes), IdxKind::labels);
  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_TRUE(std::equal(array->values.begin(), array->values.end(), bytes.begin() + 8, bytes.end()));
}

TEST(IdxFile, WritesWhatTheFormatSays) {
  const Folder folder;
  const std::vector<std::int64_t> extents = {2, 2, 3};
  const Bytes values = {0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255};
  ASSERT_TRUE(writeIdx(folder.path() / "plain", extents, values).ok());
  EXPECT_EQ(readBytes(folder.path() / "plain"), twoImages());
  ASSERT_TRUE(writeIdx(folder.path() / "packed", extents, values, IdxCompression::gzip).ok());
  const Bytes packed = readBytes(folder.path() / "packed");
  ASSERT_GE(packed.size(), 2U);
  EXPECT_EQ(packed[0], 0x1f);
  EXPECT_EQ(packed[1], 0x8b);
  const auto back = readIdx(folder.path() / "packed", IdxKind::images);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->values, values);
}

TEST(IdxFile, MissingFileOrFolderInstead) {
  const Folder folder;
  expectError(readIdx(folder.path() / "none", IdxKind::images), ErrorKind::io,
              {"none' is not a file", "name an IDX file of images"});
  expectError(readIdx(folder.path(), IdxKind::labels), ErrorKind::io, {"is not a file", "labels"});
}

TEST(IdxFile, WrongMagic) {
  const Folder folder;
  expectError(
      readIdx(folder.write("a", twoLabels()), IdxKind::images), ErrorKind::badInput,
      {"a' holds labels (magic number 2049) where images (magic number 2051) are expected", "exchange"});
  expectError(readIdx(folder.write("b", twoImages()), IdxKind::labels), ErrorKind::badInput,
              {"b' holds images (magic number 2051)"});
  const std::string page = "<!DOCTYPE html><html>not found</html>";
  expectError(readIdx(folder.write("c", Bytes(page.begin(), page.end())), IdxKind::images),
              ErrorKind::badInput,
              {"c' is not an IDX file of images: its magic number is 1008813135, not 2051"});
  Bytes floats = twoImages();
  floats[2] = 0x0d;  // element type float32
  expectError(readIdx(folder.write("d", floats), IdxKind::images), ErrorKind::badInput,
              {"d' is not an IDX file"});
}

TEST(IdxFile, EveryTruncationIsSeen) {
  const Folder folder;
  for (const bool packed : {false, true}) {
    const Bytes whole = packed ? gzip(twoImages()) : twoImages();
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto file =
          folder.write("cut", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      const auto array = readIdx(file, IdxKind::images);
      ASSERT_FALSE(array.ok()) << (packed ? "gzip" : "plain") << " cut at " << length;
      if (!packed) {
        EXPECT_THAT(array.error().message, ::testing::HasSubstr("cut' is truncated"));
      }
    }
  }
}

TEST(IdxFile, TruncationSentences) {
  const Folder folder;
  Bytes images = twoImages();
  images.pop_back();
  expectError(readIdx(folder.write("a", images), IdxKind::images), ErrorKind::badInput,
              {"a' is truncated: its header promises 12 bytes of data, it holds 11", "anew"});
  expectError(readIdx(folder.write("b", {0, 0, 8}), IdxKind::images), ErrorKind::badInput,
              {"b' is truncated: it ends within its header"});
  Bytes many = {0, 0, 8, 1, 0, 0, 0x40, 0};
  for (std::uint32_t i = 0; i < 0x4000; ++i)
    many.push_back(static_cast<std::uint8_t>((i * i * 2654435761U) >> 13U));
  Bytes packed = gzip(many);
  packed.resize(packed.size() / 2);
  expectError(readIdx(folder.write("c", packed), IdxKind::labels), ErrorKind::badInput,
              {"c' is truncated: its gzip stream ends too early"});
}

TEST(IdxFile, ExtentsAreReadFromTheHeader) {
  const Folder folder;
  for (const Bytes& whole : {twoImages(), gzip(twoImages())}) {
    const auto extents = readIdxExtents(folder.write("images", whole), IdxKind::images);
    ASSERT_TRUE(extents.ok()) << extents.error().message;
    EXPECT_THAT(*extents, ElementsAre(2, 2, 3));
  }
  // The length of a plain file is known, what a compressed one unpacks to is not.
  Bytes images = twoImages();
  images.pop_back();
  expectError(readIdxExtents(folder.write("a", images), IdxKind::images), ErrorKind::badInput,
              {"a' is truncated: its header promises 12 bytes of data, it holds 11"});
  EXPECT_TRUE(readIdxExtents(folder.write("b", gzip(images)), IdxKind::images).ok());
  images.insert(images.end(), 2, 7);
  expectError(readIdxExtents(folder.write("c", images), IdxKind::images), ErrorKind::badInput,
              {"c' is longer than the 12 bytes of data that its header promises"});
  const auto expectRefused = [&](const char* name, const Bytes& bytes, const char* why) {
    expectError(readIdxExtents(folder.write(name, bytes), IdxKind::images), ErrorKind::badInput, {why});
  };
  expectRefused("d", twoLabels(), "d' holds labels");
  expectRefused("e", {0, 0, 8}, "e' is truncated: it ends within its header");
  expectRefused("f", {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, "f' says that it is empty");
  expectError(readIdxExtents(folder.path() / "none", IdxKind::images), ErrorKind::io, {"is not a file"});
}

TEST(IdxFile, DamagedGzip) {
  const Folder folder;
  Bytes packed = gzip(twoImages());
  Bytes checksum = packed;
  checksum[checksum.size() - 8] ^= 1U;  // first byte of the CRC
  expectError(readIdx(folder.write("a", checksum), IdxKind::images), ErrorKind::badInput,
              {"a' is damaged: its gzip stream does not unpack"});
  Bytes block = packed;
  block[10] |= 6U;  // block type 3 does not exist
  expectError(readIdx(folder.write("b", block), IdxKind::images), ErrorKind::badInput, {"b' is damaged"});
}

TEST(IdxFile, ExtraBytes) {
  const Folder folder;
  Bytes images = twoImages();
  images.push_back(0);
  for (const Bytes& bytes : {images, gzip(images)}) {
    expectError(readIdx(folder.write("a", bytes), IdxKind::images), ErrorKind::badInput,
                {"a' is longer than the 12 bytes"});
  }
}

TEST(IdxFile, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  const Folder folder;
  expectError(readIdx(folder.write("a", {0, 0, 8, 1, 0xff, 0xff, 0xff, 0xff, 1}), IdxKind::labels),
              ErrorKind::badInput,
              {"a' says that it holds 4,294,967,295 items, more than 1,073,741,824 bytes"});
  expectError(
      readIdx(folder.write("b", {0, 0, 8, 3, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 28, 1}), IdxKind::images),
      ErrorKind::badInput, {"b' says that its images are 65536 × 28 pixels", "4096"});
  expectError(readIdx(folder.write("c", {0, 0, 8, 3, 0, 1, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0}), IdxKind::images),
              ErrorKind::badInput, {"c' says that it holds 65,536 items, more than"});
  expectError(readIdx(folder.write("d", {0, 0, 8, 1, 0, 0, 0, 0}), IdxKind::labels), ErrorKind::badInput,
              {"d' says that it is empty"});
  expectError(readIdx(folder.write("e", {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 28}), IdxKind::images),
              ErrorKind::badInput, {"e' says that it is empty"});
  // The header claims more items than the file holds. The reader allocates only one piece before it finds the
  // end of the file.
  expectError(readIdx(folder.write("f", {0, 0, 8, 1, 0x3f, 0xff, 0xff, 0xff, 1}), IdxKind::labels),
              ErrorKind::badInput, {"f' is truncated"});
}

TEST(IdxFile, ReadErrorOfTheSystem) {
  expectError(readIdx("/proc/self/mem", IdxKind::labels), ErrorKind::io,
              {"cannot read '/proc/self/mem'", "check the disk"});
}

TEST(IdxFile, UnwritablePathAndFullDisk) {
  const Folder folder;
  const std::vector<std::int64_t> extents = {1'000'000};
  const Bytes values(1'000'000);
  expectError(writeIdx(folder.path() / "none" / "labels", extents, values), ErrorKind::io,
              {"cannot open '", "none/labels'", "No such file or directory"});
  expectError(writeIdx("/dev/full", extents, values), ErrorKind::io,
              {"cannot write '/dev/full': No space left on device", "free some space"});
  // One byte stays in the stream's buffer, so the error appears only when the file is closed.
  expectError(writeIdx("/dev/full", std::vector<std::int64_t>{1}, Bytes(1)), ErrorKind::io,
              {"cannot write '/dev/full': No space left"});
}

TEST(IdxFileDeathTest, NoFileCanBeOpened) {
  const Folder folder;
  const auto file = folder.write("labels", twoLabels());
  const auto tryIt = [&] {
    testing::limitFiles();
    const auto array = readIdx(file, IdxKind::labels);
    std::fputs(array.ok() ? "read" : array.error().message.c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(tryIt(), ::testing::ExitedWithCode(0), "cannot open '.*labels': Too many open files");
}

TEST(IdxFileDeathTest, NotEnoughMemory) {
#ifdef PIPESCOPE_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers need the address space";
#else
  const Folder folder;
  const auto file = folder.write("labels", {0, 0, 8, 1, 0x08, 0, 0, 0});
  std::filesystem::resize_file(file, 8 + 0x08000000);
  const auto tryIt = [&] {
    testing::limitMemory(std::uint64_t{40} << 20U);
    const auto array = readIdx(file, IdxKind::labels);
    std::fputs(array.ok() ? "read" : array.error().message.c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(tryIt(), ::testing::ExitedWithCode(0),
              "not enough memory to read '.*labels' \\(134,217,728 bytes\\)");
#endif
}

TEST(IdxFileDeathTest, ExtentsMustFitTheValues) {
  const Folder folder;
  EXPECT_DEATH(
      (testing::printChecks(), (void)writeIdx(folder.path() / "a", std::vector<std::int64_t>{3}, Bytes(2))),
      "multiply");
}

}  // namespace
}  // namespace pipescope::data

// Tests the compression of exports with zlib's own reader.
#include "profiler/export/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

namespace pipescope::exporting {
namespace {

std::string inflated(const std::string& compressed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string input = compressed, text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  std::string buffer(1 << 16, ' ');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, 0, buffer.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

TEST(Gzip, GivesBackWhatWasWrittenInPieces) {
  std::mt19937 random(7);
  std::string text(3'000'000, ' ');
  for (char& c : text) c = static_cast<char>(random());  // does not get smaller
  std::string compressed;
  GzipWriter gzip("a comment", [&](std::string_view part) { return compressed += part, base::Status(); });
  for (std::size_t at = 0; at < text.size(); at += 700'001)
    ASSERT_TRUE(gzip.write(std::string_view(text).substr(at, 700'001)).ok());
  ASSERT_TRUE(gzip.write("").ok());
  ASSERT_TRUE(gzip.finish().ok());
  EXPECT_EQ(compressed.substr(3, 1), "\x10");  // RFC 1952: only the comment is there
  EXPECT_EQ(compressed.substr(10, 10), std::string("a comment\0", 10));
  EXPECT_TRUE(inflated(compressed) == text);
  std::string empty;
  GzipWriter nothing("", [&](std::string_view part) { return empty += part, base::Status(); });
  ASSERT_TRUE(nothing.finish().ok());
  EXPECT_EQ(inflated(empty), "");
}

TEST(Gzip, PassesOnTheErrorOfWhatItWritesTo) {
  GzipWriter gzip("", [](std::string_view) -> base::Status { return base::refused("full"); });
  static_cast<void>(gzip.write("text"));
  const base::Status status = gzip.finish();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "full");
}

}  // namespace
}  // namespace pipescope::exporting

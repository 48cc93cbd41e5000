#pragma once
// Writes files for the tests of engine/data without using the code under test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/ops/core/cast_elements.h"
#include "profiler/base/check.h"
#include "profiler/base/result.h"

namespace pipescope::data::testing {

using Bytes = std::vector<std::uint8_t>;

/// A temporary folder for one test. The destructor removes it.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "pipescope-data-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    std::copy(bytes.begin(), bytes.end(), std::ostreambuf_iterator<char>(file));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Reads samples as float32 and labels as int32, whatever their stored types. The values must be exactly
/// representable.
struct PlainRows {
  std::vector<float> samples;
  std::vector<std::int32_t> labels;
  friend bool operator==(const PlainRows&, const PlainRows&) = default;
};
inline graph::TensorType typeOf(const Dataset& dataset, const std::string& field) {
  const auto fields = dataset.fields();
  const auto found = findField(fields, field);
  EXPECT_TRUE(found.has_value()) << field;
  return found ? fields[*found].type : graph::TensorType();
}
inline std::vector<std::vector<std::byte>> readFields(const Dataset& dataset,
                                                      const std::vector<std::int64_t>& indices) {
  std::vector<std::vector<std::byte>> bytes;
  for (const Field& field : dataset.fields())
    bytes.emplace_back(indices.size() * static_cast<std::size_t>(field.type.bytes().count));
  std::vector<std::span<std::byte>> spans(bytes.begin(), bytes.end());
  const base::Status status = dataset.read(indices, spans);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return bytes;
}
template <class T>
std::vector<T> valuesOf(const std::vector<std::byte>& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return {first, first + bytes.size() / sizeof(T)};
}
inline PlainRows readRows(const Dataset& dataset, const std::vector<std::int64_t>& indices) {
  const auto bytes = readFields(dataset, indices);
  const auto fields = dataset.fields();
  PlainRows rows;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == "labels") {
      EXPECT_EQ(fields[i].type.element, graph::ElementType::int32);
      rows.labels = valuesOf<std::int32_t>(bytes[i]);
    } else {
      const auto count = static_cast<std::int64_t>(indices.size()) * fields[i].type.elements();
      rows.samples.resize(static_cast<std::size_t>(count));
      ops::castElements(fields[i].type.element, bytes[i].data(), graph::ElementType::float32,
                        reinterpret_cast<std::byte*>(rows.samples.data()), count);
    }
  }
  return rows;
}

inline Bytes readBytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

/// Compresses with zlib to a gzip stream.
inline Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()) + 64);
  Bytes copy = plain;
  stream.next_in = copy.data();
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Two images of 2 × 3 pixels: 0, 1, 2 … 5 and 250 … 255.
inline Bytes twoImages() {
  return {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255};
}
/// Their labels: 7 and 3.
inline Bytes twoLabels() {
  return {0, 0, 8, 1, 0, 0, 0, 2, 7, 3};
}

/// Makes a failed check print its message in a death test, as it does in the programs.
inline void printChecks() {
  base::setCheckHandler([](const std::string& sentence) {
    std::fputs(sentence.c_str(), stderr);
    std::_Exit(3);
  });
}

/// Expects an error of this kind whose message contains all these parts.
template <class T>
void expectError(const base::Result<T>& result, base::ErrorKind kind, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(static_cast<int>(result.error().kind), static_cast<int>(kind)) << result.error().message;
  for (const std::string& part : parts) EXPECT_THAT(result.error().message, ::testing::HasSubstr(part));
}

}  // namespace pipescope::data::testing

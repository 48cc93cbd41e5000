#pragma once
// Rows of every type made from the types of their fields, folders that vanish, and reading a whole profile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/profile_writer.h"

namespace pipescope::store::testing {

/// A folder of this test's own, removed at its end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// Names of all files in it, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path path_;
};

std::string readFile(const std::filesystem::path& path);
void writeFile(const std::filesystem::path& path, const std::string& bytes);

/// The n-th of a series of values that begins with the extremes of each type. Deterministic.
std::int64_t integerValue(std::uint64_t n);
double realValue(std::uint64_t n);
std::string textValue(std::uint64_t n);

template <class Field>
void setField(Field& field, std::uint64_t n) {
  if constexpr (std::is_same_v<Field, std::string>) {
    field = textValue(n);
  } else if constexpr (std::is_same_v<Field, double>) {
    field = realValue(n);
  } else if constexpr (std::is_same_v<Field, bool>) {
    field = n % 2 != 0;
  } else {
    model::fromInteger(
        field, integerValue(n));  // narrow fields keep the low bits: both ends of their range among them
  }
}

template <class Row>
std::vector<Row> makeRows(std::size_t count, std::uint64_t seed) {
  std::vector<Row> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t place = 0;
    Row::fields(rows[i], [&](const char*, auto& field, const char*, const char*) {
      setField(field, seed + i * 7 + place++ * 3);
    });
  }
  return rows;
}

/// `count` rows in every table.
model::RowSet makeRowSet(std::size_t count, std::uint64_t seed);

/// One line a row, "table: values", of all tables in order; reals by their bits, after what SQLite does to
/// those of plain tables.
std::vector<std::string> render(const model::RowSet& rows);

/// Opens and reads everything; a test failure with the sentence where that is impossible.
std::vector<std::string> readProfile(const std::filesystem::path& path);

/// Writes a complete profile of these batches.
void writeProfile(const std::filesystem::path& path, const std::vector<model::RowSet>& batches);

/// Runs SQL on a file with a connection of its own, as another program would.
void runSql(const std::filesystem::path& path, const std::string& sql);
/// The first column of what a query finds.
std::vector<std::int64_t> selectNumbers(const std::filesystem::path& path, const std::string& sql);

MATCHER_P(FailsWith, sentence, "") {
  if (arg.ok()) {
    *result_listener << "which succeeded";
    return false;
  }
  *result_listener << "which says: " << arg.error().message;
  return arg.error().message.find(sentence) != std::string::npos;
}

#define ASSERT_OK(expression)                               \
  do {                                                      \
    const auto& okResult = (expression);                    \
    ASSERT_TRUE(okResult.ok()) << okResult.error().message; \
  } while (false)
#define EXPECT_OK(expression)                               \
  do {                                                      \
    const auto& okResult = (expression);                    \
    EXPECT_TRUE(okResult.ok()) << okResult.error().message; \
  } while (false)

}  // namespace pipescope::store::testing

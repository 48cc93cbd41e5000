#pragma once
// Makes rows of every type from the types of their fields, makes folders that vanish, and reads whole
// profiles.
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

/// A folder for one test, removed at the end of the test.
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

/// The n-th of a deterministic series of values, which begins with the extremes of each type.
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
        field, integerValue(n));  // Narrow fields keep the low bits, so both ends of their range occur.
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

/// Makes `count` rows in every table.
model::RowSet makeRowSet(std::size_t count, std::uint64_t seed);

/// One line for each row, "table: values", of all tables in order. Reals are shown by their bits, after the
/// changes that SQLite makes to those of plain tables.
std::vector<std::string> render(const model::RowSet& rows);

/// Opens a profile and reads everything. If that fails, the test fails with the error sentence.
std::vector<std::string> readProfile(const std::filesystem::path& path);

/// Writes a complete profile with these batches.
void writeProfile(const std::filesystem::path& path, const std::vector<model::RowSet>& batches);

/// Runs SQL on a file with a connection of its own, as another program would.
void runSql(const std::filesystem::path& path, const std::string& sql);
/// The first column of the result of a query.
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

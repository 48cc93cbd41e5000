#include "store_testing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace pipescope::store::testing {
namespace fs = std::filesystem;

Folder::Folder() {
  // The folder is in memory if possible, because these tests sync folders some thousand times.
  const fs::path memory = "/dev/shm";
  const fs::path parent = access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  std::string name = (parent / "pipescope-store-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void writeFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// SplitMix64, which is small and gives the same numbers everywhere.
static std::uint64_t scramble(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15u;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
  n = (n ^ n >> 27) * 0x94d049bb133111ebu;
  return n ^ n >> 31;
}

std::int64_t integerValue(std::uint64_t n) {
  using Limits = std::numeric_limits<std::int64_t>;
  static constexpr std::array<std::int64_t, 14> extremes = {0,
                                                            -1,
                                                            1,
                                                            Limits::max(),
                                                            Limits::min(),
                                                            Limits::max() - 1,
                                                            Limits::min() + 1,
                                                            std::numeric_limits<std::int32_t>::max(),
                                                            std::numeric_limits<std::int32_t>::min(),
                                                            255,
                                                            256,
                                                            127,
                                                            -128,
                                                            1'000'000'000'000};
  if (n % 3 != 2) return extremes[n % extremes.size()];
  return static_cast<std::int64_t>(scramble(n) >> (n % 64));
}

double realValue(std::uint64_t n) {
  using Limits = std::numeric_limits<double>;
  static constexpr std::array<double, 12> extremes = {0.0,
                                                      -0.0,
                                                      1.0,
                                                      -1.5,
                                                      Limits::max(),
                                                      Limits::lowest(),
                                                      Limits::min(),
                                                      Limits::denorm_min(),
                                                      Limits::infinity(),
                                                      -Limits::infinity(),
                                                      9007199254740993.0,
                                                      0.1};
  if (n % 13 == 12) return Limits::quiet_NaN();
  return n % 3 != 2 ? extremes[n % extremes.size()] : static_cast<double>(scramble(n)) * 1e-7;
}

std::string textValue(std::uint64_t n) {
  switch (n % 8) {
    case 0:
      return "";
    case 1:
      return "conv1/forward";
    case 2:
      return std::string("a\0b", 3);
    case 3:
      return "Größe – 層";
    case 4:
      return "'\"; DROP TABLE device; --";
    case 5:
      return std::string("\xff\xfe", 2) + "no UTF-8";
    case 6:
      return std::string(5000 + n % 100, 'x');
    default:
      return "operator " + std::to_string(scramble(n));
  }
}

model::RowSet makeRowSet(std::size_t count, std::uint64_t seed) {
  model::RowSet set;
  model::forEachRowType([&]<class Row>() {
    // The store itself makes the nodes; pyramid_test.cpp checks them.
    if constexpr (!std::is_same_v<Row, model::LevelNode>) set.of<Row>() = makeRows<Row>(count, seed);
  });
  return set;
}

template <class Row>
static std::string renderRow(const Row& row) {
  std::string line = std::string(Row::kTable) + ":";
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, std::string>) {
      line += " '" + field + "'";
    } else if constexpr (std::is_same_v<Field, double>) {
      double value = field;
      // SQLite has no negative zero and only one not-a-number. Blocks keep every bit.
      if (Row::kStorage == model::Storage::plain && value == 0) value = 0;
      if (Row::kStorage == model::Storage::plain && std::isnan(value))
        value = std::numeric_limits<double>::quiet_NaN();
      line += fmt::format(" {:#x}", std::bit_cast<std::uint64_t>(value));
    } else {
      line += fmt::format(" {}", model::toInteger(field));
    }
  });
  return line;
}

std::vector<std::string> render(const model::RowSet& rows) {
  std::vector<std::string> lines;
  model::forEachRowType([&]<class Row>() {
    if constexpr (std::is_same_v<Row, model::LevelNode>) return;
    for (const Row& row : rows.of<Row>()) lines.push_back(renderRow(row));
  });
  return lines;
}

std::vector<std::string> readProfile(const fs::path& path) {
  const auto reader = ProfileReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  if (!reader.ok()) return {};
  const auto rows = (*reader)->everything();
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  return rows.ok() ? render(*rows) : std::vector<std::string>();
}

void writeProfile(const fs::path& path, const std::vector<model::RowSet>& batches) {
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  for (const model::RowSet& batch : batches) ASSERT_OK((*writer)->commit(batch));
  ASSERT_OK((*writer)->finish(model::ProfileState::complete, ""));
}

void runSql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message ? message : "");
  sqlite3_free(message);
  sqlite3_close(database);
}

std::vector<std::int64_t> selectNumbers(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  std::vector<std::int64_t> numbers;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  while (sqlite3_step(statement) == SQLITE_ROW) numbers.push_back(sqlite3_column_int64(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return numbers;
}

}  // namespace pipescope::store::testing

// Tests that profiler/store/tables.md and FORMAT.md agree with the code.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "profiler/store/blocks/column_codec.h"
#include "profiler/store/format.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(PIPESCOPE_SOURCE_DIR) / "profiler" / "store";

std::string textOf(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

const char* nameOf(model::ColumnType type) {
  return type == model::ColumnType::integer ? "integer" : type == model::ColumnType::real ? "real" : "text";
}

template <class Enum>
std::string vocabulary(const char* name) {
  std::string list;
  for (int i = 0; i < 64; ++i) {
    const std::string value = toString(static_cast<Enum>(i));
    if (value.starts_with("unknown")) break;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", i, value);
  }
  return fmt::format("| {} | {} |\n", name, list);
}

std::string tablesDocument() {
  std::string text = fmt::format(
      "# Tables of a profile, format {}\n\nMade from profiler/model/rows.h by "
      "tests/unit/store/document_test.cpp; do not edit. "
      "*Plain* tables are SQL tables with\nthese columns; *blocks* lie column by column in `store_payload` "
      "(FORMAT.md). A "
      "table's number is its `table_number`.\n",
      formatName(kUserVersion));
  for (std::size_t i = 0; i < model::kTableCount; ++i) {
    const model::Table& table = model::tables()[i];
    text +=
        fmt::format("\n## {} `{}`, {}\n\n{}.\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", i,
                    table.name, table.storage == model::Storage::plain ? "plain" : "blocks", table.doc);
    for (const model::Column& column : table.columns)
      text +=
          fmt::format("| `{}` | {} | {} | {} |\n", column.name, nameOf(column.type), column.unit, column.doc);
  }
  text +=
      "\n## Vocabularies\n\nNumbers of integer columns that name one; other numbers are unknown, not "
      "wrong.\n\n| name | values |\n|---|---|\n";
  text += vocabulary<model::Pass>("Pass") + vocabulary<model::StepKind>("StepKind") +
          vocabulary<model::LaneRole>("LaneRole") + vocabulary<model::ClockDomain>("ClockDomain") +
          vocabulary<model::ExecutableKind>("ExecutableKind") + vocabulary<model::WaitCause>("WaitCause") +
          vocabulary<model::TransferKind>("TransferKind") + vocabulary<model::Severity>("Severity") +
          vocabulary<model::OutcomeKind>("OutcomeKind") + vocabulary<model::LevelContent>("LevelContent") +
          vocabulary<model::MemoryPlace>("MemoryPlace") + vocabulary<model::ProfileState>("ProfileState") +
          vocabulary<model::ScheduleKind>("ScheduleKind") + vocabulary<model::TickMeaning>("TickMeaning");
  return text;
}

TEST(Document, TablesAreThoseOfTheRows) {
  if (const char* write = std::getenv("PIPESCOPE_WRITE_GOLDEN"); write != nullptr && *write == '1') {
    std::ofstream(kFolder / "tables.md") << tablesDocument();
    return;
  }
  EXPECT_EQ(textOf(kFolder / "tables.md"), tablesDocument())
      << "rows.h has changed: run unit_store --gtest_filter=Document.* with PIPESCOPE_WRITE_GOLDEN=1 and "
         "commit "
         "profiler/store/tables.md; raise kFormatMinor if files change";
}

TEST(Document, TheFormatNamesTheStoresOwnColumns) {
  const std::string text = textOf(kFolder / "FORMAT.md");
  EXPECT_NE(text.find(fmt::format("0x{:08x}", kApplicationId)), std::string::npos);
  static_assert(kMostRowsPerBlock == 16'384 && kShortBlock == 4096 && kMostRowsPerPayload == 65'536 &&
                kMostBlocksPerPayload == 16);
  EXPECT_NE(text.find("`rows` (1 … 16,384)"), std::string::npos);
  EXPECT_NE(text.find("no more than 4,096 are written"), std::string::npos);
  EXPECT_NE(text.find("Up to 16 blocks and 65,536 rows of one commit and table share a payload"),
            std::string::npos);
  for (const KnownTable& table : knownTables()) {
    if (!table.name.starts_with("store_")) continue;
    const std::size_t row = text.find("| `" + table.name + "`");
    ASSERT_NE(row, std::string::npos) << table.name;
    const std::string line = text.substr(row, text.find('\n', row) - row);
    // Columns as the CREATE statement names them.
    for (std::size_t at = table.create.find("(\""); at != std::string::npos;
         at = table.create.find(", \"", at + 1)) {
      const std::size_t first = table.create.find('"', at) + 1;
      const std::string column = table.create.substr(first, table.create.find('"', first) - first);
      EXPECT_NE(line.find("`" + column + "`"), std::string::npos) << table.name << "." << column;
    }
  }
}

TEST(Document, TheFormatNamesEveryCoding) {
  const std::string text = textOf(kFolder / "FORMAT.md");
  const auto row = [&](const std::string& type) {
    const std::size_t start = text.find("\n| " + type + " |");
    const std::size_t next = text.find("\n| real |", start + 1);
    return start == std::string::npos ? std::string()
                                      : text.substr(start, next == std::string::npos ? next : next - start);
  };
  for (const auto& [coding, words] :
       {std::pair(IntegerCoding::constant, "constant"), std::pair(IntegerCoding::plainBytes, "plain bytes"),
        std::pair(IntegerCoding::deltaBytes, "delta bytes"),
        std::pair(IntegerCoding::zigZagBytes, "zig-zag bytes"),
        std::pair(IntegerCoding::predicted, "predicted")}) {
    EXPECT_NE(row("integer").find(fmt::format("{} {}", static_cast<int>(coding), words)), std::string::npos)
        << words;
  }
  EXPECT_NE(row("integer").find(fmt::format("{}, {} varints", static_cast<int>(IntegerCoding::plainVarint),
                                            static_cast<int>(IntegerCoding::deltaVarint))),
            std::string::npos);
}

}  // namespace
}  // namespace pipescope::store::testing

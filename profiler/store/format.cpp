#include "profiler/store/format.h"

#include <fmt/format.h>

namespace pipescope::store {
namespace {

const char* sqlType(model::ColumnType type) {
  switch (type) {
    case model::ColumnType::integer:
      return "INTEGER NOT NULL";
    case model::ColumnType::real:
      return "REAL";  // SQLite stores not-a-number as NULL.
    case model::ColumnType::text:
      return "TEXT NOT NULL";
  }
  return "";
}

std::string columnList(const model::Table& table, bool withTypes) {
  std::string list;
  for (const model::Column& column : table.columns) {
    if (!list.empty()) list += ", ";
    list += fmt::format("\"{}\"", column.name);
    if (withTypes) list += fmt::format(" {}", sqlType(column.type));
  }
  return list;
}

std::vector<KnownTable> makeKnownTables() {
  std::vector<KnownTable> result = {
      {"store_state",
       "CREATE TABLE \"store_state\"(\"id\" INTEGER PRIMARY KEY, \"state\" INTEGER NOT NULL, "
       "\"reason\" TEXT NOT NULL, \"commits\" INTEGER NOT NULL, \"last_commit_utc\" TEXT NOT NULL, "
       "\"writer_host\" TEXT NOT NULL, \"writer_boot\" TEXT NOT NULL, \"writer_pid\" INTEGER NOT NULL, "
       "\"writer_start\" INTEGER NOT NULL, \"crc32\" INTEGER NOT NULL)"},
      {"store_table",
       "CREATE TABLE \"store_table\"(\"number\" INTEGER PRIMARY KEY, \"name\" TEXT NOT NULL, "
       "\"rows\" INTEGER NOT NULL, \"blocks\" INTEGER NOT NULL, \"rows_crc32\" INTEGER NOT NULL, "
       "\"crc32\" INTEGER NOT NULL)"},
      {"store_block",
       "CREATE TABLE \"store_block\"(\"id\" INTEGER PRIMARY KEY, \"table_number\" INTEGER NOT NULL, "
       "\"first_row\" INTEGER NOT NULL, \"rows\" INTEGER NOT NULL, \"has_time\" INTEGER NOT NULL, "
       "\"start\" INTEGER NOT NULL, \"end\" INTEGER NOT NULL, \"ranges\" BLOB NOT NULL, "
       "\"payload\" INTEGER NOT NULL, \"prior_bytes\" INTEGER NOT NULL, \"offset\" INTEGER NOT NULL, "
       "\"bytes\" INTEGER NOT NULL, \"raw_bytes\" INTEGER NOT NULL, \"bytes_crc32\" INTEGER NOT NULL, "
       "\"crc32\" INTEGER NOT NULL)"},
      {"store_payload",
       "CREATE TABLE \"store_payload\"(\"id\" INTEGER PRIMARY KEY, \"payload\" BLOB NOT NULL)"}};
  for (std::size_t number = 0; number < model::kTableCount; ++number) {
    const model::Table& table = model::tables()[number];
    if (table.storage != model::Storage::plain) continue;
    // Older programs write notes, too, so they must know all columns.
    const bool mayGrow = number != model::tableIndexOf<model::Note>();
    result.push_back({table.name, fmt::format("CREATE TABLE \"{}\"({})", table.name, columnList(table, true)),
                      mayGrow, number});
  }
  return result;
}

/// True for `, "name" TYPE` once or several times, followed by a parenthesis.
bool isMoreColumns(std::string_view text) {
  const auto skip = [&](std::string_view word) {
    const bool found = text.starts_with(word);
    if (found) text.remove_prefix(word.size());
    return found;
  };
  while (skip(", \"")) {
    const std::size_t length = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || length == std::string_view::npos) return false;
    text.remove_prefix(length);
    if (!skip("\" INTEGER NOT NULL") && !skip("\" REAL") && !skip("\" TEXT NOT NULL")) return false;
  }
  return text == ")";
}

}  // namespace

std::string formatName(std::uint32_t userVersion) {
  return fmt::format("{}.{}", userVersion / 1000, userVersion % 1000);
}

bool isDefinition(const KnownTable& table, std::string_view create) {
  if (create == table.create) return true;
  if (!table.mayGrow || !create.ends_with(')')) return false;
  const std::string_view known(table.create);
  const std::string_view shorter = create.size() < known.size() ? create : known;
  const std::string_view longer = create.size() < known.size() ? known : create;
  const std::string_view common = shorter.substr(0, shorter.size() - 1);
  return longer.starts_with(common) && isMoreColumns(longer.substr(common.size()));
}

const std::vector<KnownTable>& knownTables() {
  static const std::vector<KnownTable> all = makeKnownTables();
  return all;
}

std::string insertStatement(const model::Table& table, std::size_t rows) {
  std::string parameters, all;
  for (std::size_t i = 0; i < table.columns.size(); ++i) parameters += i == 0 ? "?" : ", ?";
  for (std::size_t i = 0; i < rows; ++i) all += (i == 0 ? "(" : ", (") + parameters + ")";
  // OR FAIL saves SQLite a point of return for each statement. Nobody needs it: after an error the whole
  // transaction is rolled back.
  return fmt::format("INSERT OR FAIL INTO \"{}\"({}) VALUES {}", table.name, columnList(table, false), all);
}

std::string selectStatement(const model::Table& table) {
  return fmt::format("SELECT * FROM \"{}\" ORDER BY rowid LIMIT ?1", table.name);
}

}  // namespace pipescope::store

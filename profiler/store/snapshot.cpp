#include "profiler/store/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace pipescope::store {
namespace {

// Reads integers from a row whose types damage may have changed.
class FieldReader {
 public:
  explicit FieldReader(const Statement& row) : row_(row) {}
  std::int64_t integer() {
    valid_ = valid_ && row_.type(column_) == SQLITE_INTEGER;
    return row_.integer(column_++);
  }
  std::uint32_t crc() { return static_cast<std::uint32_t>(integer()); }
  std::string text() {
    valid_ = valid_ && row_.type(column_) == SQLITE_TEXT;
    return std::string(row_.text(column_++));
  }
  std::string blob() {
    valid_ = valid_ && row_.type(column_) == SQLITE_BLOB;
    return std::string(row_.blob(column_++));
  }
  bool valid() const { return valid_; }

 private:
  const Statement& row_;
  int column_ = 0;
  bool valid_ = true;
};

constexpr const char* kReading = "reading its directory";

// Every SQL row of a profile takes more bytes. A count that exceeds this bound would only make a reader
// reserve memory.
constexpr std::int64_t kLeastRowBytes = 8;

bool isDamage(const base::Error& error) {
  return error.kind == base::ErrorKind::badInput;
}

base::Error foreignLayout(const std::string& path, std::string_view what) {
  return base::badInput(
      fmt::format("{} {}, unlike a profile of format {}, so it is not read. Run again with this "
                  "pipescope to make a new profile.",
                  path, what, formatName(kUserVersion)));
}

base::Status loadState(Database& database, Snapshot& snapshot) {
  PIPESCOPE_ASSIGN(
      Statement rows,
      database.prepare("SELECT \"state\", \"reason\", \"commits\", \"last_commit_utc\", \"writer_host\", "
                       "\"writer_boot\", \"writer_pid\", \"writer_start\", \"crc32\" FROM \"store_state\" "
                       "WHERE \"id\" = 1",
                       kReading));
  const base::Result<bool> found = rows.step();
  if (!found.ok() && !isDamage(found.error())) return found.error();
  Totals totals;
  bool valid = found.ok() && *found;
  if (valid) {
    FieldReader row(rows);
    const std::int64_t state = row.integer();
    totals.state = static_cast<model::ProfileState>(state);
    totals.reason = row.text();
    totals.commits = row.integer();
    totals.lastCommitUtc = row.text();
    totals.writer.host = row.text();
    totals.writer.boot = row.text();
    totals.writer.pid = row.integer();
    totals.writer.start = row.integer();
    const std::uint32_t crc = row.crc();
    valid = row.valid() && state >= 0 && crc == checksumOfState(totals);
    if (state > static_cast<std::int64_t>(model::ProfileState::incomplete)) {
      totals.state = model::ProfileState::incomplete;
      totals.reason = fmt::format("its run ended in a way that this pipescope does not know ({}{}{})", state,
                                  totals.reason.empty() ? "" : ": ", totals.reason);
    }
  }
  if (!valid) {
    snapshot.state = {model::ProfileState::incomplete, "the entry that says how the run ended is damaged"};
    snapshot.damage.push_back(snapshot.state.reason);
    return {};
  }
  snapshot.commits = totals.commits;
  snapshot.state = {totals.state, totals.reason};
  snapshot.lastCommitUtc = totals.lastCommitUtc;
  snapshot.writer = totals.writer;
  return {};
}

/// `known` tables belong to the format of the file; those after them are empty.
base::Status loadTables(Database& database, std::size_t known, Snapshot& snapshot) {
  for (std::size_t place = 0; place < snapshot.tables.size(); ++place) {
    TableContent& table = snapshot.tables[place];
    table.totals = {};
    table.problem = place < known ? "its entry in store_table is damaged or missing" : "";
  }
  PIPESCOPE_ASSIGN(Statement rows,
                   database.prepare("SELECT \"number\", \"name\", \"rows\", \"blocks\", "
                                    "\"rows_crc32\", \"crc32\" FROM \"store_table\" LIMIT 1000",
                                    kReading));
  const std::int64_t fileSize = database.fileSize();
  for (;;) {
    const base::Result<bool> found = rows.step();
    if (!found.ok() && !isDamage(found.error())) return found.error();
    if (!found.ok() || !*found) return {};
    FieldReader row(rows);
    const std::int64_t number = row.integer();
    const std::string name = row.text();
    TableTotals totals{row.integer(), row.integer(), row.crc()};
    const std::uint32_t crc = row.crc();
    if (!row.valid() || number < 0 || number >= static_cast<std::int64_t>(model::kTableCount)) continue;
    if (number >= static_cast<std::int64_t>(known)) {
      snapshot.damage.push_back(
          fmt::format("the file has a table {}, which its format does not have: the number of its format is "
                      "damaged",
                      name));
    }
    const auto place = static_cast<std::size_t>(number);
    const bool plain = model::tables()[place].storage == model::Storage::plain;
    const bool possible = totals.rows >= 0 && totals.blocks >= 0 &&
                          totals.blocks <= fileSize / kLeastRowBytes &&
                          (!plain || totals.rows <= fileSize / kLeastRowBytes);
    if (crc != checksumOf(number, name, totals) || name != model::tables()[place].name || !possible) continue;
    snapshot.tables[place].totals = totals;
    snapshot.tables[place].problem.clear();
  }
}

bool isLength(std::int64_t bytes) {
  return bytes >= 0 && bytes <= kMostBytes;
}

bool hasValidFields(const BlockRecord& record) {
  if (record.table < 0 || record.table >= static_cast<std::int64_t>(model::kTableCount)) return false;
  const model::Table& table = model::tables()[static_cast<std::size_t>(record.table)];
  constexpr std::size_t kMostRangeBytes = 21;  // a flag and two varints or reals
  constexpr std::size_t kMostColumns = 255;    // a newer minor may have more than this program knows
  return table.storage == model::Storage::blocks && record.firstRow >= 0 && record.info.rows > 0 &&
         record.info.rows <= static_cast<std::int64_t>(kMostRowsPerBlock) &&
         record.firstRow <= std::numeric_limits<std::int64_t>::max() - record.info.rows &&
         record.ranges.size() <= kMostRangeBytes * kMostColumns && isLength(record.rawBytes) &&
         isLength(record.priorBytes) && isLength(record.offset) && isLength(record.bytes);
}

// Returns false if the row is not what was written, or cannot be.
bool readRecord(const Statement& rows, BlockRecord& record) {
  FieldReader row(rows);
  record.id = row.integer();
  record.table = row.integer();
  record.firstRow = row.integer();
  record.info.firstRow = record.firstRow;
  record.info.rows = row.integer();
  const std::int64_t hasTime = row.integer();
  record.info.hasTime = hasTime != 0;
  record.info.start = model::Ticks(row.integer());
  record.info.end = model::Ticks(row.integer());
  record.ranges = row.blob();
  record.payload = row.integer();
  record.priorBytes = row.integer();
  record.offset = row.integer();
  record.bytes = row.integer();
  record.rawBytes = row.integer();
  record.bytesCrc32 = row.crc();
  const std::uint32_t crc = row.crc();
  return row.valid() && crc == checksumOf(record) && (hasTime == 0 || hasTime == 1) && hasValidFields(record);
}

base::Status loadBlocks(Database& database, Snapshot& snapshot) {
  PIPESCOPE_ASSIGN(
      Statement rows,
      database.prepare(
          "SELECT \"id\", \"table_number\", \"first_row\", \"rows\", \"has_time\", \"start\", \"end\", "
          "\"ranges\", \"payload\", \"prior_bytes\", \"offset\", \"bytes\", \"raw_bytes\", \"bytes_crc32\", "
          "\"crc32\" "
          "FROM \"store_block\" WHERE \"id\" > ?1 ORDER BY \"id\" LIMIT ?2",
          kReading));
  rows.bind(1, snapshot.lastBlock);
  rows.bind(2, database.fileSize() / kLeastRowBytes);
  for (;;) {
    const base::Result<bool> found = rows.step();
    if (!found.ok() && !isDamage(found.error())) return found.error();
    if (!found.ok() || !*found) return {};  // Rows that damage hides are missing below and are named there.
    BlockRecord record;
    if (!readRecord(rows, record)) continue;
    snapshot.lastBlock = std::max(snapshot.lastBlock, record.id);
    snapshot.tables[static_cast<std::size_t>(record.table)].blocks.push_back({std::move(record), {}});
  }
}

BlockEntry hole(std::int64_t firstRow, std::int64_t endRow) {
  BlockEntry entry;
  entry.record.firstRow = entry.record.info.firstRow = firstRow;
  entry.problem =
      fmt::format("rows {} to {} are lost, because the directory of blocks is damaged", firstRow, endRow - 1);
  return entry;
}

// Adds a hole wherever the rows of consecutive blocks leave a gap.
void nameHoles(TableContent& table) {
  std::vector<BlockEntry> all;
  std::int64_t next = 0;
  for (BlockEntry& entry : table.blocks) {
    if (!entry.problem.empty() || entry.record.firstRow < next) continue;
    if (entry.record.firstRow > next) all.push_back(hole(next, entry.record.firstRow));
    next = entry.record.firstRow + entry.record.info.rows;
    all.push_back(std::move(entry));
  }
  if (next < table.totals.rows) all.push_back(hole(next, table.totals.rows));
  table.blocks = std::move(all);
}

// The missing end may consist of pages that nobody needs, or of pages that the directory does not miss.
base::Status nameMissingEnd(Database& database, Snapshot& snapshot) {
  PIPESCOPE_ASSIGN(const FileHeader header, database.header());
  const std::int64_t bytes = database.fileSize();
  if (bytes >= header.bytes) return {};
  snapshot.damage.push_back(
      fmt::format("the file's end is missing: it has {} of {} bytes", bytes, header.bytes));
  if (snapshot.state.state != model::ProfileState::incomplete)
    snapshot.state = {model::ProfileState::incomplete, snapshot.damage.back()};
  return {};
}

}  // namespace

base::Status checkSchema(Database& database) {
  PIPESCOPE_ASSIGN(const FileHeader header, database.header());
  std::map<std::string_view, const KnownTable*> expected;
  std::size_t wanted = 0;
  for (const KnownTable& table : knownTables()) {
    expected[table.name] = &table;
    wanted += !table.mayGrow || table.tableNumber < tableCountOf(header.userVersion) ? 1 : 0;
  }
  PIPESCOPE_ASSIGN(
      Statement rows,
      database.prepare("SELECT \"type\", \"name\", \"tbl_name\", \"sql\" FROM sqlite_schema LIMIT 10000",
                       kReading));
  std::size_t found = 0;
  for (;;) {
    PIPESCOPE_ASSIGN(const bool any, rows.step());
    if (!any) break;
    const std::string_view type = rows.text(0), name = rows.text(1), table = rows.text(2), sql = rows.text(3);
    if (type == "view" || type == "trigger") {
      return foreignLayout(database.path(), fmt::format("has a {} ({})", type, name));
    }
    const auto known = expected.find(table);
    if (known == expected.end()) {
      if (type == "table" && sql.starts_with("CREATE VIRTUAL")) {
        return foreignLayout(database.path(), fmt::format("has a virtual table ({})", name));
      }
      continue;
    }
    if (type != "table" || name != table || !isDefinition(*known->second, sql)) {
      return foreignLayout(database.path(),
                           fmt::format("has another definition of table {} ({})", table, name));
    }
    ++found;
  }
  if (found < wanted) {
    return foreignLayout(database.path(), fmt::format("has {} of the {} tables", found, wanted));
  }
  return {};
}

base::Result<Snapshot> loadSnapshot(Database& database, const Snapshot* earlier) {
  Snapshot snapshot;
  if (earlier != nullptr) snapshot = *earlier;
  snapshot.damage.clear();
  PIPESCOPE_TRY(loadState(database, snapshot));
  PIPESCOPE_TRY(nameMissingEnd(database, snapshot));
  PIPESCOPE_ASSIGN(const FileHeader header, database.header());
  PIPESCOPE_TRY(loadTables(database, tableCountOf(header.userVersion), snapshot));
  PIPESCOPE_TRY(loadBlocks(database, snapshot));
  for (TableContent& table : snapshot.tables) nameHoles(table);
  return snapshot;
}

base::Result<std::int64_t> readCommits(Database& database) {
  PIPESCOPE_ASSIGN(Statement rows,
                   database.prepare("SELECT \"commits\" FROM \"store_state\" WHERE \"id\" = 1", kReading));
  PIPESCOPE_ASSIGN(const bool found, rows.step());
  return found ? rows.integer(0) : 0;
}

}  // namespace pipescope::store

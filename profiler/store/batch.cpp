#include "profiler/store/batch.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <tuple>

#include "profiler/store/row_columns.h"

namespace pipescope::store {
namespace {

constexpr const char* kAdding = "adding rows";

// Rows with long texts make shorter blocks, so that reading one never takes much memory.
constexpr std::size_t kBlockTextBytes = std::size_t{8} << 20;

template <class Row>
base::Status insertRows(Database& database, const std::vector<Row>& rows) {
  PIPESCOPE_ASSIGN(Statement insert,
                   database.prepare(insertStatement(model::tables()[model::tableIndexOf<Row>()]), kAdding));
  for (const Row& row : rows) {
    bindRow(insert, row);
    PIPESCOPE_TRY(insert.run());
  }
  return {};
}

template <class Row>
void countRows(const std::vector<Row>& rows, TableTotals& totals) {
  Checksum checksum(totals.rowsCrc32);
  for (const Row& row : rows) addToChecksum(row, checksum);
  totals.rowsCrc32 = checksum.value();
  totals.rows += static_cast<std::int64_t>(rows.size());
}

/// Nodes of different levels are never asked for together.
template <class Row>
bool sharesBlock(const Row& first, const Row& other) {
  if constexpr (requires { first.content, first.level; }) {
    return first.content == other.content && first.level == other.level;
  } else {
    return true;
  }
}

constexpr std::size_t kLong = kMostRowsPerBlock / 4;  // rows of a segment that may have blocks of its own

/// True where row `at` begins a segment and it, or the one before it, is long: a block that is a segment's alone says
/// with its ranges where in the segment its rows lie, so that a question about a stretch need not read it.
template <class Row>
bool beginsLongSegment(std::span<const Row> rows, std::size_t at) {
  if constexpr (requires { rows[at].segment, rows[at].offset; }) {
    if (at == 0 || rows[at].segment == rows[at - 1].segment) return false;
    const bool after = rows.size() - at >= kLong && rows[at + kLong - 1].segment == rows[at].segment;
    return after || (at >= kLong && rows[at - kLong].segment == rows[at - 1].segment);
  } else {
    return false;
  }
}

/// Rows from `at` on that are certainly of one segment, whose rows follow each other: they need not be looked at one by
/// one, which takes as long as reading all of them from memory.
template <class Row>
std::size_t rowsOfOneSegment(std::span<const Row> rows, std::size_t at) {
  if constexpr (requires { rows[at].segment, rows[at].offset; }) {
    if (rows.size() - at >= kLong && rows[at + kLong - 1].segment == rows[at].segment) return kLong;
  }
  return 1;
}

template <class Row>
std::size_t blockLength(std::span<const Row> rows) {
  const std::size_t most = std::min(rows.size(), kMostRowsPerBlock);
  std::size_t count = 0, textBytes = 0;
  while (count < most) {
    if (count > 0 && !sharesBlock(rows[0], rows[count])) break;
    if (beginsLongSegment(rows, count)) break;
    textBytes += textBytesOf(rows[count]);
    if (count > 0 && textBytes > kBlockTextBytes) break;
    count += rowsOfOneSegment(rows, count);
  }
  return std::min(count, most);
}

/// The blocks of a batch, first described, then coded.
class BlockPlan {
 public:
  explicit BlockPlan(Totals& totals) : totals_(totals) {}

  template <class Row>
  void add(std::span<const Row> rows) {
    constexpr std::size_t kNumber = model::tableIndexOf<Row>();
    TableTotals& table = totals_.tables[kNumber];
    static const std::vector<Prediction> predictions = predictionsFor(model::columnsOf<Row>());
    for (std::span<const Row> left = rows; !left.empty();) {
      const std::span<const Row> block = left.first(blockLength(left));
      BlockRecord record;
      record.id = totals_.nextBlock++;
      record.table = kNumber;
      record.firstRow = table.rows;
      record.info = describe(block);
      table.rows += record.info.rows;
      ++table.blocks;
      blocks_.push_back({std::move(record), {}});
      BlockJob& job = jobs_.emplace_back();
      job.table = kNumber;
      job.rows = block.size();
      job.toColumns = [block](std::vector<ColumnData>& columns) { toColumns(block, columns); };
      job.predictions = &predictions;
      left = left.subspan(block.size());
    }
  }

  base::Status code(BlockCoder& coder, const std::string& path, std::vector<PreparedBlock>& blocks,
                    const std::function<void()>& beside = {}) {
    coder.code(jobs_, beside);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      base::Result<EncodedBlock>& encoded = jobs_[i].result;
      if (!encoded.ok()) {
        return base::Error{encoded.error().kind,
                           fmt::format("{}: the rows of table {} make {}.", path, model::tables()[jobs_[i].table].name,
                                       encoded.error().message)};
      }
      BlockRecord& record = blocks_[i].record;
      record.ranges = std::move(encoded->ranges);
      record.rawBytes = encoded->rawBytes;
      record.payloadBytes = static_cast<std::int64_t>(encoded->payload.size());
      record.payloadCrc32 = Checksum().bytes(encoded->payload).value();
      blocks_[i].payload = std::move(encoded->payload);
      blocks.push_back(std::move(blocks_[i]));
    }
    return {};
  }

 private:
  Totals& totals_;
  std::vector<PreparedBlock> blocks_;
  std::vector<BlockJob> jobs_;
};

base::Status insertBlocks(Database& database, const std::vector<PreparedBlock>& blocks) {
  if (blocks.empty()) return {};
  PIPESCOPE_ASSIGN(
      Statement directory,
      database.prepare("INSERT INTO \"store_block\" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kAdding));
  PIPESCOPE_ASSIGN(Statement payload,
                   database.prepare("INSERT INTO \"store_payload\" VALUES (?, ?)", kAdding));
  for (const PreparedBlock& block : blocks) {
    const BlockRecord& record = block.record;
    int parameter = 0;
    for (const std::int64_t number :
         {record.id, record.table, record.firstRow, record.info.rows, std::int64_t{record.info.hasTime},
          record.info.start.count, record.info.end.count}) {
      directory.bind(++parameter, number);
    }
    directory.bindBlob(++parameter, record.ranges);
    for (const std::int64_t number : {record.rawBytes, record.payloadBytes, std::int64_t{record.payloadCrc32},
                                      std::int64_t{checksumOf(record)}}) {
      directory.bind(++parameter, number);
    }
    PIPESCOPE_TRY(directory.run());
    payload.bind(1, record.id);
    payload.bindBlob(2, block.payload);
    PIPESCOPE_TRY(payload.run());
  }
  return {};
}

}  // namespace

std::uint32_t checksumOf(const BlockRecord& block) {
  return Checksum()
      .integer(block.id)
      .integer(block.table)
      .integer(block.firstRow)
      .integer(block.info.rows)
      .integer(block.info.hasTime)
      .integer(block.info.start.count)
      .integer(block.info.end.count)
      .text(block.ranges)
      .integer(block.rawBytes)
      .integer(block.payloadBytes)
      .integer(block.payloadCrc32)
      .value();
}

std::uint32_t checksumOf(std::int64_t number, const std::string& name, const TableTotals& totals) {
  return Checksum()
      .integer(number)
      .text(name)
      .integer(totals.rows)
      .integer(totals.blocks)
      .integer(totals.rowsCrc32)
      .value();
}

std::uint32_t checksumOfState(const Totals& totals) {
  return Checksum()
      .integer(static_cast<std::int64_t>(totals.state))
      .text(totals.reason)
      .integer(totals.commits)
      .text(totals.lastCommitUtc)
      .text(totals.writer.host)
      .text(totals.writer.boot)
      .integer(totals.writer.pid)
      .integer(totals.writer.start)
      .value();
}

base::Result<Batch> Batch::prepare(std::span<const model::RowSet> sets,
                                   const std::function<std::span<model::LevelNode>()>& makeNodes, BlockCoder& coder,
                                   const std::string& path, Totals& totals) {
  Batch batch;
  BlockPlan plan(totals), nodePlan(totals);
  model::forEachRowType([&]<class Row>() {
    for (const model::RowSet& rows : sets) {
      const std::vector<Row>& added = rows.of<Row>();
      if constexpr (Row::kStorage == model::Storage::plain) {
        countRows(added, totals.tables[model::tableIndexOf<Row>()]);
        batch.rows_.of<Row>().insert(batch.rows_.of<Row>().end(), added.begin(), added.end());
      } else if constexpr (!std::is_same_v<Row, model::LevelNode>) {
        plan.add(std::span<const Row>(added));
      }
    }
  });
  std::span<model::LevelNode> nodes;
  PIPESCOPE_TRY(plan.code(coder, path, batch.blocks_, [&] { nodes = makeNodes(); }));
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.content, a.level) < std::tie(b.content, b.level);
  });
  nodePlan.add(std::span<const model::LevelNode>(nodes));
  PIPESCOPE_TRY(nodePlan.code(coder, path, batch.blocks_));
  return batch;
}

base::Status Batch::write(Database& database) const {
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    if constexpr (Row::kStorage == model::Storage::plain) {
      if (status.ok() && !rows_.of<Row>().empty()) status = insertRows(database, rows_.of<Row>());
    }
  });
  PIPESCOPE_TRY(status);
  return insertBlocks(database, blocks_);
}

std::int64_t Batch::payloadBytes() const {
  std::int64_t bytes = 0;
  for (const PreparedBlock& block : blocks_) bytes += block.record.payloadBytes;
  return bytes;
}

base::Status writeTables(Database& database, const Totals& totals) {
  PIPESCOPE_ASSIGN(
      Statement insert,
      database.prepare("INSERT OR REPLACE INTO \"store_table\" VALUES (?, ?, ?, ?, ?, ?)", kAdding));
  for (std::size_t i = 0; i < model::kTableCount; ++i) {
    const std::string name = model::tables()[i].name;
    const TableTotals& table = totals.tables[i];
    const auto number = static_cast<std::int64_t>(i);
    insert.bind(1, number);
    insert.bindText(2, name);
    insert.bind(3, table.rows);
    insert.bind(4, table.blocks);
    insert.bind(5, table.rowsCrc32);
    insert.bind(6, checksumOf(number, name, table));
    PIPESCOPE_TRY(insert.run());
  }
  return {};
}

base::Status writeState(Database& database, Totals& totals) {
  ++totals.commits;
  totals.lastCommitUtc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  PIPESCOPE_ASSIGN(
      Statement insert,
      database.prepare("INSERT OR REPLACE INTO \"store_state\" VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       kAdding));
  insert.bind(1, static_cast<std::int64_t>(totals.state));
  insert.bindText(2, totals.reason);
  insert.bind(3, totals.commits);
  insert.bindText(4, totals.lastCommitUtc);
  insert.bindText(5, totals.writer.host);
  insert.bindText(6, totals.writer.boot);
  insert.bind(7, totals.writer.pid);
  insert.bind(8, totals.writer.start);
  insert.bind(9, checksumOfState(totals));
  return insert.run();
}

}  // namespace pipescope::store

#include "profiler/store/batch.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <tuple>
#include <utility>

#include "profiler/store/blocks/payload_choice.h"
#include "profiler/store/blocks/row_columns.h"

namespace pipescope::store {
namespace {

constexpr const char* kAdding = "adding rows";

/// Inserts `atOnce` rows with each statement. The number of rows must be a multiple of `atOnce`.
template <class Row>
base::Status insertRows(Database& database, std::span<const Row> rows, std::size_t atOnce) {
  if (rows.empty()) return {};
  const model::Table& table = model::tables()[model::tableIndexOf<Row>()];
  PIPESCOPE_ASSIGN(Statement insert, database.prepare(insertStatement(table, atOnce), kAdding));
  for (; !rows.empty(); rows = rows.subspan(atOnce)) {
    int parameter = 0;
    for (const Row& row : rows.first(atOnce)) parameter = bindRow(insert, row, parameter);
    PIPESCOPE_TRY(insert.run());
  }
  return {};
}

template <class Row>
base::Status insertAll(Database& database, const std::vector<Row>& rows) {
  // Statements cost more than rows, but a long one must pay for being compiled.
  constexpr std::size_t kAtOnce = 64;
  const std::span<const Row> all(rows);
  const std::size_t together = all.size() < 4 * kAtOnce ? 0 : all.size() / kAtOnce * kAtOnce;
  PIPESCOPE_TRY(insertRows(database, all.first(together), kAtOnce));
  return insertRows(database, all.subspan(together), 1);
}

template <class Row>
void countRows(const std::vector<Row>& rows, TableTotals& totals) {
  Checksum checksum(totals.rowsCrc32);
  for (const Row& row : rows) addToChecksum(row, checksum);
  totals.rowsCrc32 = checksum.value();
  totals.rows += static_cast<std::int64_t>(rows.size());
}

template <class Row>
void keepRows(const std::vector<Row>& from, std::vector<Row>& into) {
  into.insert(into.end(), from.begin(), from.end());
}

/// Moves the rows, because those of a large system take much memory.
template <class Row>
void keepRows(std::vector<Row>& from, std::vector<Row>& into) {
  if (into.empty()) {
    into = std::exchange(from, {});
    return;
  }
  into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

base::Status insertPayloads(Database& database, const std::vector<PreparedPayload>& payloads) {
  if (payloads.empty()) return {};
  PIPESCOPE_ASSIGN(
      Statement directory,
      database.prepare("INSERT INTO \"store_block\" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       kAdding));
  PIPESCOPE_ASSIGN(Statement insert,
                   database.prepare("INSERT INTO \"store_payload\" VALUES (?, ?)", kAdding));
  for (const PreparedPayload& payload : payloads) {
    for (const BlockRecord& record : payload.blocks) {
      int parameter = 0;
      for (const std::int64_t number :
           {record.id, record.table, record.firstRow, record.info.rows, std::int64_t{record.info.hasTime},
            record.info.start.count, record.info.end.count}) {
        directory.bind(++parameter, number);
      }
      directory.bindBlob(++parameter, record.ranges);
      for (const std::int64_t number :
           {record.payload, record.priorBytes, record.offset, record.bytes, record.rawBytes,
            std::int64_t{record.bytesCrc32}, std::int64_t{checksumOf(record)}}) {
        directory.bind(++parameter, number);
      }
      PIPESCOPE_TRY(directory.run());
    }
    insert.bind(1, payload.blocks[0].id);
    insert.bindBlob(2, payload.bytes);
    PIPESCOPE_TRY(insert.run());
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
      .integer(block.payload)
      .integer(block.priorBytes)
      .integer(block.offset)
      .integer(block.bytes)
      .integer(block.rawBytes)
      .integer(block.bytesCrc32)
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

template <class Set>
base::Result<CodedBatch> CodedBatch::prepareSets(
    std::span<Set> sets, const std::function<std::span<model::LevelNode>()>& makeNodes, BlockCoder& coder,
    const std::string& path, Totals& totals) {
  CodedBatch batch;
  PayloadChoice plan(totals), nodePlan(totals);
  model::forEachRowType([&]<class Row>() {
    for (const model::RowSet& rows : sets) {
      const std::vector<Row>& added = rows.of<Row>();
      if constexpr (Row::kStorage == model::Storage::plain) {
        countRows(added, totals.tables[model::tableIndexOf<Row>()]);
      } else if constexpr (!std::is_same_v<Row, model::LevelNode>) {
        plan.add(std::span<const Row>(added));
      }
    }
  });
  std::vector<PreparedPayload> ofNodes;
  base::Status nodesCoded;
  const auto codeNodes = [&] {
    const std::span<model::LevelNode> nodes = makeNodes();
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
      return std::tie(a.content, a.level) < std::tie(b.content, b.level);
    });
    nodePlan.add(std::span<const model::LevelNode>(nodes));
    nodesCoded = nodePlan.codeHere(coder, path, ofNodes);
  };
  PIPESCOPE_TRY(plan.code(coder, path, batch.payloads_, codeNodes));
  PIPESCOPE_TRY(nodesCoded);
  std::ranges::move(ofNodes, std::back_inserter(batch.payloads_));
  // The nodes were made of all rows, so only now may sets lose some.
  model::forEachRowType([&]<class Row>() {
    if constexpr (Row::kStorage == model::Storage::plain) {
      for (Set& rows : sets) keepRows(rows.template of<Row>(), batch.rows_.of<Row>());
    }
  });
  return batch;
}

base::Result<CodedBatch> CodedBatch::prepare(std::span<const model::RowSet> sets,
                                             const std::function<std::span<model::LevelNode>()>& makeNodes,
                                             BlockCoder& coder, const std::string& path, Totals& totals) {
  return prepareSets(sets, makeNodes, coder, path, totals);
}

base::Result<CodedBatch> CodedBatch::prepare(std::span<model::RowSet> sets,
                                             const std::function<std::span<model::LevelNode>()>& makeNodes,
                                             BlockCoder& coder, const std::string& path, Totals& totals) {
  return prepareSets(sets, makeNodes, coder, path, totals);
}

base::Status CodedBatch::write(Database& database) const {
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    if constexpr (Row::kStorage == model::Storage::plain) {
      if (status.ok() && !rows_.of<Row>().empty()) status = insertAll(database, rows_.of<Row>());
    }
  });
  PIPESCOPE_TRY(status);
  return insertPayloads(database, payloads_);
}

std::int64_t CodedBatch::payloadBytes() const {
  std::int64_t bytes = 0;
  for (const PreparedPayload& payload : payloads_) bytes += static_cast<std::int64_t>(payload.bytes.size());
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

#pragma once
// Decides which rows of a commit form a block and which blocks share a payload.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "profiler/store/batch.h"
#include "profiler/store/blocks/block_coder.h"
#include "profiler/store/blocks/row_columns.h"
#include "profiler/store/format.h"

namespace pipescope::store {

// Rows with long texts form shorter blocks and payloads, so that reading one never takes much memory.
inline constexpr std::size_t kBlockTextBytes = std::size_t{8} << 20;

/// Nodes of different levels are never needed together, so they do not share a block.
template <class Row>
bool sharesBlock(const Row& first, const Row& other) {
  if constexpr (requires { first.content, first.level; }) {
    return first.content == other.content && first.level == other.level;
  } else {
    return true;
  }
}

inline constexpr std::size_t kLong = kShortBlock;  // a segment with so many rows may have blocks of its own

/// True if row `at` begins a segment and this segment, or the one before it, is long. The ranges of a block
/// with rows of one segment only say where in the segment they lie, so that a question about a part of the
/// segment need not read the block.
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

/// Number of rows from `at` on that certainly belong to one segment, because the rows of a segment are
/// consecutive. Skipping them avoids a look at every row, which takes as long as reading all rows from
/// memory.
template <class Row>
std::size_t rowsOfOneSegment(std::span<const Row> rows, std::size_t at) {
  if constexpr (requires { rows[at].segment, rows[at].offset; }) {
    if (rows.size() - at >= kLong && rows[at + kLong - 1].segment == rows[at].segment) return kLong;
  }
  return 1;
}

/// Questions about a long segment ask for single moments with few steps, so its blocks are short.
template <class Row>
constexpr std::size_t mostRowsPerBlock() {
  return requires(Row row) {
    row.segment, row.offset;
  }
  ? kShortBlock : kMostRowsPerBlock;
}

template <class Row>
std::size_t blockLength(std::span<const Row> rows) {
  const std::size_t most = std::min(rows.size(), mostRowsPerBlock<Row>());
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

/// Plans the payloads of a batch first, and codes them afterwards.
class PayloadChoice {
 public:
  explicit PayloadChoice(Totals& totals) : totals_(totals) {}

  /// Adds rows that follow those of the same table.
  template <class Row>
  void add(std::span<const Row> rows) {
    while (!rows.empty()) {
      const std::span<const Row> block = rows.first(blockLength(rows));
      const std::size_t textBytes = textBytesOfAll(block);
      if (!hasRoom(model::tableIndexOf<Row>(), block.size(), textBytes)) beginPayload(rows);
      rows_ += block.size();
      textBytes_ += textBytes;
      payloads_.back().blocks.push_back(recordOf(block));
      jobs_.back().blocks.push_back(
          {block.size(), [block](std::vector<ColumnData>& columns) { toColumns(block, columns); }});
      rows = rows.subspan(block.size());
    }
  }

  /// Codes the payloads and appends them. `path` is for the error sentence about a row that is too long;
  /// BlockCoder explains `beside`.
  base::Status code(BlockCoder& coder, const std::string& path, std::vector<PreparedPayload>& payloads,
                    const std::function<void()>& beside);
  /// The same on this thread alone. It may be called by `beside`.
  base::Status codeHere(BlockCoder& coder, const std::string& path, std::vector<PreparedPayload>& payloads);

 private:
  base::Status join(const std::string& path, std::vector<PreparedPayload>& payloads);

  bool hasRoom(std::size_t table, std::size_t rows, std::size_t textBytes) const {
    return !jobs_.empty() && jobs_.back().table == table &&
           jobs_.back().blocks.size() < kMostBlocksPerPayload && rows_ + rows <= kMostRowsPerPayload &&
           textBytes_ + textBytes <= kBlockTextBytes;
  }

  template <class Row>
  void beginPayload(std::span<const Row> rows) {
    static const std::vector<ColumnPrediction> predictions = predictionsFor(model::columnsOf<Row>());
    const std::span<const Row> first = rows.first(std::min(rows.size(), mostRowsPerBlock<Row>()));
    PayloadJob& job = jobs_.emplace_back();
    job.table = model::tableIndexOf<Row>();
    job.predictions = &predictions;
    job.firstRows = first.size();
    job.firstColumns = [first](std::vector<ColumnData>& columns) { toColumns(first, columns); };
    payloads_.emplace_back();
    rows_ = textBytes_ = 0;
  }

  template <class Row>
  BlockRecord recordOf(std::span<const Row> block) {
    constexpr std::size_t kNumber = model::tableIndexOf<Row>();
    TableTotals& table = totals_.tables[kNumber];
    BlockRecord record;
    record.id = totals_.nextBlock++;
    record.table = kNumber;
    record.firstRow = table.rows;
    record.info = describe(block);
    table.rows += record.info.rows;
    ++table.blocks;
    return record;
  }

  Totals& totals_;
  std::vector<PreparedPayload> payloads_;
  std::vector<PayloadJob> jobs_;
  std::size_t rows_ = 0, textBytes_ = 0;  // size of the last payload
};

}  // namespace pipescope::store

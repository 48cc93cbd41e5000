#pragma once
// Read access to a profile, whatever holds it: a file (profiler/store) or memory (profiler/record).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/columns.h"

namespace pipescope::model {

/// A stretch of a table that is read as one piece. Plain tables are one block.
struct BlockInfo {
  std::int64_t rows = 0;
  /// Smallest start and largest end (Placement, Transfer, Wait, Run) or time (CounterSample) of the block's
  /// rows; hasTime is false for rows without one.
  bool hasTime = false;
  Ticks start, end;
  /// How many rows lie before it. Rows that damage took away leave a gap: a block of 0 rows stands for them.
  std::int64_t firstRow = 0;
};

/// Smallest and largest value of a column in a block. Texts, reals that are all not-a-number, and sources
/// that do not know have none.
struct ColumnRange {
  bool known = false;
  std::int64_t smallest = 0, largest = 0;    ///< of integer columns
  double smallestReal = 0, largestReal = 0;  ///< of real columns
  /// False: no value of the (integer) column can be `value`.
  bool mayHold(std::int64_t value) const { return !known || (smallest <= value && value <= largest); }
  /// False: no value can lie in [first, last].
  bool mayMeet(std::int64_t first, std::int64_t last) const {
    return !known || (smallest <= last && first <= largest);
  }
};

/// A column of numbers, without the rows it belongs to.
struct IntegerColumn {
  std::vector<std::int64_t> values;  ///< empty: all are `constant`
  std::int64_t constant = 0;
  std::int64_t operator[](std::size_t row) const { return values.empty() ? constant : values[row]; }
};
/// The integer columns of a block by their place in Row::fields; those of texts and reals are empty.
struct ColumnBlock {
  std::size_t rows = 0;
  std::vector<IntegerColumn> columns;
};

template <class Row>
using Rows = std::shared_ptr<const std::vector<Row>>;

struct SourceState {
  ProfileState state = ProfileState::running;
  std::string reason;  ///< of cancelled and incomplete
};

/// Thread-safe. Results are immutable and shared; a source may keep or forget what it decoded.
class ProfileSource {
 public:
  virtual ~ProfileSource() = default;

  virtual base::Result<SourceState> state() const = 0;
  /// A number that grows when rows were added since (a growing file).
  virtual std::int64_t revision() const = 0;

  template <class Row>
  base::Result<std::vector<BlockInfo>> blocks() const {
    return directory(tableIndexOf<Row>());
  }

  template <class Row>
  base::Result<Rows<Row>> block(std::size_t index) const {
    PIPESCOPE_ASSIGN(std::shared_ptr<const void> data, decode(tableIndexOf<Row>(), index));
    return std::static_pointer_cast<const std::vector<Row>>(data);
  }

  /// A block by its integer columns: several times cheaper than its rows where a question needs few of them.
  template <class Row>
  base::Result<std::shared_ptr<const ColumnBlock>> columns(std::size_t index) const {
    return integerColumns(tableIndexOf<Row>(), index);
  }

  /// Blocks whose columns will be asked for next: a source may read them now, side by side. What cannot be
  /// read says so when it is asked for.
  template <class Row>
  void expect(const std::vector<std::size_t>& blocks) const {
    expectColumns(tableIndexOf<Row>(), blocks);
  }

  /// Smallest and largest value of every column of a block, in the order of Row::fields, without reading it.
  template <class Row>
  base::Result<std::vector<ColumnRange>> ranges(std::size_t index) const {
    return columnRanges(tableIndexOf<Row>(), index);
  }

  /// The whole table. For tables that can be long, prefer blocks() and block().
  template <class Row>
  base::Result<Rows<Row>> rows() const {
    PIPESCOPE_ASSIGN(std::shared_ptr<const void> data, whole(tableIndexOf<Row>()));
    return std::static_pointer_cast<const std::vector<Row>>(data);
  }

  /// rows() of the table with this index; the other tables stay empty.
  base::Result<RowSet> table(std::size_t index) const;
  /// rows() of every table.
  base::Result<RowSet> everything() const;

 protected:
  virtual base::Result<std::vector<BlockInfo>> directory(std::size_t table) const = 0;
  /// A range per column. Here: nothing is known.
  virtual base::Result<std::vector<ColumnRange>> columnRanges(std::size_t table, std::size_t block) const;
  /// Here: of the rows.
  virtual base::Result<std::shared_ptr<const ColumnBlock>> integerColumns(std::size_t table,
                                                                          std::size_t block) const;
  /// Here: nothing is read ahead.
  virtual void expectColumns(std::size_t, const std::vector<std::size_t>&) const {}
  /// A shared std::vector<Row> of the table's row type.
  virtual base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const = 0;

 private:
  /// A shared std::vector<Row> of all blocks.
  base::Result<std::shared_ptr<const void>> whole(std::size_t table) const;
};

}  // namespace pipescope::model

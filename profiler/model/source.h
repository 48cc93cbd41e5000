#pragma once
// Read access to a profile in a file (profiler/store) or in memory (profiler/record).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/columns.h"

namespace pipescope::model {

/// Consecutive rows of a table that are read together. A plain table is a single block.
struct BlockInfo {
  std::int64_t rows = 0;
  /// The smallest start and the largest end of the rows (Placement, Transfer, Wait, Run), or the smallest and
  /// largest time (CounterSample). hasTime is false for tables without times.
  bool hasTime = false;
  Ticks start, end;
  /// The number of rows before the block. A block of 0 rows replaces rows that were lost by damage, so that
  /// later rows keep their numbers.
  std::int64_t firstRow = 0;
};

/// Smallest and largest value of a column in a block. `known` is false for text columns, for real columns
/// with NaN only, and if the source does not store ranges.
struct ColumnRange {
  bool known = false;
  std::int64_t smallest = 0, largest = 0;    ///< ends of integer columns
  double smallestReal = 0, largestReal = 0;  ///< ends of real columns
  /// False if no row of the integer column can have this value.
  bool mayHold(std::int64_t value) const { return !known || (smallest <= value && value <= largest); }
  /// False if no row of the integer column can have a value in [first, last].
  bool mayMeet(std::int64_t first, std::int64_t last) const {
    return !known || (smallest <= last && first <= largest);
  }
};

/// The values of one integer column.
struct IntegerColumn {
  std::vector<std::int64_t> values;  ///< empty if all values equal `constant`
  std::int64_t constant = 0;
  std::int64_t operator[](std::size_t row) const { return values.empty() ? constant : values[row]; }
};
/// The integer columns of a block, in the order of Row::fields. Text and real columns are empty.
struct ColumnBlock {
  std::size_t rows = 0;
  std::vector<IntegerColumn> columns;
};

template <class Row>
using Rows = std::shared_ptr<const std::vector<Row>>;

struct SourceState {
  ProfileState state = ProfileState::running;
  std::string reason;  ///< reason why the profile is cancelled or incomplete
};

/// A profile to read from. All functions are thread-safe. Results are immutable and shared. A source may
/// cache decoded blocks.
class ProfileSource {
 public:
  virtual ~ProfileSource() = default;

  virtual base::Result<SourceState> state() const = 0;
  /// A number that increases when a growing file gets more rows.
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

  /// The integer columns of a block. They are several times cheaper to read than the rows.
  template <class Row>
  base::Result<std::shared_ptr<const ColumnBlock>> columns(std::size_t index) const {
    return integerColumns(tableIndexOf<Row>(), index);
  }

  /// True if the source stores columns. Otherwise it makes them from rows, which are then the cheaper form.
  virtual bool storesColumns() const { return false; }

  /// Announces blocks whose columns will be read next, so that a source can read them ahead in parallel.
  /// Errors appear only when a block is read.
  template <class Row>
  void expect(const std::vector<std::size_t>& blocks) const {
    expectColumns(tableIndexOf<Row>(), blocks);
  }

  /// The ranges of all columns of a block, in the order of Row::fields. This does not read the block.
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

  /// The rows of the table with this index. The other tables of the result are empty.
  base::Result<RowSet> table(std::size_t index) const;
  /// The rows of all tables.
  base::Result<RowSet> everything() const;

 protected:
  virtual base::Result<std::vector<BlockInfo>> directory(std::size_t table) const = 0;
  /// A range per column. This default returns unknown ranges.
  virtual base::Result<std::vector<ColumnRange>> columnRanges(std::size_t table, std::size_t block) const;
  /// This default decodes the rows and copies their integer columns.
  virtual base::Result<std::shared_ptr<const ColumnBlock>> integerColumns(std::size_t table,
                                                                          std::size_t block) const;
  /// This default reads nothing ahead.
  virtual void expectColumns(std::size_t, const std::vector<std::size_t>&) const {}
  /// A shared std::vector<Row> of the table's row type.
  virtual base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const = 0;

 private:
  /// A shared std::vector<Row> of all blocks.
  base::Result<std::shared_ptr<const void>> whole(std::size_t table) const;
};

}  // namespace pipescope::model

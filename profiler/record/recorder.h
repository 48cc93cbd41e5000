#pragma once
// The engine uses these classes to write rows into a profile.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "profiler/base/result.h"
#include "profiler/model/columns.h"

namespace pipescope::record {

/// Receives the rows of a recorder: a file (profiler/store), memory (MemoryProfile), or both in turn.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Appends the rows as one transaction. After it returns, readers see all of the rows or, if it failed,
  /// none of them.
  virtual base::Status commit(const model::RowSet& rows) = 0;
  /// True for sinks that write on a thread of their own. Their take() returns before the rows are written.
  virtual bool buffers() const { return false; }
  /// Takes the rows and leaves `rows` empty. Readers see the rows within a second. An error may come from
  /// rows of an earlier call; the profile ends before the rows that failed.
  virtual base::Status take(model::RowSet& rows) {
    base::Status status = commit(rows);
    if (status.ok()) rows.clear();
    return status;
  }
  /// Takes rows that readers see with the next commit and not before, and leaves `rows` empty. Only sinks
  /// that buffer do so. A failure is the answer of the next commit.
  virtual void gather(model::RowSet& rows) { static_cast<void>(rows); }
  /// Ends the profile; no commit follows. For the states cancelled and incomplete, `reason` is a sentence
  /// that says why.
  virtual base::Status finish(model::ProfileState state, const std::string& reason) = 0;
};

/// Collects rows, gives out ids and commits the rows to the sink. It commits on request, after about a
/// second, or when many rows have gathered. A sink that buffers receives the rows at every commitIfDue().
/// Only one thread may use a recorder at a time.
class Recorder {
 public:
  explicit Recorder(Sink& sink) : sink_(sink) {}

  /// Adds a row. If the type has an id, the row gets the next id of its table, and add() returns it.
  template <class Given>
  auto add(Given&& row) {
    return count(pending_.of<std::remove_cvref_t<Given>>().emplace_back(std::forward<Given>(row)));
  }
  /// Adds an empty row with its id, for the caller to fill in before it calls the recorder again. Those who
  /// add millions of rows save a copy of each.
  template <class Row>
  Row& append() {
    Row& row = pending_.of<Row>().emplace_back();
    count(row);
    return row;
  }

  /// Makes room for rows of this type that are about to be added, so that they are not moved as they gather.
  template <class Row>
  void reserve(std::size_t rows) {
    pending_.of<Row>().reserve(pending_.of<Row>().size() + std::min(rows, kRowsToGather));
  }

  /// Returns how many rows of this type were added, which is also the index of the next row in its table.
  template <class Row>
  std::int64_t added() const {
    return nextId_[model::tableIndexOf<Row>()];
  }

  /// Writes all rows that have gathered.
  base::Status commit();
  /// Loops may call this as often as they like. Rows become readable at most a second after the next call.
  /// Set `nextFollows` when another call follows within microseconds; small batches then wait up to 50 ms,
  /// because each handover costs time.
  base::Status commitIfDue(bool nextFollows = false);
  /// Loops that add rows of one commit may call this as often as they like: a sink that buffers then codes
  /// many of them early, so that fewer are held.
  void gather() {
    if (pendingRows_ >= kRowsToGather) handOver();
  }
  /// Commits the remaining rows, then ends the profile.
  base::Status finish(model::ProfileState state, const std::string& reason = {});

 private:
  static constexpr std::size_t kRowsToGather = 65'536;
  void handOver();
  /// Counts the new row and returns its id, which it sets.
  template <class Row>
  auto count(Row& row) {
    const std::int64_t index = nextId_[model::tableIndexOf<Row>()]++;
    ++pendingRows_;
    if constexpr (requires { row.id.value; }) return row.id = decltype(row.id)(index);
  }

  Sink& sink_;
  model::RowSet pending_;
  std::size_t pendingRows_ = 0;
  std::array<std::int64_t, model::kTableCount> nextId_{};
  std::chrono::steady_clock::time_point lastCommit_ = std::chrono::steady_clock::now();
};

}  // namespace pipescope::record

#pragma once
// What the engine calls to leave rows in a profile.
#include <array>
#include <chrono>
#include <cstdint>

#include "profiler/base/result.h"
#include "profiler/model/columns.h"

namespace pipescope::record {

/// Where a recorder's rows go: a file (profiler/store), memory (MemoryProfile), or both in turn.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Appends the rows as one transaction: after it returns all of them are readable, or none.
  /// On failure nothing of the batch is kept.
  virtual base::Status commit(const model::RowSet& rows) = 0;
  /// True for sinks with a thread of their own: take() returns before the rows are written.
  virtual bool buffers() const { return false; }
  /// Takes the rows over, leaving `rows` empty; they are readable within a second. An error is that of rows
  /// taken earlier, and the profile ends there.
  virtual base::Status take(model::RowSet& rows) {
    base::Status status = commit(rows);
    if (status.ok()) rows.clear();
    return status;
  }
  /// Ends the profile; no commit follows. `reason` is a sentence for cancelled and incomplete.
  virtual base::Status finish(model::ProfileState state, const std::string& reason) = 0;
};

/// Collects rows, hands out ids, and commits to the sink: when asked, or when more than a second or too much
/// has gathered. A sink that buffers is given the rows whenever commitIfDue() is called. One thread at a
/// time.
class Recorder {
 public:
  explicit Recorder(Sink& sink) : sink_(sink) {}

  /// Adds a row; a row with an id gets the next one of its table, which is returned.
  template <class Row>
  auto add(Row row) {
    if constexpr (requires { row.id.value; }) {
      row.id = decltype(row.id)(nextId_[model::tableIndexOf<Row>()]++);
      pending_.of<Row>().push_back(std::move(row));
      ++pendingRows_;
      return pending_.of<Row>().back().id;
    } else {
      pending_.of<Row>().push_back(std::move(row));
      ++nextId_[model::tableIndexOf<Row>()];
      ++pendingRows_;
    }
  }

  /// Rows of a type so far: the place that the next one has in its table.
  template <class Row>
  std::int64_t added() const {
    return nextId_[model::tableIndexOf<Row>()];
  }

  /// Writes everything gathered so far.
  base::Status commit();
  /// For loops, as often as they like: what was added so far is readable at most a second after the next
  /// call. `nextFollows`: the next call is a matter of microseconds, so that a few rows may wait for it (50
  /// ms at most), since handing them over costs.
  base::Status commitIfDue(bool nextFollows = false);
  /// Commits, then ends the profile.
  base::Status finish(model::ProfileState state, const std::string& reason = {});

 private:
  Sink& sink_;
  model::RowSet pending_;
  std::size_t pendingRows_ = 0;
  std::array<std::int64_t, model::kTableCount> nextId_{};
  std::chrono::steady_clock::time_point lastCommit_ = std::chrono::steady_clock::now();
};

}  // namespace pipescope::record

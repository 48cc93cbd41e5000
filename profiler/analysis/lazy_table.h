#pragma once
// A long table whose rows are found by id. It reads a block only when a caller asks for one of its rows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "profiler/base/ids.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

/// Thread-safe. It keeps a few blocks in memory; the source's cache keeps the others. For a damaged row it
/// returns an empty row, so a page shows no name there; `pipescope verify` says why.
template <class Id, class Row>
class LazyTable {
 public:
  /// Reads only the directory. An error says why the table cannot be read at all.
  base::Status load(const model::ProfileSource& source) {
    PIPESCOPE_ASSIGN(blocks_, source.blocks<Row>());
    source_ = &source;
    return {};
  }

  std::size_t size() const {
    return blocks_.empty() ? 0 : static_cast<std::size_t>(blocks_.back().firstRow + blocks_.back().rows);
  }
  bool empty() const { return size() == 0; }

  bool contains(Id id) const { return id.valid() && static_cast<std::size_t>(id.value) < size(); }

  /// Returns the row of an id, or an empty row if the table does not have the id.
  Row operator[](Id id) const {
    Row found;
    visit(id, [&found](const Row& row) { found = row; });
    return found;
  }
  /// Calls `visitor` with the row of an id, without copying it, unless the table does not have the id. The
  /// visitor must not use this table.
  template <class Visitor>
  void visit(Id id, const Visitor& visitor) const {
    if (!contains(id)) return;
    const auto index = static_cast<std::size_t>(id.value);
    const std::lock_guard lock(*mutex_);
    const Kept* kept = find(index);
    if (kept == nullptr) {
      fetch(index);
      kept = find(index);
    }
    if (kept != nullptr) visitor((*kept->rows)[index - kept->first]);
  }

 private:
  struct Kept {
    model::Rows<Row> rows;
    std::size_t first = 0;
  };

  const Kept* find(std::size_t index) const {
    for (const Kept& each : kept_)
      if (each.rows && index >= each.first && index - each.first < each.rows->size()) return &each;
    return nullptr;
  }

  void fetch(std::size_t index) const {
    const auto after = std::partition_point(
        blocks_.begin(), blocks_.end(),
        [&](const model::BlockInfo& block) { return static_cast<std::size_t>(block.firstRow) <= index; });
    if (after == blocks_.begin()) return;
    const auto number = static_cast<std::size_t>(after - blocks_.begin()) - 1;
    if (lost_.contains(number)) return;
    auto rows = source_->block<Row>(number);
    if (rows.ok()) {
      kept_[next_] = {std::move(rows).value(), static_cast<std::size_t>(blocks_[number].firstRow)};
      next_ = (next_ + 1) % kept_.size();
    } else if (rows.error().kind == base::ErrorKind::badInput) {
      lost_.insert(number);  // A damaged block stays damaged. Another failure may not happen next time.
    }
  }

  const model::ProfileSource* source_ = nullptr;
  std::vector<model::BlockInfo> blocks_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::set<std::size_t> lost_;  // Damaged blocks. One may hold thousands of names; try it only once.
  // A name and the names around it may lie in several blocks.
  mutable std::array<Kept, 4> kept_;
  mutable std::size_t next_ = 0;
};

}  // namespace pipescope::analysis

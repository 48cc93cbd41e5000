#pragma once
// A long table whose rows are found by id. It reads a block only when a caller asks for one of its rows.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "profiler/base/ids.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

/// Thread-safe. It keeps one block in memory; the source's cache keeps the others. For a damaged row it
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
    if (!contains(id)) return Row();
    const auto index = static_cast<std::size_t>(id.value);
    const std::lock_guard lock(*mutex_);
    if (!kept_ || index < keptFirst_ || index - keptFirst_ >= kept_->size()) fetch(index);
    return kept_ && index >= keptFirst_ && index - keptFirst_ < kept_->size() ? (*kept_)[index - keptFirst_]
                                                                              : Row();
  }

 private:
  void fetch(std::size_t index) const {
    const auto after = std::partition_point(
        blocks_.begin(), blocks_.end(),
        [&](const model::BlockInfo& block) { return static_cast<std::size_t>(block.firstRow) <= index; });
    if (after == blocks_.begin()) return;
    const auto number = static_cast<std::size_t>(after - blocks_.begin()) - 1;
    if (lost_.contains(number)) return;
    auto rows = source_->block<Row>(number);
    if (rows.ok()) {
      kept_ = std::move(rows).value();
      keptFirst_ = static_cast<std::size_t>(blocks_[number].firstRow);
    } else if (rows.error().kind == base::ErrorKind::badInput) {
      lost_.insert(number);  // A damaged block stays damaged. Another failure may not happen next time.
    }
  }

  const model::ProfileSource* source_ = nullptr;
  std::vector<model::BlockInfo> blocks_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::set<std::size_t> lost_;  // Damaged blocks. One may hold thousands of names; try it only once.
  mutable model::Rows<Row> kept_;
  mutable std::size_t keptFirst_ = 0;
};

}  // namespace pipescope::analysis

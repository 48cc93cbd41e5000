#pragma once
// A long table by row number, read by block when it is asked for.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "profiler/model/source.h"

namespace pipescope::analysis {

/// Thread-safe. Keeps one block alive; the source's cache keeps the others. A row that damage took away is an
/// empty one: names are then missing where they would be shown, and `verify` says why.
template <class Row>
class LazyTable {
 public:
  /// Reads the directory only. An error says why the table cannot be read at all.
  base::Status load(const model::ProfileSource& source) {
    PIPESCOPE_ASSIGN(blocks_, source.blocks<Row>());
    source_ = &source;
    return {};
  }

  std::size_t size() const {
    return blocks_.empty() ? 0 : static_cast<std::size_t>(blocks_.back().firstRow + blocks_.back().rows);
  }
  bool empty() const { return size() == 0; }

  Row operator[](std::size_t index) const {
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
      lost_.insert(number);  // damage does not heal; other failures may be over next time
    }
  }

  const model::ProfileSource* source_ = nullptr;
  std::vector<model::BlockInfo> blocks_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::set<std::size_t> lost_;  // blocks that are damaged: thousands of names may lie in one
  mutable model::Rows<Row> kept_;
  mutable std::size_t keptFirst_ = 0;
};

}  // namespace pipescope::analysis

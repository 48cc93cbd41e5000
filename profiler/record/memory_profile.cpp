#include "profiler/record/memory_profile.h"

namespace pipescope::record {

using model::forEachRowType;
using model::tableIndexOf;

base::Status MemoryProfile::commit(const model::RowSet& rows) {
  const std::lock_guard lock(mutex_);
  forEachRowType([&]<class Row>() {
    const auto& added = rows.of<Row>();
    if (added.empty()) return;
    rows_.of<Row>().insert(rows_.of<Row>().end(), added.begin(), added.end());
    shared_[tableIndexOf<Row>()] = nullptr;
  });
  ++revision_;
  return {};
}

base::Status MemoryProfile::finish(model::ProfileState state, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  state_ = {state, reason};
  ++revision_;
  return {};
}

base::Result<model::SourceState> MemoryProfile::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::int64_t MemoryProfile::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

base::Result<std::vector<model::BlockInfo>> MemoryProfile::directory(std::size_t table) const {
  const std::lock_guard lock(mutex_);
  model::BlockInfo info;
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() == table) info.rows = static_cast<std::int64_t>(rows_.of<Row>().size());
  });
  return std::vector{info};
}

base::Result<std::shared_ptr<const void>> MemoryProfile::decode(std::size_t table, std::size_t) const {
  const std::lock_guard lock(mutex_);
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() == table && !shared_[table]) {
      shared_[table] = std::make_shared<const std::vector<Row>>(rows_.of<Row>());
    }
  });
  return shared_[table];
}

}  // namespace pipescope::record

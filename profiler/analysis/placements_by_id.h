#pragma once
// Finds what belongs to a placement or a device of a file. A profile has millions of placements, so that maps
// would take most of the time and memory.
#include <algorithm>
#include <map>
#include <vector>

#include "profiler/model/rows.h"

namespace pipescope::analysis {

/// Finds placements by their ids. It finds the last one if several rows have the same id, as in a damaged
/// file.
class PlacementsById {
 public:
  /// The rows must not move. Ids nearly always ascend; otherwise an order of its own takes 8 bytes a row.
  explicit PlacementsById(const std::vector<model::Placement>& rows) : rows_(rows) {
    const auto ascend = [](const auto& a, const auto& b) { return a.id >= b.id; };
    if (std::adjacent_find(rows.begin(), rows.end(), ascend) == rows.end()) return;
    for (const model::Placement& row : rows) order_.push_back(&row);
    std::stable_sort(order_.begin(), order_.end(),
                     [](const auto* a, const auto* b) { return a->id < b->id; });
  }

  /// Returns the row with this id; null if there is none.
  const model::Placement* find(model::PlacementId id) const {
    if (rows_.empty()) return nullptr;
    if (!order_.empty()) {
      const auto behind =
          std::upper_bound(order_.begin(), order_.end(), id,
                           [](model::PlacementId wanted, const auto* row) { return wanted < row->id; });
      return behind != order_.begin() && (*(behind - 1))->id == id ? *(behind - 1) : nullptr;
    }
    // The place follows from the first id if no id is left out.
    const std::int64_t place = id.value - rows_.front().id.value;
    if (id < rows_.front().id || id > rows_.back().id) return nullptr;
    if (place < static_cast<std::int64_t>(rows_.size())) {
      const model::Placement& row = rows_[static_cast<std::size_t>(place)];
      if (row.id == id) return &row;
    }
    const auto found =
        std::lower_bound(rows_.begin(), rows_.end(), id,
                         [](const auto& row, model::PlacementId wanted) { return row.id < wanted; });
    return found != rows_.end() && found->id == id ? &*found : nullptr;
  }

 private:
  const std::vector<model::Placement>& rows_;
  std::vector<const model::Placement*> order_;  // sorted by id, if the rows are not
};

/// A value for each device. A damaged file may name devices by any number.
template <class Value>
class PerDevice {
 public:
  Value& operator[](model::DeviceId device) {
    if (device.value < 0 || device.value >= kUsual) return others_[device];
    const auto place = static_cast<std::size_t>(device.value);
    if (usual_.size() <= place) usual_.resize(place + 1);
    return usual_[place];
  }
  /// Returns the answer for this device; null if nothing was asked for it.
  const Value* find(model::DeviceId device) const {
    if (device.value >= 0 && device.value < kUsual) {
      const auto place = static_cast<std::size_t>(device.value);
      return place < usual_.size() ? &usual_[place] : nullptr;
    }
    const auto other = others_.find(device);
    return other == others_.end() ? nullptr : &other->second;
  }
  template <class Visit>
  void forEach(Visit visit) {
    for (Value& value : usual_) visit(value);
    for (auto& [device, value] : others_) visit(value);
  }

 private:
  static constexpr std::int64_t kUsual = 1 << 16;
  std::vector<Value> usual_;
  std::map<model::DeviceId, Value> others_;
};

}  // namespace pipescope::analysis

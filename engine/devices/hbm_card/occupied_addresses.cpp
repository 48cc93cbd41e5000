#include "engine/devices/hbm_card/occupied_addresses.h"

#include <algorithm>
#include <iterator>

namespace pipescope::devices::hbm_card {

void AddressSet::add(std::int64_t first, std::int64_t end) {
  if (first >= end) return;
  auto next = ranges_.upper_bound(first);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= end) return;
    if (before->second >= first) {
      first = before->first;
      next = before;
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, first, end);
}

std::int64_t AddressSet::behind(std::int64_t first, std::int64_t end) const {
  const auto next = ranges_.lower_bound(end);  // the first range behind
  if (next == ranges_.begin()) return first;
  const auto last = std::prev(next);
  return last->second > first ? last->second : first;
}

OccupiedAddresses::OccupiedAddresses(std::int32_t steps)
    : steps_(std::max(steps, 1)), nodes_(4 * static_cast<std::size_t>(steps_)) {}

void OccupiedAddresses::collect(std::size_t node, std::int32_t from, std::int32_t to, LifeSteps life,
                                std::vector<const AddressSet*>& sets) const {
  if (life.first >= to || life.end <= from) return;
  if (life.first <= from && to <= life.end) {
    sets.push_back(&nodes_[node].any);
    return;
  }
  sets.push_back(&nodes_[node].whole);
  const std::int32_t middle = from + (to - from) / 2;
  collect(2 * node, from, middle, life, sets);
  collect(2 * node + 1, middle, to, life, sets);
}

void OccupiedAddresses::insert(std::size_t node, std::int32_t from, std::int32_t to, LifeSteps life,
                               std::int64_t first, std::int64_t end) {
  if (life.first >= to || life.end <= from) return;
  nodes_[node].any.add(first, end);
  if (life.first <= from && to <= life.end) return nodes_[node].whole.add(first, end);
  const std::int32_t middle = from + (to - from) / 2;
  insert(2 * node, from, middle, life, first, end);
  insert(2 * node + 1, middle, to, life, first, end);
}

std::int64_t OccupiedAddresses::lowest(const std::vector<LifeSteps>& lives, std::int64_t bytes) const {
  if (bytes <= 0) return 0;
  std::vector<const AddressSet*> sets;
  for (const LifeSteps life : lives) collect(1, 0, steps_, life, sets);
  std::int64_t address = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const AddressSet* set : sets) {
      const std::int64_t behind = set->behind(address, address + bytes);
      moved = moved || behind > address;
      address = behind;
    }
  }
  return address;
}

void OccupiedAddresses::take(const std::vector<LifeSteps>& lives, std::int64_t address, std::int64_t bytes) {
  for (const LifeSteps life : lives) insert(1, 0, steps_, life, address, address + bytes);
}

}  // namespace pipescope::devices::hbm_card

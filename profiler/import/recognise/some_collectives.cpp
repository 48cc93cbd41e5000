#include "profiler/import/recognise/some_collectives.h"

#include <algorithm>

namespace pipescope::importing {

const std::string& groupOf(const RecordedPass& collective) {
  return collective.group.empty() ? collective.processGroup : collective.group;
}

void SomeCollectives::add(RecordedPass collective) {
  constexpr std::size_t kEnough = 8192;
  auto group = groups_.find(groupOf(collective));
  if (group == groups_.end()) group = groups_.emplace(groupOf(collective), decltype(group->second)()).first;
  Alike& alike = group->second[collective.name];
  if (!alike.kept.empty()) alike.ordered = alike.ordered && alike.kept.back().second.lane == collective.lane;
  const std::uint64_t number = alike.count++;
  // Every n-th one could be the one for which always the same rank is late.
  const auto isKept = [&](std::uint64_t n) {
    const std::uint64_t mixed = (n + 1) * 0x9E3779B97F4A7C15ULL;
    return alike.halvings == 0 || mixed >> (64 - alike.halvings) == 0;
  };
  if (isKept(number)) alike.kept.emplace_back(number, std::move(collective));
  if (alike.kept.size() <= kEnough) return;
  ++alike.halvings;
  std::erase_if(alike.kept, [&](const auto& one) { return !isKept(one.first); });
}

std::vector<RecordedPass> SomeCollectives::take() {
  std::vector<RecordedPass> all;
  for (auto& [group, names] : groups_) {
    for (auto& [name, alike] : names) {
      // Collectives of several threads are left out: nobody knows which ones the other ranks have kept.
      if (alike.halvings > 0 && !alike.ordered) continue;
      for (auto& [number, collective] : alike.kept) {
        if (alike.halvings > 0) collective.alike = static_cast<std::int64_t>(alike.count);
        all.push_back(std::move(collective));
      }
    }
  }
  groups_.clear();
  return all;
}

}  // namespace pipescope::importing

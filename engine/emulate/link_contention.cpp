#include "engine/emulate/link_contention.h"

#include <map>
#include <numeric>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {

LinkContention::LinkContention(const devices::System& system, std::vector<devices::Flow> flows,
                               std::vector<double> slowdowns)
    : system_(system), flows_(std::move(flows)), slowdowns_(std::move(slowdowns)) {
  for (std::size_t i = 0; i < flows_.size(); ++i)
    alone_.push_back(slowed(static_cast<int>(i), system.transferTicks({flows_[i]}).front()));
  findGroups();
}

base::Ticks LinkContention::slowed(int flow, base::Ticks ticks) const {
  return slowdowns_.empty() ? ticks : slower(ticks, slowdowns_[static_cast<std::size_t>(flow)]);
}

void LinkContention::findGroups() {
  std::vector<int> parent(flows_.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int flow) {
    while (parent[static_cast<std::size_t>(flow)] != flow) flow = parent[static_cast<std::size_t>(flow)];
    return flow;
  };
  std::map<std::int64_t, int> firstOn;  // link → a flow that uses it
  groups_.assign(flows_.size(), kAlone);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    for (const std::int64_t link : system_.linksOf(flows_[i])) {
      const int other = firstOn.try_emplace(link, static_cast<int>(i)).first->second;
      parent[static_cast<std::size_t>(root(static_cast<int>(i)))] = root(other);
      groups_[i] = 0;
    }
  }
  std::map<int, int> numbers;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (groups_[i] == kAlone) continue;
    groups_[i] = numbers.try_emplace(root(static_cast<int>(i)), groupCount_).first->second;
    groupCount_ = static_cast<int>(numbers.size());
  }
}

std::size_t LinkContention::Hash::operator()(const std::vector<int>& flows) const {
  std::size_t hash = flows.size();
  for (const int flow : flows)
    hash = (hash ^ static_cast<std::size_t>(flow)) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
  return hash;
}

const std::vector<base::Ticks>& LinkContention::together(const std::vector<int>& flows) {
  const auto found = known_.find(flows);
  if (found != known_.end()) return found->second;
  constexpr std::size_t kMostRemembered = 100'000;
  if (known_.size() >= kMostRemembered) known_.clear();
  std::vector<devices::Flow> asked;
  for (const int flow : flows) asked.push_back(flows_[static_cast<std::size_t>(flow)]);
  std::vector<base::Ticks> ticks = system_.transferTicks(asked);
  for (std::size_t i = 0; i < flows.size(); ++i)
    ticks[i] = slowed(flows[i], ticks[i]);
  return known_.emplace(flows, std::move(ticks)).first->second;
}

}  // namespace pipescope::emulate

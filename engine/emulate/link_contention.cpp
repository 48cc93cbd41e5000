#include "engine/emulate/link_contention.h"

#include <cmath>
#include <map>
#include <numeric>

namespace pipescope::emulate {

base::Ticks slower(base::Ticks ticks, double slowdown) {
  if (slowdown == 1) return ticks;
  return base::Ticks(static_cast<std::int64_t>(std::ceil(static_cast<double>(ticks.count) * slowdown)));
}

std::vector<base::Ticks> ticksBeside(const devices::System& system, std::vector<devices::Flow> flows,
                                     const FlowLists& beside) {
  const std::size_t own = flows.size();
  for (const std::vector<devices::Flow>& others : beside)
    flows.insert(flows.end(), others.begin(), others.end());
  std::vector<base::Ticks> ticks = system.transferTicks(flows);
  ticks.resize(own);
  return ticks;
}

LinkContention::LinkContention(const devices::System& system, std::vector<devices::Flow> flows,
                               std::vector<double> slowdowns, FlowLists beside)
    : system_(system),
      flows_(std::move(flows)),
      slowdowns_(std::move(slowdowns)),
      beside_(std::move(beside)) {
  for (int i = 0; i < static_cast<int>(flows_.size()); ++i) alone_.push_back(solve({i}).front());
  findGroups();
}

std::vector<base::Ticks> LinkContention::solve(const std::vector<int>& flows) const {
  const auto chosen = [&](const std::vector<devices::Flow>& all) {
    std::vector<devices::Flow> some;
    for (const int flow : flows) some.push_back(all[static_cast<std::size_t>(flow)]);
    return some;
  };
  FlowLists others;
  for (const std::vector<devices::Flow>& list : beside_) others.push_back(chosen(list));
  std::vector<base::Ticks> ticks = ticksBeside(system_, chosen(flows_), others);
  for (std::size_t i = 0; i < flows.size(); ++i) ticks[i] = slowed(flows[i], ticks[i]);
  return ticks;
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
  std::map<std::int64_t, int> firstOn;  // link → the first flow that uses it
  groups_.assign(flows_.size(), kAlone);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    std::vector<std::int64_t> links = system_.linksOf(flows_[i]);
    if (!links.empty()) groups_[i] = 0;
    for (const std::vector<devices::Flow>& list : beside_) {
      const std::vector<std::int64_t> more = system_.linksOf(list[i]);
      links.insert(links.end(), more.begin(), more.end());
    }
    for (const std::int64_t link : links) {
      const int other = firstOn.try_emplace(link, static_cast<int>(i)).first->second;
      parent[static_cast<std::size_t>(root(static_cast<int>(i)))] = root(other);
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
  return known_.emplace(flows, solve(flows)).first->second;
}

}  // namespace pipescope::emulate

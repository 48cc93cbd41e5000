#include "engine/emulate/link_contention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

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
  for (int i = 0; i < static_cast<int>(flows_.size()); ++i) {
    alone_.push_back(solveFlows({i}).front());
    ownLinks_.push_back(system_.linksOf(flows_[static_cast<std::size_t>(i)]));
    allLinks_.push_back(linksOf(static_cast<std::size_t>(i)));
  }
  findGroups();
}

std::vector<std::int64_t> LinkContention::linksOf(std::size_t flow) const {
  std::vector<std::int64_t> links = ownLinks_[flow];
  for (const std::vector<devices::Flow>& list : beside_) {
    const std::vector<std::int64_t> more = system_.linksOf(list[flow]);
    links.insert(links.end(), more.begin(), more.end());
  }
  return links;
}

void LinkContention::setLoads(std::vector<LinkLoad> loads) {
  loads_ = std::move(loads);
  known_.clear();
  starts_.clear();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    devices::Flow least = flows_[i];
    least.bytes = devices::Bytes(1);
    starts_.push_back(slowed(static_cast<int>(i), system_.transferTicks({least}).front()));
  }
  findGroups();
}

std::vector<base::Ticks> LinkContention::solve(const std::vector<int>& all) const {
  const auto firstLoad = std::ranges::lower_bound(all, flows());
  const std::vector<int> flows(all.begin(), firstLoad);
  std::vector<base::Ticks> ticks = solveFlows(flows);
  if (firstLoad == all.end()) return ticks;
  // The demand on each link in whole links: that of flows, and that of all.
  std::map<std::int64_t, double> byFlows;
  for (const int flow : flows)
    for (const std::int64_t link : allLinks_[static_cast<std::size_t>(flow)]) byFlows[link] += 1;
  std::map<std::int64_t, double> wanted = byFlows;
  for (auto load = firstLoad; load != all.end(); ++load)
    for (const devices::LinkShare& part : loadOf(*load).shares) wanted[part.link] += part.share;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto f = static_cast<std::size_t>(flows[i]);
    double before = 1, now = 1;
    for (const std::int64_t link : ownLinks_[f]) {
      before = std::max(before, byFlows[link]);
      now = std::max(now, wanted[link]);
    }
    const base::Ticks moving = ticks[i] - starts_[f];
    if (now > before && moving.count > 0) ticks[i] = starts_[f] + slower(moving, now / before);
  }
  for (auto load = firstLoad; load != all.end(); ++load) {
    double most = 1;
    for (const devices::LinkShare& part : loadOf(*load).shares) most = std::max(most, wanted[part.link]);
    ticks.push_back(slower(kLoadAlone, most));
  }
  return ticks;
}

std::vector<base::Ticks> LinkContention::solveFlows(const std::vector<int>& flows) const {
  if (flows.empty()) return {};
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
  // The links of each flow and load that join it with others.
  std::vector<std::vector<std::int64_t>> links = allLinks_;
  std::map<std::int64_t, std::set<model::MeshAxis>> axes;
  for (const std::vector<std::int64_t>& all : links)
    for (const std::int64_t link : all) axes[link].insert(model::MeshAxis::pipe);
  for (const LinkLoad& load : loads_)
    for (const devices::LinkShare& part : load.shares) axes[part.link].insert(load.axis);
  for (const LinkLoad& load : loads_) {
    std::vector<std::int64_t>& own = links.emplace_back();
    for (const devices::LinkShare& part : load.shares)
      if (load.always || axes[part.link].size() > 1) own.push_back(part.link);
  }
  std::vector<int> parent(links.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int flow) {
    while (parent[static_cast<std::size_t>(flow)] != flow) flow = parent[static_cast<std::size_t>(flow)];
    return flow;
  };
  std::map<std::int64_t, int> firstOn;  // link → the first flow that uses it
  groups_.assign(links.size(), kAlone);
  groupCount_ = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool any = i < flows_.size() ? !ownLinks_[i].empty() : !links[i].empty();
    if (any) groups_[i] = 0;
    for (const std::int64_t link : links[i]) {
      const int other = firstOn.try_emplace(link, static_cast<int>(i)).first->second;
      parent[static_cast<std::size_t>(root(static_cast<int>(i)))] = root(other);
    }
  }
  std::map<int, int> numbers;
  for (std::size_t i = 0; i < links.size(); ++i) {
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

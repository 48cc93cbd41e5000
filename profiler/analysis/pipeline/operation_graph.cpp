#include "profiler/analysis/pipeline/operation_graph.h"

#include <algorithm>
#include <utility>

namespace pipescope::analysis {
namespace {

/// Lists of numbers for each of n owners, in one array.
struct GraphLists {
  std::vector<std::size_t> first, items;

  /// `pairs` holds (owner, item).
  GraphLists(std::size_t owners, const std::vector<std::pair<std::size_t, std::size_t>>& pairs)
      : first(owners + 1, 0), items(pairs.size()) {
    for (const auto& pair : pairs) ++first[pair.first + 1];
    for (std::size_t i = 0; i < owners; ++i) first[i + 1] += first[i];
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (const auto& [owner, item] : pairs) items[next[owner]++] = item;
  }
};

}  // namespace

std::size_t OperationGraph::add() {
  parent_.push_back(parent_.size());
  return parent_.size() - 1;
}

std::size_t OperationGraph::groupOf(std::size_t operation) {
  while (parent_[operation] != operation) {
    parent_[operation] = parent_[parent_[operation]];
    operation = parent_[operation];
  }
  return operation;
}

void OperationGraph::join(std::size_t one, std::size_t other) {
  const std::size_t a = groupOf(one), b = groupOf(other);
  parent_[std::max(a, b)] = std::min(a, b);
}

std::vector<std::size_t> OperationGraph::parts() const {
  OperationGraph joined;
  joined.parent_ = parent_;
  for (const Edge& edge : edges_) joined.join(edge.operation, edge.before);
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < size(); ++i) parts.push_back(joined.groupOf(i));
  return parts;
}

bool OperationGraph::order() {
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  Pairs members, before, followers;
  for (std::size_t i = 0; i < size(); ++i) members.emplace_back(groupOf(i), i);
  std::vector<std::size_t> open(size(), 0);  // edges of each group that are not met yet
  for (const Edge& edge : edges_) {
    const std::size_t group = groupOf(edge.operation), other = groupOf(edge.before);
    if (group == other) continue;
    before.emplace_back(group, edge.before);
    followers.emplace_back(other, group);
    ++open[group];
  }
  const GraphLists membersOf(size(), members), beforeOf(size(), before), followersOf(size(), followers);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < size(); ++i)
    if (groupOf(i) == i && open[i] == 0) ready.push_back(i);
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const std::size_t group = ready[at];
    groups_.push_back({members_.size(), before_.size()});
    for (std::size_t i = membersOf.first[group]; i < membersOf.first[group + 1]; ++i)
      members_.push_back(membersOf.items[i]);
    for (std::size_t i = beforeOf.first[group]; i < beforeOf.first[group + 1]; ++i)
      before_.push_back(beforeOf.items[i]);
    for (std::size_t i = followersOf.first[group]; i < followersOf.first[group + 1]; ++i)
      if (--open[followersOf.items[i]] == 0) ready.push_back(followersOf.items[i]);
  }
  return members_.size() == size();
}

std::vector<double> OperationGraph::ends(const std::vector<double>& durations) const {
  std::vector<double> ends(size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const bool last = g + 1 == groups_.size();
    const std::size_t endMember = last ? members_.size() : groups_[g + 1].firstMember;
    const std::size_t endBefore = last ? before_.size() : groups_[g + 1].firstBefore;
    double start = 0;
    for (std::size_t i = groups_[g].firstBefore; i < endBefore; ++i)
      start = std::max(start, ends[before_[i]]);
    for (std::size_t i = groups_[g].firstMember; i < endMember; ++i)
      ends[members_[i]] = start + durations[members_[i]];
  }
  return ends;
}

}  // namespace pipescope::analysis

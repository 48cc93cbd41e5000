#include "profiler/import/read/time_spread.h"

#include <algorithm>

namespace pipescope::importing {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000'000;
constexpr std::int64_t kLeastDistance = 10 * kMinute;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTimesTheSpan = 20, kTimesTheEvents = 10;
// Nobody records for days, so fewer events may then tell which time is the right one.
constexpr std::int64_t kDay = 24 * 60 * kMinute, kTimesTheEventsOfADay = 3;

}  // namespace

void TimeSpread::add(std::int64_t start, std::int64_t end) {
  const std::int64_t minute = start / kMinute - (start % kMinute < 0 ? 1 : 0);
  if (lastUsed_ == nullptr || minute != lastMinute_) {
    lastMinute_ = minute;
    lastUsed_ = &minutes_.try_emplace(minute, Cluster{0, start, start, end}).first->second;
  }
  ++lastUsed_->events;
  lastUsed_->first = std::min(lastUsed_->first, start);
  lastUsed_->lastStart = std::max(lastUsed_->lastStart, start);
  lastUsed_->last = std::max(lastUsed_->last, end);
}

TimeSpread::Kept TimeSpread::kept() const {
  const std::vector<Cluster> clusters = clustersOf();
  Kept result;
  if (clusters.empty()) return result;
  const auto main = std::ranges::max_element(clusters, {}, &Cluster::events);
  // The clusters that are near enough belong to it, from the nearest on.
  auto first = main, behind = main + 1;
  Cluster all = *main;
  for (;;) {
    const std::int64_t before = first == clusters.begin() ? kNever : all.first - (first - 1)->last;
    const std::int64_t after = behind == clusters.end() ? kNever : behind->first - all.last;
    if (std::min(before, after) / kTimesTheSpan >= all.lastStart - all.first) break;
    const Cluster& near = before < after ? *--first : *behind++;
    all.events += near.events;
    all.first = std::min(all.first, near.first);
    all.lastStart = std::max(all.lastStart, near.lastStart);
    all.last = std::max(all.last, near.last);
  }
  const auto apart = [&](const Cluster& cluster, bool before) {
    result.apart.push_back(
        {cluster.events, before ? all.first - cluster.last : cluster.first - all.last, before});
  };
  std::for_each(clusters.begin(), first, [&](const Cluster& cluster) { apart(cluster, true); });
  std::for_each(behind, clusters.end(), [&](const Cluster& cluster) { apart(cluster, false); });
  std::int64_t few = 0, nearest = kNever;
  for (const Apart& one : result.apart) {
    few += one.events;
    nearest = std::min(nearest, one.distance);
  }
  if (few * (nearest < kDay ? kTimesTheEvents : kTimesTheEventsOfADay) > all.events) {
    result.apart.clear();
    all.first = clusters.front().first;
    all.lastStart = clusters.back().lastStart;
    all.last = std::ranges::max(clusters, {}, &Cluster::last).last;
  }
  result.first = all.first;
  result.lastStart = all.lastStart;
  result.last = all.last;
  return result;
}

/// Events with less than ten minutes between them, in the order of time.
std::vector<TimeSpread::Cluster> TimeSpread::clustersOf() const {
  std::vector<Cluster> clusters;
  for (const auto& [minute, own] : minutes_) {
    if (clusters.empty() || own.first - clusters.back().last >= kLeastDistance) {
      clusters.push_back(own);
      continue;
    }
    Cluster& cluster = clusters.back();
    cluster.events += own.events;
    cluster.lastStart = own.lastStart;
    cluster.last = std::max(cluster.last, own.last);
  }
  return clusters;
}

}  // namespace pipescope::importing

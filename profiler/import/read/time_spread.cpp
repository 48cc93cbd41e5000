#include "profiler/import/read/time_spread.h"

#include <algorithm>
#include <span>

namespace pipescope::importing {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000'000;
constexpr std::int64_t kLeastDistance = 10 * kMinute;
constexpr std::int64_t kTimesTheSpan = 20, kTimesTheEvents = 10;

}  // namespace

void TimeSpread::add(std::int64_t start, std::int64_t end) {
  const std::int64_t minute = start / kMinute - (start % kMinute < 0 ? 1 : 0);
  if (lastUsed_ == nullptr || minute != lastMinute_) {
    lastMinute_ = minute;
    lastUsed_ = &minutes_.try_emplace(minute, Minute{0, start, start, end}).first->second;
  }
  ++lastUsed_->events;
  lastUsed_->first = std::min(lastUsed_->first, start);
  lastUsed_->lastStart = std::max(lastUsed_->lastStart, start);
  lastUsed_->last = std::max(lastUsed_->last, end);
}

TimeSpread::Kept TimeSpread::kept() const {
  std::vector<Minute> all;
  for (const auto& [minute, own] : minutes_) all.push_back(own);
  Kept result;
  std::span<const Minute> rest(all);
  for (;;) {
    std::int64_t events = 0, before = 0, gap = 0, eventsBefore = 0;
    std::size_t at = 0;  // the first minute behind the longest gap
    for (const Minute& own : rest) events += own.events;
    std::int64_t last = rest.empty() ? 0 : rest.front().last;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i].first - last > gap) {
        gap = rest[i].first - last;
        at = i;
        eventsBefore = before;
      }
      before += rest[i].events;
      last = std::max(last, rest[i].last);
    }
    if (gap < kLeastDistance) break;
    const bool isBefore = eventsBefore * 2 < events;
    const std::span<const Minute> most = isBefore ? rest.subspan(at) : rest.first(at);
    const std::int64_t few = isBefore ? eventsBefore : events - eventsBefore;
    const std::int64_t span = most.back().lastStart - most.front().first;
    if (few * kTimesTheEvents > events - few || gap / kTimesTheSpan < span) break;
    result.apart.push_back({few, gap, isBefore});
    rest = most;
  }
  for (const Minute& own : rest) {
    result.first = std::min(result.first, own.first);
    result.lastStart = std::max(result.lastStart, own.lastStart);
    result.last = std::max(result.last, own.last);
  }
  return result;
}

}  // namespace pipescope::importing

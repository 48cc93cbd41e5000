#include "profiler/record/host_span.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "profiler/record/host_log.h"

namespace pipescope::record {
namespace detail {
namespace {

/// Limit of what a thread holds until a profile takes it. A program that annotates a tight loop reaches it.
constexpr std::size_t kMostHeldEntries = 1'000'000;

/// The log of a thread, which the list of the process keeps until it has been read.
struct OwnHostLog {
  ~OwnHostLog() {
    if (!log) return;
    const std::lock_guard lock(log->mutex);
    log->ended = true;
  }
  std::shared_ptr<HostThreadLog> log;
  std::string name;
};
thread_local OwnHostLog own;

HostThreadLog& ownLog() {
  if (own.log) return *own.log;
  own.log = std::make_shared<HostThreadLog>();
  own.log->name = own.name;
  HostLog& all = hostLog();
  const std::lock_guard lock(all.mutex);
  all.threads.push_back(own.log);
  return *own.log;
}

void addEntry(HostThreadLog& log, const HostEntry& entry) {
  const std::lock_guard lock(log.mutex);
  if (log.entries.spans.size() < kMostHeldEntries) {
    log.entries.spans.push_back(entry);
  } else {
    ++log.entries.dropped;
  }
}

}  // namespace

HostLog& hostLog() {
  // It is never destroyed, because threads may end after the static objects of the program.
  static HostLog& log = *new HostLog;
  return log;
}

std::int32_t HostLabels::find(const HostLogLabel& label) {
  const std::lock_guard lock(mutex_);
  if (const auto known = indices_.find(label); known != indices_.end()) return known->second;
  const bool isFull = labels_.size() >= kMostLabels;
  const HostLogLabel added = isFull ? HostLogLabel{"", "(other names)", ""} : label;
  const auto [place, isNew] = indices_.emplace(added, static_cast<std::int32_t>(labels_.size()));
  if (isNew) labels_.push_back(&place->first);
  return place->second;
}

HostLogLabel HostLabels::at(std::int32_t index) const {
  const std::lock_guard lock(mutex_);
  return *labels_[static_cast<std::size_t>(index)];
}

std::shared_ptr<HostThreadLog> hostThreadLog() {
  ownLog();
  return own.log;
}

}  // namespace detail

HostNameId hostName(std::string_view channel, std::string_view name) {
  return {detail::hostLog().names.find({std::string(channel), std::string(name), ""})};
}

HostSeriesId hostSeries(std::string_view chart, std::string_view name, std::string_view unit) {
  return {detail::hostLog().series.find({std::string(chart), std::string(name), std::string(unit)})};
}

void nameHostThread(std::string name) {
  detail::own.name = std::move(name);
  if (!detail::own.log) return;
  const std::lock_guard lock(detail::own.log->mutex);
  detail::own.log->name = detail::own.name;
}

std::int64_t hostNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void addHostEvent(HostNameId name) {
  if (!hostIsTraced()) return;
  const std::int64_t now = hostNow();
  detail::addEntry(detail::ownLog(), {name.index, now, now});
}

void addHostSample(HostSeriesId series, double value) {
  if (!hostIsTraced()) return;
  const std::int64_t now = hostNow();
  detail::HostThreadLog& log = detail::ownLog();
  const std::lock_guard lock(log.mutex);
  if (log.entries.values.size() < detail::kMostHeldEntries) {
    log.entries.values.push_back({series.index, now, value});
  } else {
    ++log.entries.dropped;
  }
}

void HostSpanTimer::finish() const {
  if (!hostIsTraced()) return;
  // An entry without a length is an event.
  detail::addEntry(detail::ownLog(), {name_.index, start_, std::max(hostNow(), start_ + 1)});
}

OpenHostSpan::OpenHostSpan(HostNameId name) : name_(name) {
  if (!hostIsTraced()) return;
  log_ = detail::hostThreadLog();
  start_ = hostNow();
}

void OpenHostSpan::end() {
  if (!log_) return;
  if (hostIsTraced()) detail::addEntry(*log_, {name_.index, start_, std::max(hostNow(), start_ + 1)});
  log_.reset();
}

}  // namespace pipescope::record

#pragma once
// Measures what the host does: named spans, events and values over the wall clock, on any thread.
//
// Nothing is measured unless a profile records the host (HostTrace); a span then costs one look at a flag.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pipescope::record {

/// A name of spans in a channel. Names and series are the same for all profiles of a process.
struct HostNameId {
  std::int32_t index = -1;
};
struct HostSeriesId {
  std::int32_t index = -1;
};

/// Finds or makes a name. Code that is called often keeps the result in a static variable. A process may use
/// 100,000 names; what comes later gets the name "(other names)".
HostNameId hostName(std::string_view channel, std::string_view name);
/// Finds or makes a series of values; series of one chart are drawn together. The same limit holds.
HostSeriesId hostSeries(std::string_view chart, std::string_view name, std::string_view unit);

namespace detail {
inline std::atomic<int> hostListeners{0};
struct HostThreadLog;
std::shared_ptr<HostThreadLog> hostThreadLog();
}  // namespace detail

/// True while a profile records the host.
inline bool hostIsTraced() {
  return detail::hostListeners.load(std::memory_order_relaxed) > 0;
}

/// Names the calling thread in the profiles that begin to record it later.
void nameHostThread(std::string name);

/// Nanoseconds of the host's steady clock.
std::int64_t hostNow();
/// Records something without a length, such as a checkpoint that was reached.
void addHostEvent(HostNameId name);
/// Records a value of a series at this moment. It does nothing if no HostTrace listens.
void addHostSample(HostSeriesId series, double value);

/// Measures from its construction to its destruction. Spans of a thread nest.
class HostSpanTimer {
 public:
  explicit HostSpanTimer(HostNameId name) : name_(name) {
    if (hostIsTraced()) start_ = hostNow();
  }
  ~HostSpanTimer() {
    if (start_ != kNotTraced) finish();
  }
  HostSpanTimer(const HostSpanTimer&) = delete;
  HostSpanTimer& operator=(const HostSpanTimer&) = delete;

 private:
  static constexpr std::int64_t kNotTraced = INT64_MIN;
  void finish() const;

  HostNameId name_;
  std::int64_t start_ = kNotTraced;
};

/// Measures the rest of the block.
#define PIPESCOPE_HOST_SPAN(variable, channel, name)            \
  static const ::pipescope::record::HostNameId variable##Name = \
      ::pipescope::record::hostName(channel, name);             \
  const ::pipescope::record::HostSpanTimer variable(variable##Name)

/// A span whose beginning and end are separate calls, maybe of different threads. It belongs to the thread
/// that began it.
class OpenHostSpan {
 public:
  explicit OpenHostSpan(HostNameId name);
  /// Records the span. Later calls do nothing.
  void end();

 private:
  HostNameId name_;
  std::int64_t start_ = 0;
  std::shared_ptr<detail::HostThreadLog> log_;  ///< null: not traced, or ended
};

}  // namespace pipescope::record

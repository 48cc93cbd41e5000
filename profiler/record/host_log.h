#pragma once
// Measurements of the threads of this process that no profile has taken yet. host_span.h fills the log, and
// host_trace.h empties it.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/record/host_span.h"

namespace pipescope::record {
class HostTrace;
}

namespace pipescope::record::detail {

struct HostEntry {
  std::int32_t name = 0;
  std::int64_t start = 0, end = 0;  ///< ns of the steady clock
};
struct HostValue {
  std::int32_t series = 0;
  std::int64_t time = 0;
  double value = 0;
};
/// Measurements since the last look.
struct HostEntries {
  std::vector<HostEntry> spans;
  std::vector<HostValue> values;
  std::int64_t dropped = 0;  ///< number of further ones that were dropped
};

struct HostThreadLog {
  std::mutex mutex;
  std::string name;
  HostEntries entries;
  bool ended = false;  ///< the thread has ended
};

struct HostLogLabel {
  std::string group, name, unit;  ///< channel and name, or chart, name and unit
  friend auto operator<=>(const HostLogLabel&, const HostLogLabel&) = default;
};

/// Labels in the order in which they were first used.
class HostLabels {
 public:
  std::int32_t find(const HostLogLabel& label);
  HostLogLabel at(std::int32_t index) const;

 private:
  static constexpr std::size_t kMostLabels = 100'000;
  mutable std::mutex mutex_;
  std::map<HostLogLabel, std::int32_t> indices_;
  std::vector<const HostLogLabel*> labels_;
};

/// The logs and labels of the process.
struct HostLog {
  HostLabels names, series;
  std::mutex mutex;  ///< guards the lists, and what the traces have not recorded yet
  std::vector<std::shared_ptr<HostThreadLog>> threads;
  std::vector<HostTrace*> traces;
};
HostLog& hostLog();

}  // namespace pipescope::record::detail

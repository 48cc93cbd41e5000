#pragma once
// Records what the host does into a profile.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profiler/record/host_log.h"
#include "profiler/record/recorder.h"

namespace pipescope::record {

/// Listens to the spans, events and values of all threads of the process from its construction on. Several
/// profiles may do so at a time; each gets everything. One thread uses an object at a time.
class HostTrace {
 public:
  HostTrace();
  ~HostTrace();
  HostTrace(const HostTrace&) = delete;
  HostTrace& operator=(const HostTrace&) = delete;

  /// Adds the rows of everything that has ended since the last call. Times count from `zero`.
  void record(Recorder& recorder, std::chrono::steady_clock::time_point zero);
  /// The same, unless a call within the last 50 ms did it.
  void recordIfDue(Recorder& recorder, std::chrono::steady_clock::time_point zero);
  /// Adds a diagnostic if not everything was kept. Call it once, after the last record().
  void recordLimits(Recorder& recorder) const;

  /// Everything that has ended since the last call, for the profile of another process. Times count from
  /// `zero`.
  std::vector<std::byte> pack(std::chrono::steady_clock::time_point zero);
  /// Adds the rows of another process, which pack() made. `process` names it, and `shift` is added to its
  /// times. Bytes that pack() did not make are refused.
  base::Status recordPacked(Recorder& recorder, std::span<const std::byte> bytes, const std::string& process,
                            std::chrono::nanoseconds shift);

 private:
  /// Measurements of one thread.
  struct Inbox {
    std::string name;
    detail::HostEntries entries;
  };
  static void distribute();
  void receive(const std::shared_ptr<detail::HostThreadLog>& thread, const std::string& name,
               const detail::HostEntries& entries);
  std::vector<Inbox> takeInboxes();
  model::HostNameId nameOf(Recorder& recorder, const detail::HostLogLabel& label);
  model::HostSeriesId seriesOf(Recorder& recorder, const detail::HostLogLabel& label);

  std::map<std::shared_ptr<detail::HostThreadLog>, std::size_t> places_;
  std::vector<Inbox> inboxes_;
  std::vector<model::HostThreadId> threads_;  ///< rows of the inboxes
  std::map<detail::HostLogLabel, model::HostNameId> names_;
  std::map<detail::HostLogLabel, model::HostSeriesId> series_;
  std::vector<model::HostNameId> nameRows_;      ///< rows by the index of a HostName
  std::vector<model::HostSeriesId> seriesRows_;  ///< rows by the index of a HostSeries
  std::int64_t kept_ = 0, dropped_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace pipescope::record

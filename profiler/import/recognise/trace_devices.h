#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/rules.h"
#include "profiler/model/rows.h"

namespace pipescope::importing {

/// Devices and lanes that the events of one trace belong to. Their ids count within the trace: what is
/// recognised states these, and whoever writes rows translates them.
class TraceDevices {
 public:
  explicit TraceDevices(const TraceData& trace);

  struct Lane {
    ThreadId thread;
    std::size_t level = 0;  ///< 0: not enclosed by another slice of the thread
    model::DeviceId device;
    std::string name;  ///< name that a rule states; mostly none
    auto operator<=>(const Lane&) const = default;
  };

  /// Processes with work of an accelerator. If there is only one, the host's processes share its device.
  const std::vector<ProcessId>& accelerators() const { return accelerators_; }
  /// Devices of these processes that an event was asked for.
  std::vector<model::DeviceId> acceleratorDevices() const;
  /// The process whose device an event's process belongs to. Our own exports hold the hosts of several
  /// accelerators, and name them after these.
  ProcessId ownerOf(ProcessId process) const;
  model::DeviceId deviceOf(const TraceEvent& event, const Meaning& meaning);
  /// `device`: that of the event.
  model::LaneId laneOf(const TraceEvent& event, std::size_t level, model::DeviceId device,
                       const Meaning& meaning);

  /// The process that a device stands for; none: a rule names the device.
  std::optional<ProcessId> processOf(model::DeviceId device) const;
  /// The name of a device that a rule names.
  const std::string& nameOf(model::DeviceId device) const;
  const Lane& lane(model::LaneId lane) const { return *lanes_[static_cast<std::size_t>(lane.value)]; }
  /// The first lane of a thread's level; none: it has no slice.
  std::optional<model::LaneId> firstLane(ThreadId thread, std::size_t level) const;
  /// All lanes by thread, level, device and name.
  const std::map<Lane, model::LaneId>& lanes() const { return laneIds_; }

 private:
  void findNpu();

  const TraceData& trace_;
  std::vector<ProcessId> accelerators_;
  std::optional<ProcessId> npu_;
  std::vector<ProcessId> collectivesOfNpu_;
  std::vector<bool> used_;                        // processes whose device was asked for
  std::vector<std::optional<ProcessId>> owners_;  // owners of processes, as far as they were asked for
  std::map<std::string, model::DeviceId> namedIds_;
  std::vector<std::string> names_;  // of named devices, behind the processes
  std::map<Lane, model::LaneId> laneIds_;
  std::vector<const Lane*> lanes_;
  std::tuple<ThreadId, std::size_t, model::DeviceId> usual_;
  std::optional<model::LaneId> usualLane_;
};

}  // namespace pipescope::importing

#pragma once
#include <cstdint>
#include <vector>

#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Passes that a trace marks on the host, although an accelerator computes them. The host only launches their
/// work and goes on, so the times of a pass are those of the kernels that were launched within it.
class LaunchedWork {
 public:
  explicit LaunchedWork(const TraceData& trace) : trace_(trace) {}

  /// True for a pass of a host thread in a trace that knows which kernels a host thread launched.
  bool holds(const TraceEvent& event) const;
  /// Keeps such a pass until take(). Its times are in the caller's terms, like those of slices.
  void hold(RecordedPass pass, const TraceEvent& event);
  /// Takes a slice of any thread with its device, lane and times. `communicates`: it is a message or a
  /// collective.
  void add(const TraceEvent& event, bool communicates, const RecordedPass& slice);
  /// The passes that were held. A pass without a step gets the one of `steps` within which it was marked: its
  /// kernels may run when the host is in the next step already. Those with kernels have the accelerator that
  /// did most of their work, and last from the beginning of the first kernel to the end of the last one.
  /// Those without kernels are left out, as the host's time says nothing about them. Empty if the trace has
  /// more launches than the importer keeps.
  std::vector<RecordedPass> take(const std::vector<RecordedStep>& steps);
  /// Number of passes that were left out: those that state their stage, or all. Valid after take().
  std::int64_t unrelated() const { return unrelated_; }

 private:
  struct Launch {
    std::int64_t correlation = 0, process = 0, thread = 0;
    base::Ticks time;
  };
  struct Kernel {
    std::int64_t correlation = 0, queue = 0;
    model::DeviceId device;
    model::LaneId lane;
    base::Ticks start, end;
  };
  struct Held {
    RecordedPass pass;
    std::int64_t process = 0, thread = 0;
  };
  std::vector<std::vector<const Kernel*>> kernelsOfPasses();

  const TraceData& trace_;
  std::vector<Held> held_;
  std::vector<Launch> launches_;
  std::vector<Kernel> kernels_;
  bool tooMany_ = false;
  std::int64_t unrelated_ = 0;
};

}  // namespace pipescope::importing

#pragma once
// Work of a run's host besides the devices: the work of the program that issues the steps, and the
// preparation of samples. The user states all of it; by default the host takes no time.
#include <cstdint>
#include <string>

#include "profiler/base/units.h"

namespace pipescope::emulate {

using base::Bytes;
using base::Ticks;

/// The host's work for one process, which drives one replica. A step is a weight update with all its
/// micro-batches, or in inference a call.
struct HostModel {
  double secondsPerStep = 0, secondsPerSample = 0;  ///< work of the process itself
  double secondsPerCall = 0;  ///< its work for a call, which the compiler spreads over the steps of the call
  /// The process needs a result of each step before it goes on, so its work follows the step. Otherwise it
  /// works on the next step while the devices compute, at most one step ahead.
  bool readsResults = false;
  double secondsPerLoad = 0;       ///< time to read, decode and augment a sample
  std::int64_t loaderWorkers = 0;  ///< processes that prepare samples; 0: the process itself does
  double loaderRate = 0;           ///< samples per second that a process's workers prepare; 0: no limit
  /// Samples per second that the network brings to each replica before they are used; 0: no limit of its own.
  double networkRate = 0;
  std::int64_t cores = 0;      ///< cores that all processes of a host share; 0: enough
  std::int64_t processes = 0;  ///< processes on one host; 0: those of all replicas
  Bytes memory;                ///< memory of a host; 0: not stated
  Bytes
      weights;  ///< weights of the whole model, which each process reads before it sends them to its devices

  /// Seconds of the process for a step of so many samples. `replicas` is their number in the run.
  double stepSeconds(std::int64_t samples, std::int64_t replicas) const;
  /// Samples per second that are prepared and sent to one replica; 0: they never delay a device.
  double samplesPerSecond(std::int64_t replicas) const;
  /// Samples per second that the process's workers prepare for one replica; 0: no limit.
  double preparedPerSecond(std::int64_t replicas) const;
  /// Processes on one host. Each of the `ranks` that share the work of a place has a process of its own.
  std::int64_t processesOfHost(std::int64_t replicas, std::int64_t ranks) const;
  /// A sentence if the weights that the processes of a host hold, and its part of the data that a call
  /// streams, are more than its memory. Empty: they fit, or no memory is stated.
  std::string memoryOverflow(std::int64_t replicas, std::int64_t ranks, Bytes streams) const;

 private:
  /// Factor by which each process runs slower because there are fewer cores than processes that work.
  double crowding(std::int64_t replicas) const;
};

}  // namespace pipescope::emulate

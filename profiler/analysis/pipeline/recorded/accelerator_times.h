#pragma once
// Work of the accelerators of an imported trace: kernels, copies, communication, and the reasons for idle
// time.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct WorkSum {
  std::int64_t count = 0;
  Ticks sum;     ///< sum of all lengths
  Ticks active;  ///< time in which at least one of them runs
};

/// A training step that the host of an accelerator marks, and the work of the accelerator within it. The step
/// begins with the mark, or at the end of the step before if that is later, and lasts until the mark and the
/// work that was launched within it have ended. Steps never overlap, so a moment counts for one step, also
/// where copies run ahead of the step that they were launched for.
struct MarkedStep {
  std::int64_t number = 0;
  Ticks start, end;
  Ticks busy, compute, communication, exposedCommunication;  ///< see AcceleratorTimes
};

struct AcceleratorTimes {
  model::DeviceId device;
  /// A process that computes without an accelerator, and none of whose kernels communicates or copies.
  /// Threads of the host do that for it, so that the times of communication and copies are not known.
  bool isProcess = false;
  Ticks start, end;           ///< first start and last end of its kernels and copies
  Ticks busy;                 ///< time in which at least one kernel or copy runs
  Ticks idle;                 ///< the rest
  Ticks hostIdle;             ///< part of idle before the host began to launch what ran next
  Ticks unknownIdle;          ///< part of idle before work whose launch is not known
  std::int64_t launched = 0;  ///< kernels and copies whose launch is known
  std::int64_t count = 0;     ///< kernels and copies
  /// Kernels and copies that a host launches. Passes that a processor computes itself and operations without
  /// a category have no launch.
  std::int64_t launchable = 0;
  double meanLaunchDelay = 0;     ///< ticks from the launch's start to the kernel's start, of those launched
  std::int64_t longestQueue = 0;  ///< most kernels that were launched and had not started
  Ticks compute;                  ///< time in which a kernel that does not communicate runs
  Ticks communication;            ///< time in which a kernel communicates …
  Ticks exposedCommunication;     ///< … and no other kernel computes
  std::map<std::string, WorkSum> categories;  ///< sums by the trace's own names: kernel, gpu_memcpy …
  std::vector<MarkedStep> steps;              ///< sorted by start
};

struct KernelSum {
  std::string name, category;
  WorkSum work;
};

/// One communication kernel of each rank, matched by order.
struct MatchedCollective {
  std::string name;
  std::string group;        ///< process group and operation, as the trace states them; else empty
  std::int64_t number = 0;  ///< number among those of this group, or of this name, from 0
  std::int64_t ranks = 0;
  model::DeviceId last;  ///< the rank that started last: the others waited for it
  Ticks start, lastStart, end;
  Ticks waited;  ///< sum over ranks of the wait for the last start
};

struct AcceleratorReport {
  std::vector<AcceleratorTimes> devices;
  std::vector<KernelSum> kernels;  ///< sums over all devices, longest sum first
  std::vector<MatchedCollective> collectives;
  /// Number of communication kernels on all devices. If no kernel communicates, it is the number of
  /// collectives that the hosts themselves take part in.
  std::int64_t communicationKernels = 0;
  std::int64_t matched = 0;  ///< number of them that are matched

  /// A sentence that says why there is no verdict on collectives; empty: some are matched.
  std::string noVerdictOnCollectives() const;
};

/// Empty if the profile is no imported trace. Without kernels and recognised passes there are only the
/// collectives that the hosts themselves take part in, as with gloo.
///
/// The n-th communication kernel of a process group and operation on one device belongs to the n-th on the
/// other devices that state the group, if all of them have equally many. The n-th kernel of a name that
/// states no group belongs to the n-th on all other devices, if all have equally many. Others stay unmatched.
Result<AcceleratorReport> acceleratorReport(const model::ProfileSource& source, const Catalog& catalog);

}  // namespace pipescope::analysis

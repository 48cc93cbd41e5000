#pragma once
// The costs of a recorded job, learned from its profile: they say how long the same stages take with another
// schedule, another number of stages or micro-batches, or other links.
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"
#include "profiler/replay/order.h"

namespace pipescope::replay {

/// The median over the steady iterations of the mean over an iteration's micro-batches, in seconds, and the
/// range that holds 80 % of the single values. A step adds up many passes, so that their mean counts, and not
/// the most frequent value; the median keeps out iterations that something disturbed.
struct LearnedCost {
  double usual = 0, least = 0, most = 0;
};

struct LearnedStage {
  int place = 0;
  LearnedCost forward, recompute, backward;  ///< backward includes the weight gradients
  double weight = 0;                         ///< part of backward, if the run made it in a pass of its own
  double update = 0;                         ///< once per iteration, with what follows the last backward pass
  double collective = 0;                     ///< once per iteration, between replicas
  std::int64_t sends = 0;                    ///< bytes to the next stage; 0: not known
  std::int64_t inFlight = 0;                 ///< micro-batches under way when the device holds most
};

struct LearnedModel {
  std::string schedule;   ///< the recorded one, or the one that fits best; empty: none fits
  bool followed = false;  ///< all passes have the place that the schedule gives them
  int microBatches = 0, replicas = 1, places = 0;
  std::vector<LearnedStage> stages;
  int steady = 0, warmUp = 0;  ///< iterations that the medians are taken over, and those before them
  double step = 0;             ///< median length of a steady iteration, seconds
  double launch = 0;           ///< from the end of a pass to the start of the next one that needs no input
  double receive = 0;          ///< the same where the input came from another device in time, less `launch`
  bool blockingSends = false;  ///< devices wait until the receivers take what they send; see clock::Call
  /// Devices that compute at full speed at the same time, because they share cores; see fixed.shared_compute.
  /// The costs of stages are those at full speed. 0: devices share nothing.
  double sharedCompute = 0;
  double exchange = 0;        ///< from the end of a pass to the arrival of its result at a device that waits
  double bytesPerSecond = 0;  ///< 0: all messages had the same length, or it is not known
  double betweenIterations = 0;  ///< from the end of an iteration to the first pass of the next one
  double begin = 0;  ///< time by which the first passes of devices in an iteration last longer, all together
  std::vector<std::optional<std::int64_t>> memory;  ///< most bytes of each place; none: not stated
  /// Bytes of each micro-batch under way, by stage, if the profile states them.
  std::optional<std::vector<std::int64_t>> stash;
  std::vector<std::string> remarks;
};

/// Learns from the executable's last call. `cores` is the number of cores that all devices of a recorded run
/// shared, as their processes ran on one machine; 0: it is found out where the passes tell it. Errors: there
/// are no whole iterations, or no stages.
base::Result<LearnedModel> learnModel(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                      model::ExecutableId executable, const Schedules* schedules,
                                      base::Progress& progress, double cores = 0);

}  // namespace pipescope::replay

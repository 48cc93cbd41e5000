#pragma once
// Finds the workers that make a recorded training run slower than it would be if all operations took their
// usual time.
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Effect of one worker, stage, data-parallel rank or type of operation on the step time.
struct Straggler {
  std::string name;
  /// Mean step time if only its operations take their recorded time and all others their usual one, ÷ mean
  /// step time if all take their usual time.
  double alone = 1;
  /// The same if only its operations take their usual time and all others their recorded one.
  double without = 1;
};

struct Stragglers {
  enum class Cause { none, stage, worker, replica, rank, type, several };

  /// Ticks of each iteration, from the first start to the last end (RecordedGraph::iterations).
  std::vector<double> recorded;
  /// The same without launch delays: each operation starts when what it follows has ended.
  std::vector<double> replayed;
  /// Ticks of an iteration if every operation takes its usual time: the mean of its type for computations,
  /// the median of its type for messages and collectives.
  std::vector<double> usual;
  double slowdown = 1;        ///< mean of `replayed` ÷ mean of `usual`
  double launchSlowdown = 1;  ///< mean of `recorded` ÷ mean of `replayed`
  std::vector<Straggler> stages, workers, replicas, types;
  std::vector<Straggler> ranks;    ///< ranks of a place, over all places; one: each place is one device
  std::vector<double> iterations;  ///< slowdown of each iteration: replayed ÷ usual
  /// Time of the computations of each worker in each iteration ÷ the usual time of the same computations.
  std::vector<std::vector<double>> pace;
  bool messages = false;  ///< the trace states messages between stages

  Cause cause = Cause::none;
  std::string culprit;  ///< name of the worker, stage … that is the cause; empty: none, several
  /// Share of the slowdown that disappears with the culprit's operations at their usual time.
  double explained = 0;
};

/// Replays the executable's last run. No value: `why` says why there is no verdict.
struct StragglersAnswer {
  std::optional<Stragglers> stragglers;
  std::string why;
};
Result<StragglersAnswer> stragglers(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable);

}  // namespace pipescope::analysis

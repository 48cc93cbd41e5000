#pragma once
// The borders of the iterations of a call. The pages and sections take the step time from here.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// One iteration of a call: a flush with its weight update, host copies and waits. The length is the step
/// time.
struct IterationSpan {
  model::RunId run;
  std::int32_t iteration = 0;
  Ticks start, end;  ///< times in ticks of device 0
  std::int64_t placements = 0;
  Ticks length() const { return end - start; }
};

/// Finds the borders from the ends of placements. An iteration ends when the last of its placements has
/// ended, which is the weight update in training, and the next one begins there. The first one begins with
/// the call and the last one ends with it, so the lengths of a call's iterations add up to the length of the
/// call. A recorded run may hold anything before and behind its iterations: they begin with the first of
/// their placements and end with the last one.
class IterationEnds {
 public:
  /// `end` is in ticks of device 0, and the last one of as many placements as `count` says. Ignores
  /// placements that belong to no iteration.
  void add(model::RunId run, std::int32_t iteration, Ticks end, std::int64_t count = 1) {
    if (iteration < 0) return;
    Known& known = known_.try_emplace({run, iteration}, Known{end, 0}).first->second;
    known.end = std::max(known.end, end);
    known.placements += count;
  }
  /// The start of a placement of a recorded run, in ticks of device 0.
  void addStart(model::RunId run, std::int32_t iteration, Ticks start) {
    if (iteration < 0) return;
    Ticks& first = starts_.try_emplace(run, start).first->second;
    first = std::min(first, start);
  }
  /// The iterations of these calls, by start. `last` is the number of a call's last iteration; without it,
  /// the last one that was added counts as such.
  std::vector<IterationSpan> spansOf(const std::vector<model::Run>& runs,
                                     std::optional<std::int32_t> last = std::nullopt) const;

 private:
  struct Known {
    Ticks end;
    std::int64_t placements = 0;
  };
  std::map<std::pair<model::RunId, std::int32_t>, Known> known_;
  std::map<model::RunId, Ticks> starts_;  // starts of recorded runs
};

/// The iterations of a call from its placements. Those of other replicas do not bound a recorded run: their
/// clocks may have nothing in common.
std::vector<IterationSpan> iterationsOf(const Catalog& catalog,
                                        const std::vector<model::Placement>& placements,
                                        const model::Run& run);

/// The iteration of that number; null if the list does not hold it.
const IterationSpan* findIteration(const std::vector<IterationSpan>& spans, std::int32_t iteration);

/// The place in the list of the iteration that stands for its call where one is shown first: the first one
/// that has at least nine tenths as many placements as the median and is at least half as long. A recording
/// often begins within an iteration, and what it holds of that may be a weight update alone. 0 if there are
/// none.
std::size_t mainIteration(const std::vector<IterationSpan>& spans);

/// Mean length of the iterations in ticks of device 0. 0: there are none.
double meanStepTime(const std::vector<IterationSpan>& spans);

}  // namespace pipescope::analysis

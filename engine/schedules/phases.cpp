#include "engine/schedules/phases.h"
#include "profiler/base/number_ranges.h"

#include <fmt/format.h>

namespace pipescope::schedules {

std::string PhaseNumbers::describe() const {
  return fmt::format("Phases run as {} forward and {} backward.", base::numberRanges(forward),
                     base::numberRanges(backward));
}

PhaseNumbers phaseNumbers(int phases, bool separateBackward, PhaseLiveness liveness) {
  const int k = liveness == PhaseLiveness::afterEachPhase          ? 4
                : liveness == PhaseLiveness::afterForwardNoOverlap ? 2
                                                                   : 1;
  const int largest = (phases - 1) * k;
  const int more = liveness != PhaseLiveness::alwaysLive ? 3 : separateBackward ? 1 : 0;
  const int count = largest + 1 + more;
  PhaseNumbers numbers;
  for (int phase = 0; phase < phases; ++phase) {
    numbers.forward.push_back(phase * k);
    numbers.backward.push_back(2 * count - 2 - phase * k);
  }
  return numbers;
}

}  // namespace pipescope::schedules

#pragma once
// Numbers of phases as PopTorch's phased execution gives them (source: graphcore/poptorch, phased execution).
#include <string>
#include <vector>

namespace pipescope::schedules {

/// What is on the chip while a phase does not run.
enum class PhaseLiveness {
  alwaysLive,
  afterForward,           ///< off the chip after the forward pass
  afterForwardNoOverlap,  ///< likewise, loads and stores in numbers of their own (serial only)
  afterEachPhase,         ///< off the chip after each phase (serial only)
};

struct PhaseNumbers {
  std::vector<int> forward, backward;  ///< by phase
  /// "Phases run as 0, 1, 2 forward and 4, 3, 2 backward."
  std::string describe() const;
};

/// A forward phase has number index · k, with k = 2 where loads and stores have numbers between them, 4 where
/// they have after each phase; Q is the largest + 1, and 3 more where liveness is not alwaysLive, otherwise 1
/// more with a separate backward phase; the backward phase of φ is 2Q − 2 − φ.
PhaseNumbers phaseNumbers(int phases, bool separateBackward,
                          PhaseLiveness liveness = PhaseLiveness::alwaysLive);

}  // namespace pipescope::schedules

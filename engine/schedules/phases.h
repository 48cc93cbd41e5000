#pragma once
// Numbers of phases in phased execution (source: graphcore/poptorch, phased execution).
#include <string>
#include <vector>

namespace pipescope::schedules {

/// Time during which the tensors of a phase are on the chip.
enum class PhaseLiveness {
  alwaysLive,
  afterForward,           ///< They leave the chip after the forward pass.
  afterForwardNoOverlap,  ///< The same, but loads and stores have phase numbers of their own (serial only).
  afterEachPhase,         ///< They leave the chip after each phase (serial only).
};

struct PhaseNumbers {
  std::vector<int> forward, backward;  ///< number of each phase
  /// "Phases run as 0–2 forward and 4–2 backward."
  std::string describe() const;
};

/// The forward pass of phase i has the number i · k. k is 2 if loads and stores have numbers of their own, 4
/// if they have so after each phase, and 1 otherwise. Q is the largest such number plus 1, plus 3 if liveness
/// is not alwaysLive, or else plus 1 if the backward phase is separate. The backward pass of a phase with the
/// number φ has the number 2Q − 2 − φ.
PhaseNumbers phaseNumbers(int phases, bool separateBackward,
                          PhaseLiveness liveness = PhaseLiveness::alwaysLive);

}  // namespace pipescope::schedules

#pragma once
// The one change of split or options that gains most, tried by replay.
#include "profiler/replay/what_if.h"

namespace pipescope::replay {

struct BestMove {
  Change change;
  double gain = 0;  ///< rate with the change ÷ recorded rate − 1
  double stepTicksBefore = 0, stepTicksAfter = 0;
  std::optional<double> samplesPerSecond;  ///< rate with the change
  std::optional<bool> fits;                ///< none: the recording does not tell
  bool hasMemory = true;                   ///< false if the devices have costs only, and no memory
  std::vector<std::string> remarks;
};

struct BestMoveAnswer {
  std::optional<BestMove> move;
  std::string reason;  ///< reason why there is no move; empty if there is one
  int tried = 0;       ///< changes that were replayed
};

/// The moves of a block at the edge of a stage to its neighbour.
std::vector<Change> blockMoves(const Recording& recording);

/// A new split of the recorded blocks, found by moving one block after another, each time the one with which
/// the replayed call is shortest. Moves that would not fit do not count. Empty: no move gains anything.
std::vector<Change> replannedSplit(const ChangeContext& context, const Recording& recording);

/// Gains below this share are none.
inline constexpr double kLeastGain = 0.01;

/// Tries to send each block at the edge of a stage to its neighbour, to double the micro-batches, to keep
/// what is computed again or the reverse, and each schedule that leaves the stages where they are. Moves
/// whose memory would not fit do not count.
BestMoveAnswer bestMove(const ChangeContext& context, const Recording& recording);
/// The same for the executable's last call. Long calls are left alone, because reports must not take long.
BestMoveAnswer bestMove(const ChangeContext& context, model::ExecutableId executable);

}  // namespace pipescope::replay

#include "profiler/replay/best_move.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "profiler/replay/trial.h"

namespace pipescope::replay {
namespace {

std::vector<Change> candidates(const ChangeContext& context, const Recording& recording) {
  std::vector<Change> moves;
  if (recording.orders.front().pipes == 1) moves = blockMoves(recording);
  if (!recording.training) return moves;
  moves.push_back({kRecomputeKey, recording.executable.recompute == "none" ? "pipeline" : "none"});
  if (recording.stageCount() < 2) return moves;
  moves.push_back({kAccumulationKey, fmt::format("{}", 2 * recording.microBatches)});
  if (context.schedules == nullptr) return moves;
  for (const std::string& name : context.schedules->names)
    if (name != recording.executable.schedule) moves.push_back({kScheduleKey, name});
  return moves;
}

}  // namespace

std::vector<Change> blockMoves(const Recording& recording) {
  std::vector<Change> moves;
  for (const model::Stage& stage : recording.stages) {
    std::istringstream words(stage.blocks);
    std::vector<std::string> blocks;
    for (std::string block; words >> block;) blocks.push_back(block);
    if (blocks.size() < 2) continue;
    if (stage.index > 0) moves.push_back({"move", fmt::format("{}:{}", blocks.front(), stage.index - 1)});
    if (stage.index + 1 < recording.stageCount())
      moves.push_back({"move", fmt::format("{}:{}", blocks.back(), stage.index + 1)});
  }
  return moves;
}

std::vector<Change> replannedSplit(const ChangeContext& context, const Recording& recording) {
  constexpr std::size_t kMostMoves = 8, kMostTrials = 200;
  constexpr double kWorthAMove = 0.002;  // a further move must gain more than this
  std::vector<Change> best;
  if (recording.orders.front().pipes != 1) return best;
  const base::Result<ReplayedCall> before = replayedCall(context, recording);
  if (!before.ok()) return best;
  double gained = 0;
  std::size_t trials = 0;
  while (best.size() < kMostMoves) {
    const base::Result<Changed> now = applyChanges(context, recording, best);
    if (!now.ok()) break;
    std::vector<Change> longer;
    double most = gained + kWorthAMove;
    for (const Change& move : blockMoves(now->recording)) {
      if (++trials > kMostTrials) return best;
      std::vector<Change> moves = best;
      moves.push_back(move);
      const base::Result<Trial> trial = tryChanges(context, recording, *before, moves);
      if (!trial.ok() || trial->fits == false || trial->gain <= most) continue;
      most = trial->gain;
      longer = std::move(moves);
    }
    if (longer.empty()) break;
    best = std::move(longer);
    gained = most;
  }
  return best;
}

BestMoveAnswer bestMove(const ChangeContext& context, model::ExecutableId id) {
  BestMoveAnswer answer;
  const base::Result<Recording> recording = recordingForTrials(context, id);
  if (recording.ok()) return bestMove(context, *recording);
  answer.reason = recording.error().message;
  return answer;
}

BestMoveAnswer bestMove(const ChangeContext& context, const Recording& whole) {
  BestMoveAnswer answer;
  const Recording recording = shortened(whole);
  const base::Result<ReplayedCall> before = replayedCall(context, recording);
  if (!before.ok()) {
    answer.reason = before.error().message;
    return answer;
  }
  for (const Change& change : candidates(context, recording)) {
    const base::Result<Trial> trial = tryChanges(context, recording, *before, {change});
    if (!trial.ok()) continue;
    ++answer.tried;
    if (trial->gain < kLeastGain || trial->fits == false) continue;
    if (answer.move && trial->gain <= answer.move->gain) continue;
    answer.move = BestMove{change,
                           trial->gain,
                           before->stepTicks,
                           trial->stepTicksAfter,
                           trial->samplesPerSecond,
                           trial->fits,
                           !context.catalog.memorySpaces.empty(),
                           trial->remarks};
  }
  if (!answer.move)
    answer.reason =
        answer.tried == 0
            ? "No change of the split, the micro-batches, the schedule or recompute can be tried on this "
              "recording."
        : answer.tried == 1
            ? fmt::format("The only change that can be tried does not gain {:g} % or more, or does not fit.",
                          100 * kLeastGain)
            : fmt::format("None of {} changes that were tried gains {:g} % or more and fits.", answer.tried,
                          100 * kLeastGain);
  return answer;
}

}  // namespace pipescope::replay

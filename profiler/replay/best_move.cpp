#include "profiler/replay/best_move.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace pipescope::replay {
namespace {

/// The blocks at the edges of the stages, each to the neighbour.
void addBlockMoves(const Recording& recording, std::vector<Change>& moves) {
  for (const model::Stage& stage : recording.stages) {
    std::istringstream words(stage.blocks);
    std::vector<std::string> blocks;
    for (std::string block; words >> block;) blocks.push_back(block);
    if (blocks.size() < 2) continue;
    if (stage.index > 0) moves.push_back({"move", fmt::format("{}:{}", blocks.front(), stage.index - 1)});
    if (stage.index + 1 < recording.stageCount())
      moves.push_back({"move", fmt::format("{}:{}", blocks.back(), stage.index + 1)});
  }
}

std::vector<Change> candidates(const ChangeContext& context, const Recording& recording) {
  std::vector<Change> moves;
  if (recording.orders.front().pipes == 1) addBlockMoves(recording, moves);
  if (!recording.training() || recording.stageCount() < 2) return moves;
  moves.push_back({"gradient_accumulation", fmt::format("{}", 2 * recording.microBatches)});
  if (context.schedules == nullptr) return moves;
  for (const std::string& name : context.schedules->names)
    if (name != recording.executable.schedule) moves.push_back({"schedule", name});
  return moves;
}

/// The first iterations of a call, if the whole would take long.
Recording shortened(const Recording& recording) {
  constexpr int kMostIterations = 2;
  Recording few = recording;
  few.iterations = std::min(few.iterations, kMostIterations);
  few.run.samples = few.run.samples * few.iterations / recording.iterations;
  return few;
}

}  // namespace

BestMoveAnswer bestMove(const ChangeContext& context, model::ExecutableId id) {
  constexpr double kMostTasks = 5e5;
  BestMoveAnswer answer;
  const model::Executable* executable = context.catalog.executable(id);
  if (executable != nullptr &&
      static_cast<double>(executable->microBatches) * static_cast<double>(executable->stages) *
              static_cast<double>(std::max<std::int64_t>(executable->deviceIterations, 1)) >
          kMostTasks) {
    answer.reason = "The call is too long to try changes of it; pipescope what-if tries a single one.";
    return answer;
  }
  const base::Result<Recording> recording =
      readRecording(context.source, context.catalog, id, context.schedules);
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
    const base::Result<Changed> changed = applyChanges(context, recording, {change});
    if (!changed.ok()) continue;
    const base::Result<ReplayedCall> after = replayedCall(context, changed->recording);
    if (!after.ok() || after->microBatchTicks <= 0) continue;
    ++answer.tried;
    const double gain = before->microBatchTicks / after->microBatchTicks - 1;
    if (gain < kLeastGain || (answer.move && gain <= answer.move->gain)) continue;
    const auto fits = fitOf(context, recording, *changed);
    BestMove move{change,
                  gain,
                  before->stepTicks,
                  after->stepTicks,
                  after->samplesPerSecond,
                  true,
                  context.catalog.memorySpaces.size() > 0,
                  changed->remarks};
    for (const StageFit& fit : fits.ok() ? *fits : std::vector<StageFit>()) {
      if (!fit.fits) move.fits = std::nullopt;
      if (fit.fits && !*fit.fits) move.fits = false;
      if (move.fits == false) break;
    }
    if (!fits.ok()) move.fits = std::nullopt;
    if (move.fits != false) answer.move = std::move(move);
  }
  if (!answer.move)
    answer.reason =
        answer.tried == 0
            ? "No change of the split, of the micro-batches or of the schedule can be tried on this "
              "recording."
            : fmt::format("None of {} changes that were tried gains {:g} % or more and fits.", answer.tried,
                          100 * kLeastGain);
  return answer;
}

}  // namespace pipescope::replay

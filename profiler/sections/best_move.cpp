#include <fmt/format.h>

#include "profiler/sections/frame/reports.h"
#include "profiler/sections/replays.h"

namespace pipescope::sections {
namespace {

replay::Schedules& schedulesOfProcess() {
  static replay::Schedules schedules;
  return schedules;
}

const PartNames kMoveParts = {"gain_fraction", "before_step_cycles", "after_step_cycles",
                              "samples_per_second"};

}  // namespace

void setSchedules(replay::Schedules schedules) {
  schedulesOfProcess() = std::move(schedules);
}

const replay::Schedules* knownSchedules() {
  return schedulesOfProcess().make ? &schedulesOfProcess() : nullptr;
}

std::string noTrialsReason(const Context& context) {
  const auto stages = stagesOf(context);
  if (!stages.ok() || (*stages)->lost.replayed) return {};
  return "The recognised passes cannot be replayed within the recorded step, so no change can be tried.";
}

std::string bestMoveText(const replay::BestMoveAnswer& answer) {
  if (!answer.move) return {};
  const replay::BestMove& move = *answer.move;
  std::string text =
      fmt::format("Best single move: {} makes it {:.1f} % faster, says a replay of the recorded call.",
                  move.change.text(), 100 * move.gain);
  if (!move.fits && move.hasMemory) text += " The recording does not tell whether it fits into memory.";
  return text;
}

std::vector<Fact> bestMoveFacts(const replay::BestMoveAnswer& answer) {
  Cell parts;
  if (answer.move) {
    const replay::BestMove& move = *answer.move;
    const Amount samples = move.samplesPerSecond ? Amount(*move.samplesPerSecond) : Amount();
    parts = Breakdown{{kMoveParts[0], move.gain},
                      {kMoveParts[1], move.stepTicksBefore},
                      {kMoveParts[2], move.stepTicksAfter},
                      {kMoveParts[3], samples}};
  }
  const auto textIf = [](bool known, const std::string& text) { return known ? Cell(text) : Cell(); };
  return {
      {"best_move", "Best single move", parts, Format::number,
       "What the one change of split, micro-batches, schedule or recompute that gains most does, tried by "
       "replay of the "
       "recorded call. The gain is the rate with the change ÷ the recorded rate − 1.",
       false, kMoveParts},
      {"best_move_change", "Best single move",
       textIf(answer.move.has_value(), answer.move ? answer.move->change.text() : ""), Format::plain,
       "The change, as pipescope what-if --set takes it.", false},
      {"best_move_reason", "No best move because", textIf(!answer.move.has_value(), answer.reason),
       Format::plain, "Why there is none; null if there is one.", false},
  };
}

}  // namespace pipescope::sections

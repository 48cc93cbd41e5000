// Options of the run: micro-batches, schedule, replicas, recompute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/base/nearest.h"
#include "profiler/replay/reorder.h"

namespace pipescope::replay {
namespace {

using model::Pass;

base::Result<int> wholeNumber(const std::string& key, const std::string& value, int before, int most) {
  PIPESCOPE_ASSIGN(const double after, changedNumber(key, value, before));
  if (after != std::floor(after) || after < 1 || after > most)
    return base::badInput(
        fmt::format("{} must be a whole number from 1 to {}, but would be {}.", key, most, after));
  return static_cast<int>(after);
}

base::Status changeMicroBatches(const ChangeContext&, Changed& changed, const std::string&,
                                const std::string& value) {
  constexpr int kMost = 1'000'000;
  constexpr double kMostTasks = 5e5;  // each takes about a kilobyte of memory
  Recording& recording = changed.recording;
  if (!recording.training())
    return base::badInput("gradient_accumulation is for training, but the recorded call is inference.");
  PIPESCOPE_ASSIGN(const int count,
                   wholeNumber("gradient_accumulation", value, recording.microBatches, kMost));
  const double each = static_cast<double>(recording.iterations) * recording.stageCount();
  if (count * each > kMostTasks)
    return base::badInput(fmt::format(
        "gradient_accumulation={} gives more work than a replay takes, which is {:.0f} micro-batches "
        "for a call like this; choose a smaller number.",
        count, std::floor(kMostTasks / each)));
  const double more = recording.host.perMicroBatch * (count - recording.microBatches);
  recording.host.step = Ticks(recording.host.step.count + std::llround(more));
  recording.microBatches = count;
  recording.executable.microBatches = count;
  changed.reorder = true;
  return {};
}

base::Status changeSchedule(const ChangeContext& context, Changed& changed, const std::string&,
                            const std::string& value) {
  const std::vector<std::string> known =
      context.schedules == nullptr ? std::vector<std::string>() : context.schedules->names;
  if (std::find(known.begin(), known.end(), value) == known.end())
    return base::badInput(fmt::format("There is no schedule \"{}\"{} Known are {}.", value,
                                      base::didYouMean(value, known), fmt::join(known, ", ")));
  changed.recording.executable.schedule = value;
  changed.reorder = true;
  return {};
}

/// A ring sends 2 (R − 1) ÷ R of the bytes over each link (execution semantics: ring all-reduce).
double ringShare(std::int64_t replicas) {
  return static_cast<double>(replicas - 1) / static_cast<double>(replicas);
}

base::Status changeReplicas(const ChangeContext&, Changed& changed, const std::string&,
                            const std::string& value) {
  Recording& recording = changed.recording;
  const std::int64_t before = recording.executable.replicas;
  PIPESCOPE_ASSIGN(const int after,
                   wholeNumber("replication_factor", value,
                               static_cast<int>(std::min<std::int64_t>(before, 65536)), 65536));
  if (after == before) return {};
  if (before <= 1 && recording.training())
    return base::badInput(
        "The recording has one replica and thus no sum of gradients over replicas, whose time is not known: "
        "emulate it with pipescope run --replication-factor instead.");
  if (recording.measured)
    return base::badInput(
        "The trace does not tell how long sums of gradients over another number of replicas would take.");
  const double factor = before > 1 ? ringShare(after) / ringShare(before) : 1;
  const auto isCollective = [](Pass pass) { return pass == Pass::collective; };
  for (RecordedReplica& replica : recording.replicas) {
    for (RecordedStage& stage : replica.stages) {
      for (Pieces& update : stage.updates) {
        scale(update, factor, isCollective);
        if (after == 1) std::erase_if(update, [&](const Piece& piece) { return isCollective(piece.pass); });
      }
      for (OverlappedPiece& overlapped : stage.overlapped)
        overlapped.piece.ticks = scaled(overlapped.piece.ticks, factor);
      if (after == 1) stage.overlapped.clear();
    }
  }
  if (static_cast<std::size_t>(after) < recording.replicas.size())
    recording.replicas.resize(static_cast<std::size_t>(after));
  recording.executable.replicas = after;
  if (recording.training())
    changed.remarks.push_back(
        fmt::format("Sums of gradients over {} replicas are taken to need {:.3g} times the recorded time, as "
                    "in a ring over "
                    "the same links; other links between the replicas are not considered.",
                    after, factor));
  return {};
}

base::Status changeRecompute(const ChangeContext& context, Changed& changed, const std::string&,
                             const std::string& value) {
  Recording& recording = changed.recording;
  if (value != "on" && value != "off")
    return base::badInput(fmt::format("recompute is on or off, but not \"{}\".", value));
  if (!recording.training())
    return base::badInput("recompute is for training, but the recorded call is inference.");
  std::set<int> stages;
  for (int stage = 0; stage < recording.stageCount(); ++stage) {
    const std::vector<std::int64_t>& stash = recording.orders.front().stashEntries;
    const auto s = static_cast<std::size_t>(stage);
    const bool last = (stage + 1) % (recording.stageCount() / recording.orders.front().pipes) == 0;
    const std::vector<StageWork>& works = recording.replicas.front().stages[s].works;
    const bool has = std::any_of(works.begin(), works.end(), [](const StageWork& work) {
      return std::any_of(work.backward.begin(), work.backward.end(),
                         [](const Piece& piece) { return piece.pass == Pass::recompute; });
    });
    const bool wanted = value == "on" && (!last || (s < stash.size() && stash[s] > 0));
    if (has != wanted) stages.insert(stage);
  }
  PIPESCOPE_ASSIGN(const Launches launches, launchesOf(context, recording, stages));
  for (const int stage : stages) setRecompute(recording, stage, value == "on", launches);
  const std::string before = recording.executable.recompute;
  recording.executable.recompute = value == "on" ? "pipeline" : "none";
  if (value == "on" && before != "pipeline")
    changed.remarks.push_back("What is recomputed is taken to take as long as the forward pass.");
  if (before != recording.executable.recompute)
    changed.remarks.push_back("The recording does not tell how much memory the stash then takes.");
  changed.stashUnknown = changed.stashUnknown || before != recording.executable.recompute;
  return {};
}

}  // namespace

std::vector<ChangeKind> optionChanges() {
  return {
      {"gradient_accumulation", "micro-batches of a weight update", changeMicroBatches},
      {"schedule", "the pipeline schedule, with the stages where they are", changeSchedule},
      {"replication_factor", "replicas of the whole pipeline", changeReplicas},
      {"recompute", "on or off: stages compute forward passes again instead of keeping results",
       changeRecompute},
  };
}

}  // namespace pipescope::replay

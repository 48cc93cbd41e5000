// Options of the run: micro-batches, schedule, replicas, recompute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/nearest.h"
#include "profiler/clock/ring_entries.h"
#include "profiler/replay/recompute_costs.h"
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

/// Takes the ticks that are stated for its segment off a piece.
void less(Piece& piece, const SegmentTicks& ticks) {
  const auto found = ticks.find(piece.segment);
  if (found != ticks.end()) piece.ticks = std::max(piece.ticks - found->second, Ticks(0));
}
void less(Pieces& pieces, const SegmentTicks& ticks) {
  for (Piece& piece : pieces) less(piece, ticks);
}

/// A single micro-batch has no sums of gradients, which several add to: the recording of one does not tell
/// how long these additions take, and from the recording of several they are taken out.
base::Status matchSums(const ChangeContext& context, Recording& recording, int after) {
  if (recording.measured || (recording.microBatches > 1) == (after > 1)) return {};
  std::set<model::OperatorId> additions;
  bool updates = false;
  PIPESCOPE_TRY(analysis::forAllRows<model::Operator>(context.source, [&](const model::Operator& op) {
    if (op.executable != recording.executable.id) return;
    if (op.kind == "Accumulate") additions.insert(op.id);
    updates = updates || op.pass == Pass::update;
  }));
  if (after > 1) {
    if (!updates || !additions.empty()) return {};
    return base::badInput(
        "The recording has one micro-batch and thus no sums of gradients, whose time is not known" +
        emulateInstead(recording, fmt::format("--gradient-accumulation {}", after)));
  }
  // Gradients of a single micro-batch have another type than sums, and replicas add them while the backward
  // pass still runs. A step of one micro-batch is shorter, so that they are a larger share of it.
  const auto [ofReplicas, step] = sumsAndStep(recording);
  const double share = ofReplicas * recording.microBatches / std::max(step, 1.0);
  if (recording.executable.replicas > 1 && share > kMostUnknownSums)
    return base::badInput(fmt::format(
        "Sums of gradients over replicas take {:.1f} % of the recorded step, and those of a single "
        "micro-batch "
        "take another time, which the recording does not tell{}",
        100 * ofReplicas / std::max(step, 1.0), emulateInstead(recording, "--gradient-accumulation 1")));
  std::set<int> stages;
  for (int stage = 0; stage < recording.stageCount(); ++stage) stages.insert(stage);
  PIPESCOPE_ASSIGN(const SegmentTicks sums,
                   ticksOfOwnSteps(context, recording.executable.id, stages,
                                   [&](const model::Segment&, const model::Program& program) {
                                     return additions.contains(program.op);
                                   }));
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageCosts& stage : replica.stages) {
      for (StageWork& work : stage.works) {
        less(work.backward, sums);
        less(work.weight, sums);
      }
    }
  }
  return {};
}

base::Status changeMicroBatches(const ChangeContext& context, Changed& changed, const std::string&,
                                const std::string& value) {
  constexpr int kMost = 1'000'000;
  constexpr double kMostTasks = 5e5;  // each takes about a kilobyte of memory
  Recording& recording = changed.recording;
  if (!recording.training)
    return base::badInput(
        fmt::format("{} is for training, but the recorded call is inference.", kAccumulationKey));
  PIPESCOPE_ASSIGN(const int count, wholeNumber(kAccumulationKey, value, recording.microBatches, kMost));
  const double each = static_cast<double>(recording.iterations) * recording.stageCount();
  if (count * each > kMostTasks)
    return base::badInput(fmt::format(
        "{}={} gives more work than a replay takes, which is {:.0f} micro-batches for a call like this; "
        "choose a smaller number.",
        kAccumulationKey, count, std::floor(kMostTasks / each)));
  PIPESCOPE_TRY(matchSums(context, recording, count));
  const double more = recording.hostTicksPerMicroBatch * (count - recording.microBatches);
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

/// Takes out what a stage does only because its gradients are summed over replicas: it packs the gradients
/// into buckets, and its backward pass ends where a sum may begin, so the next part needs another launch.
base::Status dropPacking(const ChangeContext& context, Recording& recording) {
  std::set<std::string> sums;
  PIPESCOPE_TRY(analysis::forAllRows<model::Operator>(context.source, [&](const model::Operator& op) {
    if (op.executable == recording.executable.id && op.pass == Pass::collective)
      sums.insert(context.catalog.namePath(op.debugContext));
  }));
  std::map<std::int64_t, bool> packs;  // answer for each program
  const auto isPacking = [&](const model::Segment& segment, const model::Program& program) {
    if (segment.pass == Pass::collective) return false;
    const auto [known, added] = packs.try_emplace(program.id.value, false);
    if (!added) return known->second;
    const std::string path = context.catalog.namePath(program.debugContext);
    known->second = std::ranges::any_of(sums, [&](const std::string& sum) {
      return path.starts_with(sum) && path.size() > sum.size() && path[sum.size()] == '/';
    });
    return known->second;
  };
  std::set<int> stages;
  for (int stage = 0; stage < recording.stageCount(); ++stage) stages.insert(stage);
  PIPESCOPE_ASSIGN(const SegmentTicks packing,
                   ticksOfOwnSteps(context, recording.executable.id, stages, isPacking));
  PIPESCOPE_ASSIGN(const Launches launches, launchesOf(context, recording, stages));
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageCosts& stage : replica.stages) {
      for (StageWork& work : stage.works) {
        less(work.backward, packing);
        for (std::size_t i = 1; i < work.backward.size(); ++i) {
          const bool goesOn =
              work.backward[i].pass == Pass::backward && work.backward[i - 1].pass == Pass::backward;
          if (goesOn) less(work.backward[i], launches);
        }
      }
      for (Pieces& update : stage.updates) less(update, packing);
    }
  }
  return {};
}

base::Status changeReplicas(const ChangeContext& context, Changed& changed, bool ofTraining,
                            const std::string& value) {
  Recording& recording = changed.recording;
  const std::string key = ofTraining ? "training.replication_factor" : "inference.replication_factor";
  if (recording.training != ofTraining)
    return base::badInput(fmt::format("{} is for {}, but the recorded call is {}.", key,
                                      ofTraining ? "training" : "inference",
                                      ofTraining ? "inference" : "training"));
  const std::int64_t before = recording.executable.replicas;
  PIPESCOPE_ASSIGN(const int after,
                   wholeNumber(key, value, static_cast<int>(std::min<std::int64_t>(before, 65536)), 65536));
  if (after == before) return {};
  if (before <= 1 && recording.training)
    return base::badInput(
        "The recording has one replica and thus no sum of gradients over replicas, whose time is not known" +
        emulateInstead(recording, "--replication-factor"));
  if (recording.measured)
    return base::badInput(
        "The trace does not tell how long sums of gradients over another number of replicas would take.");
  const auto [sums, step] = sumsAndStep(recording);
  if (after > 1 && sums > kMostUnknownSums * step)
    return base::badInput(fmt::format(
        "Sums of gradients take {:.1f} % of the recorded step, and how long they take over {} replicas "
        "depends on links that the recording does not tell{}",
        100 * sums / step, after, emulateInstead(recording, fmt::format("--replication-factor {}", after))));
  if (after == 1) PIPESCOPE_TRY(dropPacking(context, recording));
  const double factor = before > 1 ? ringShare(after) / ringShare(before) : 1;
  const auto isCollective = [](Pass pass) { return pass == Pass::collective; };
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageCosts& stage : replica.stages) {
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
  if (recording.training && after > 1)
    changed.remarks.push_back(
        fmt::format("Sums of gradients over {} replicas are taken to need {:.3g} times the recorded time, as "
                    "in a ring over "
                    "the same links; other links between the replicas are not considered.",
                    after, factor));
  return {};
}

Bytes ofStage(const std::map<int, Bytes>& bytes, int stage) {
  const auto found = bytes.find(stage);
  return found == bytes.end() ? Bytes(0) : found->second;
}

base::Status changeRecompute(const ChangeContext& context, Changed& changed, const std::string&,
                             const std::string& value) {
  Recording& recording = changed.recording;
  if (value != "pipeline" && value != "none")
    return base::badInput(fmt::format(
        "A replay can set {} to pipeline (on) or none (off), but not to \"{}\".", kRecomputeKey, value));
  if (!recording.training)
    return base::badInput(
        fmt::format("{} is for training, but the recorded call is inference.", kRecomputeKey));
  const bool on = value == "pipeline";
  std::set<int> stages;
  for (int stage = 0; stage < recording.stageCount(); ++stage) {
    const std::vector<std::int64_t> stash = clock::ringEntries(recording.orders.front());
    const auto s = static_cast<std::size_t>(stage);
    const bool last = (stage + 1) % (recording.stageCount() / recording.orders.front().pipes) == 0;
    const std::vector<StageWork>& works = recording.replicas.front().stages[s].works;
    const bool has = std::any_of(works.begin(), works.end(), [](const StageWork& work) {
      return std::any_of(work.backward.begin(), work.backward.end(),
                         [](const Piece& piece) { return piece.pass == Pass::recompute; });
    });
    const bool wanted = on && (!last || (s < stash.size() && stash[s] > 0));
    if (has != wanted) stages.insert(stage);
  }
  PIPESCOPE_ASSIGN(const RecomputeCosts costs, recomputeCosts(context, recording, stages));
  for (const int stage : stages) {
    setRecompute(recording, stage, on, costs);
    Bytes& entry = recording.stages[static_cast<std::size_t>(stage)].stashBytesPerEntry;
    entry += !on ? ofStage(costs.added, stage) : Bytes(0) - ofStage(costs.saved, stage);
    entry = std::max(Bytes(0), entry);
  }
  const std::string before = recording.executable.recompute;
  recording.executable.recompute = value;
  if (on && before != "pipeline")
    changed.remarks.push_back(
        "What is recomputed is taken to take as long as in the forward pass. Which operators the device "
        "would then run as one kernel is not known, so the step may be off by some percent.");
  if (!on && before != "none")
    changed.remarks.push_back(
        "The copies to the stash are estimated from the recorded ones. Results that are kept may also keep "
        "the device from running several operators as one kernel, which is not considered: compared with "
        "emulations, the step is 3 to 4 % longer, and up to a tenth on devices that fuse long chains of "
        "operators.");
  if (before != recording.executable.recompute && !costs.hasOperators) {
    changed.remarks.push_back("The recording does not tell how much memory the stash then takes.");
    changed.stashUnknown = true;
  }
  return {};
}

}  // namespace

std::vector<ChangeKind> optionChanges() {
  return {
      {kAccumulationKey, "micro-batches of an update", "micro-batches of a weight update",
       changeMicroBatches},
      {kScheduleKey, "schedule", "the pipeline schedule, with the stages where they are", changeSchedule},
      {"training.replication_factor", "replicas", "replicas of the whole pipeline",
       [](const auto& context, auto& changed, const auto&, const auto& value) {
         return changeReplicas(context, changed, true, value);
       }},
      {"inference.replication_factor", "replicas", "replicas of the whole pipeline",
       [](const auto& context, auto& changed, const auto&, const auto& value) {
         return changeReplicas(context, changed, false, value);
       }},
      {kRecomputeKey, "recomputation of forward passes",
       "pipeline (or on): stages compute forward passes again; none (or off): they keep the results",
       changeRecompute},
  };
}

}  // namespace pipescope::replay

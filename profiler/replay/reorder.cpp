#include "profiler/replay/reorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/clock/ring_entries.h"
#include "profiler/replay/recompute_costs.h"

namespace pipescope::replay {
namespace {

using model::Pass;

bool sameTasks(const clock::Order& a, const clock::Order& b) {
  if (a.places.size() != b.places.size()) return false;
  for (std::size_t d = 0; d < a.places.size(); ++d) {
    if (!std::equal(a.places[d].begin(), a.places[d].end(), b.places[d].begin(), b.places[d].end(),
                    [](const clock::Task& x, const clock::Task& y) {
                      return x.stage == y.stage && x.microBatch == y.microBatch && x.pass == y.pass;
                    }))
      return false;
  }
  return true;
}

OrderRequest requestFor(const Recording& recording, const std::string& schedule) {
  return {schedule, recording.stageCount(), recording.microBatches, recording.training,
          recording.placeOfStage};
}

/// Weight gradients become part of the backward pass, or the other way round. A device that launches a
/// program for each pass then launches one less.
base::Status matchSplit(const ChangeContext& context, const clock::Order& before, const clock::Order& after,
                        Changed& changed) {
  Recording& recording = changed.recording;
  if (before.splitBackward == after.splitBackward || !recording.training) return {};
  if (after.splitBackward)
    return base::badInput(
        fmt::format("The schedule {} runs weight gradients as a pass of their own, but the recording holds "
                    "their time only as a part of the backward passes{}",
                    recording.executable.schedule,
                    emulateInstead(recording, "--schedule " + recording.executable.schedule)));
  std::set<int> stages;
  for (int stage = 0; stage < recording.stageCount(); ++stage) stages.insert(stage);
  PIPESCOPE_ASSIGN(const Launches launches, launchesOf(context, recording, stages));
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageCosts& stage : replica.stages) {
      for (StageWork& work : stage.works) {
        for (Piece& piece : work.weight) {
          const auto launch = launches.find(piece.segment);
          if (launch != launches.end()) piece.ticks = std::max(piece.ticks - launch->second, Ticks(0));
        }
        work.backward.insert(work.backward.end(), work.weight.begin(), work.weight.end());
        work.weight.clear();
      }
    }
  }
  if (!launches.empty())
    changed.remarks.push_back(
        "Weight gradients become part of the backward passes. Engines that work side by side may then "
        "run them at other moments, which is not considered: with small operators, the step may be a tenth "
        "off.");
  return {};
}

/// Devices that update at the same time share links in their sums of gradients, and streaming memory. One
/// after another, each has them to itself.
base::Status matchUpdates(const ChangeContext& context, const clock::Order& before, const clock::Order& after,
                          const Recording& recording) {
  const std::string shares =
      context.catalog.property(fmt::format("replay.{}.updates_share_links", recording.executable.id.value));
  if (before.serialUpdate == after.serialUpdate || !recording.training || shares.empty()) return {};
  const auto [shared, step] = sumsAndStep(recording, true);
  if (shared <= kMostUnknownSums * step) return {};
  return base::badInput(fmt::format(
      "Sums of gradients, and copies of streaming memory in updates, take {:.1f} % of the recorded step. "
      "With "
      "the schedule {} the devices do this {}, and how long it then takes the recording does not tell{}",
      100 * shared / step, recording.executable.schedule,
      after.serialUpdate ? "one after another" : "at the same time",
      emulateInstead(recording, "--schedule " + recording.executable.schedule)));
}

void matchProgression(const clock::Order& before, const clock::Order& after, Recording& recording) {
  const bool wasBarrier = before.progression == model::ScheduleKind::barrier;
  const bool isBarrier = after.progression == model::ScheduleKind::barrier;
  if (wasBarrier == isBarrier) return;
  for (ReplicaCosts& replica : recording.replicas) {
    for (Flow& flow : replica.flows) {
      // Copies share the links behind a barrier; otherwise most are alone.
      if (wasBarrier) flow.ticks = std::min(flow.ticks, std::max(flow.cost.alone, Ticks(0)));
      flow.recorded.clear();
    }
    const bool syncs = isBarrier && replica.devices.size() > 1;
    const Piece sync{{}, Pass::sync, syncs ? recording.syncTicks : Ticks(0)};
    if (isBarrier) replica.sync.assign(replica.devices.size(), sync);
  }
}

/// A stage whose backward pass follows its forward pass at once keeps nothing in a stash and recomputes
/// nothing, unless it is not the last one.
base::Status matchRecompute(const ChangeContext& context, const clock::Order& before,
                            const clock::Order& after, Changed& changed) {
  Recording& recording = changed.recording;
  const auto last = static_cast<std::size_t>(recording.stageCount()) - 1;
  const std::vector<std::int64_t> entriesBefore = clock::ringEntries(before),
                                  entriesAfter = clock::ringEntries(after);
  if (recording.executable.recompute != "pipeline" || entriesBefore.size() <= last ||
      entriesAfter.size() <= last)
    return {};
  const bool had = entriesBefore[last] > 0, has = entriesAfter[last] > 0;
  if (had == has) return {};
  const int stage = static_cast<int>(last);
  PIPESCOPE_ASSIGN(RecomputeCosts costs, recomputeCosts(context, recording, {stage}));
  costs.launches.clear();  // matchStash moves the launch
  setRecompute(recording, stage, has, costs, has);
  const char* how =
      has ? "now waits between its forward and backward passes, so it computes again what its "
            "backward passes need; that is taken to take as long as in the forward pass"
          : "now runs its backward passes right after its forward passes, so it recomputes nothing";
  changed.remarks.push_back(fmt::format("Stage {} {}.", last, how));
  return {};
}

/// Costs that a stash adds to the segments of these stages.
struct StashCosts {
  Launches launches;                         ///< the control step with which a segment begins
  std::map<model::SegmentId, Ticks> copies;  ///< steps that write to the stash or read from it
};

base::Result<StashCosts> stashCostsOf(const ChangeContext& context, const Recording& recording,
                                      const std::set<int>& stages) {
  StashCosts costs;
  std::map<model::SegmentId, Ticks> ends;  // end of the steps so far
  PIPESCOPE_TRY(analysis::forAllRows<model::Step>(context.source, [&](const model::Step& step) {
    const model::Segment* segment = context.catalog.segments.find(step.segment);
    if (segment == nullptr || segment->executable != recording.executable.id ||
        !stages.contains(segment->stage) || !model::isComputePass(segment->pass))
      return;
    if (step.kind == model::StepKind::control && step.offset.count == 0)
      costs.launches[step.segment] = step.ticks;
    Ticks& end = ends[step.segment];
    const Ticks gap = std::max(step.offset - end, Ticks(0));
    end = std::max(end, step.offset + step.ticks);
    const model::OperatorId op = context.catalog.programs[step.program].op;
    const std::string kind = context.catalog.operators[op].kind;
    // The pass waits for restored data, and so for the gap before it. Nothing waits for data that goes to the
    // stash.
    if (kind == "Stash") costs.copies[step.segment] += step.ticks;
    if (kind == "Restore") costs.copies[step.segment] += step.ticks + gap;
  }));
  return costs;
}

/// Names the stages that need a stash with the order `after` and had none. Costs that are given know no
/// copies. (Compared with emulations, ResNet-50 and BERT-Large on IPUs were at most 4 % off for this reason.)
void addStashRemark(const std::vector<std::int64_t>& after, const std::set<int>& stages, Changed& changed) {
  std::vector<int> fresh;
  for (const int stage : stages)
    if (after[static_cast<std::size_t>(stage)] > 0) fresh.push_back(stage);
  if (fresh.empty() || changed.recording.tickMeaning == model::TickMeaning::cost) return;
  changed.remarks.push_back(fmt::format(
      "Stage{} {} now keep{} results until the backward pass, and the recording does not tell how long "
      "copies to a stash take: on devices that make them, the step may be a few per cent longer.",
      fresh.size() == 1 ? "" : "s", fmt::join(fresh, ", "), fresh.size() == 1 ? "s" : ""));
}

bool isOptionOn(const analysis::Catalog& catalog, std::string_view key) {
  return std::ranges::any_of(catalog.configuration, [&](const model::ConfigurationEntry& entry) {
    return entry.path == key && entry.value == "true";
  });
}

/// If devices launch a program for each pass, the forward and backward pass of a stage without a stash are
/// one program, because nothing comes between them. So the backward pass gains or loses a launch with the
/// stash. Copies to and from the stash go with it, too; those of a new stash are not known.
base::Status matchStash(const ChangeContext& context, const clock::Order& before, const clock::Order& after,
                        Changed& changed) {
  Recording& recording = changed.recording;
  const std::vector<std::int64_t> entriesBefore = clock::ringEntries(before),
                                  entriesAfter = clock::ringEntries(after);
  std::set<int> stages;
  for (std::size_t s = 0; s < entriesBefore.size() && s < entriesAfter.size(); ++s)
    if ((entriesBefore[s] > 0) != (entriesAfter[s] > 0)) stages.insert(static_cast<int>(s));
  if (stages.empty() || !recording.training) return {};
  const std::string inPlace =
      context.catalog.property(fmt::format("replay.{}.stash_in_place", recording.executable.id.value));
  if (inPlace.empty()) addStashRemark(entriesAfter, stages, changed);
  for (const int stage : stages) {
    const bool isNew = entriesAfter[static_cast<std::size_t>(stage)] > 0;
    if (isNew && isOptionOn(context.catalog, "execution.offload_activations"))
      return base::badInput(
          fmt::format("With the schedule {}, stage {} would keep activations in streaming memory, and the "
                      "recording does not tell how long it would load and store them{}",
                      recording.executable.schedule, stage,
                      emulateInstead(recording, "--schedule " + recording.executable.schedule)));
  }
  PIPESCOPE_ASSIGN(const StashCosts costs, stashCostsOf(context, recording, stages));
  const auto ticksOf = [](const std::map<model::SegmentId, Ticks>& of, const Piece& piece) {
    const auto found = of.find(piece.segment);
    return found == of.end() ? Ticks(0) : found->second;
  };
  const auto firstCompute = [](Pieces& pieces) {
    return std::find_if(pieces.begin(), pieces.end(),
                        [](const Piece& piece) { return model::isComputePass(piece.pass); });
  };
  for (ReplicaCosts& replica : recording.replicas) {
    for (const int s : stages) {
      const bool launched = entriesAfter[static_cast<std::size_t>(s)] > 0;
      for (StageWork& work : replica.stages[static_cast<std::size_t>(s)].works) {
        const auto forward = firstCompute(work.forward), backward = firstCompute(work.backward);
        if (forward == work.forward.end() || backward == work.backward.end()) continue;
        // A newly recomputed pass was copied from the forward pass with its launch.
        if (launched && backward->segment.valid()) backward->ticks += ticksOf(costs.launches, *forward);
        if (!launched)
          backward->ticks = std::max(backward->ticks - ticksOf(costs.launches, *backward), Ticks(0));
        for (Pieces* pieces : {&work.forward, &work.backward}) {
          for (Piece& piece : *pieces)
            if (!launched) piece.ticks = std::max(piece.ticks - ticksOf(costs.copies, piece), Ticks(0));
        }
      }
    }
  }
  return {};
}

}  // namespace

std::pair<double, double> sumsAndStep(const Recording& recording, bool remoteToo) {
  std::vector<double> sums(static_cast<std::size_t>(recording.placeCount()));
  const ReplicaCosts& replica = recording.replicas.front();
  for (std::size_t s = 0; s < replica.stages.size(); ++s) {
    double& sum = sums[static_cast<std::size_t>(recording.placeOfStage[s])];
    const StageCosts& stage = replica.stages[s];
    for (const OverlappedPiece& overlapped : stage.overlapped)
      sum += static_cast<double>(overlapped.piece.ticks.count);
    if (stage.updates.empty()) continue;
    for (const Piece& piece : stage.updates.front())
      if (piece.pass == Pass::collective || (remoteToo && piece.pass == Pass::remote))
        sum += static_cast<double>(piece.ticks.count);
  }
  const auto all = static_cast<double>((recording.run.end - recording.run.start).count);
  return {*std::ranges::max_element(sums), all / recording.iterations};
}

std::string recognisedSchedule(const Recording& recording, const Schedules& schedules) {
  if (recording.orders.size() > 1) {
    for (const clock::Order& order : recording.orders)
      if (!sameTasks(order, recording.orders.front())) return {};
  }
  for (const std::string& name : schedules.names) {
    const base::Result<clock::Order> made = schedules.make(requestFor(recording, name));
    if (made.ok() && made->progression == model::ScheduleKind::dependency &&
        sameTasks(*made, recording.orders.front()))
      return name;
  }
  return {};
}

base::Status makeOrderAnew(const ChangeContext& context, const Recording& before, Changed& changed) {
  Recording& recording = changed.recording;
  if (context.schedules == nullptr || !context.schedules->make)
    return base::badInput("This program knows no schedules, so it cannot change the order of the work.");
  std::string& schedule = recording.executable.schedule;
  if (schedule.empty()) schedule = recognisedSchedule(before, *context.schedules);
  if (schedule.empty())
    return base::badInput(
        "The recorded order of work is that of no known schedule, so it is not clear in which order other "
        "micro-batches would run. Name a schedule too, such as --set execution.schedule=1f1b.");
  base::Result<clock::Order> made = context.schedules->make(requestFor(recording, schedule));
  if (!made.ok()) return made.error();
  if (made->pipes != before.orders.front().pipes)
    return base::badInput(
        fmt::format("The schedule {} places the stages on the devices in another way than the recording{}",
                    schedule, emulateInstead(recording, "--schedule " + schedule)));
  PIPESCOPE_TRY(matchSplit(context, before.orders.front(), *made, changed));
  matchProgression(before.orders.front(), *made, recording);
  PIPESCOPE_TRY(matchUpdates(context, before.orders.front(), *made, recording));
  PIPESCOPE_TRY(matchRecompute(context, before.orders.front(), *made, changed));
  PIPESCOPE_TRY(matchStash(context, before.orders.front(), *made, changed));
  recording.executable.scheduleKind = made->progression;
  recording.orders = {std::move(made).value()};
  return {};
}

}  // namespace pipescope::replay

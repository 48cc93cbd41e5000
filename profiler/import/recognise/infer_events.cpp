#include "profiler/import/recognise/infer_events.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "profiler/import/recognise/infer_chunks.h"
#include "profiler/import/recognise/infer_messages.h"
#include "profiler/import/recognise/infer_passes.h"
#include "profiler/import/recognise/infer_stages.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// The passes of each device in the order of their starts.
PassesOfDevice passesByDevice(std::vector<RecordedPass>& passes) {
  PassesOfDevice byDevice;
  for (RecordedPass& pass : passes) byDevice[pass.device].push_back(&pass);
  for (auto& [device, list] : byDevice)
    std::stable_sort(list.begin(), list.end(),
                     [](const auto* a, const auto* b) { return a->start < b->start; });
  return byDevice;
}

bool countsMicroBatches(const std::vector<RecordedPass*>& passes) {
  return std::ranges::any_of(passes, [](const RecordedPass* pass) { return pass->countsMicroBatch; });
}

/// Steps of a device whose trace marks none.
void countSteps(const std::vector<RecordedPass*>& passes) {
  const bool counts = countsMicroBatches(passes);
  std::map<std::tuple<std::string, std::int32_t, std::int32_t, Pass>, std::int64_t> seen;
  std::int64_t updates = 0, last = 0;
  for (RecordedPass* pass : passes) {
    if (model::isComputePass(pass->pass)) {
      pass->step = counts ? updates : seen[{pass->replica, pass->stage, pass->microBatch, pass->pass}]++;
      last = std::max(last, *pass->step);
    } else {
      pass->step = last;
    }
    if (pass->pass == Pass::update) ++updates;
  }
}

/// Steps of devices that count their micro-batches and whose traces mark no steps.
void inferStepsOf(const std::vector<std::vector<RecordedPass*>>& devices, const ClockGroups& clockGroups,
                  Inferred& inferred) {
  std::vector<const RecordedPass*> all;
  for (const auto& passes : devices) all.insert(all.end(), passes.begin(), passes.end());
  const StepsInferred steps = inferSteps(all, clockGroups);
  inferred.stepsUnknown = steps.steps == 0;
  inferred.steps = steps.steps > 1 ? steps.steps : 0;
  for (const auto& passes : devices) {
    for (RecordedPass* pass : passes) {
      const auto group = clockGroups.find(pass->device);
      if (!inferred.stepsUnknown)
        pass->step = steps.stepAt(group == clockGroups.end() ? 0 : group->second, pass->start);
    }
  }
}

/// Steps of the devices whose traces mark none.
void completeSteps(const std::vector<std::vector<RecordedPass*>>& unmarked, const ClockGroups* clockGroups,
                   Inferred& inferred) {
  std::vector<std::vector<RecordedPass*>> counting;
  for (const auto& passes : unmarked) {
    const bool counts = countsMicroBatches(passes);
    if (counts) counting.push_back(passes);
    if (!counts) countSteps(passes);
  }
  // A weight update ends a step, but only where each device has one.
  const bool updates = std::ranges::all_of(counting, [](const auto& passes) {
    return std::ranges::any_of(passes, [](const RecordedPass* pass) { return pass->pass == Pass::update; });
  });
  if (updates || clockGroups == nullptr) {
    for (const auto& passes : counting) countSteps(passes);
  } else {
    inferStepsOf(counting, *clockGroups, inferred);
  }
}

/// Numbers the passes that state no micro-batch within their steps.
void countMicroBatches(const std::vector<RecordedPass*>& passes) {
  std::map<std::tuple<std::string, std::int32_t, Pass, std::int64_t>, std::int32_t> next;
  for (RecordedPass* pass : passes)
    if (pass->countsMicroBatch)
      pass->microBatch = next[{pass->replica, pass->stage, pass->pass, pass->step.value_or(-1)}]++;
}

/// Ranks that compute each stage and state no replica.
using RanksOfStages = std::map<std::int32_t, std::set<std::pair<std::int64_t, DeviceId>>>;

/// Replicas of ranks that messages join, those too whose traces are missing. Nothing if messages name no
/// ranks, join ranks that compute the same stage, or do not join all ranks of a replica.
std::map<std::int64_t, std::int64_t> replicasByMessages(const RecordedEvents& events,
                                                        const RanksOfStages& ranksOf) {
  std::map<std::int64_t, std::int64_t> joined;  // a lower rank of the same replica; itself: the lowest one
  const auto lowest = [&](std::int64_t rank) {
    joined.emplace(rank, rank);
    while (joined[rank] != rank) rank = joined[rank] = joined[joined[rank]];
    return rank;
  };
  for (const auto* sides : {&events.sends, &events.receives}) {
    for (const RecordedPass& side : *sides) {
      if (side.rank < 0 || side.peer < 0) continue;
      const std::int64_t one = lowest(side.rank), other = lowest(side.peer);
      joined[std::max(one, other)] = std::min(one, other);
    }
  }
  std::map<std::int64_t, std::int64_t> replicas, numbers;
  for (const auto& [stage, ranks] : ranksOf) {
    std::set<std::int64_t> ofStage;
    for (const auto& [rank, device] : ranks) {
      if (!joined.contains(rank) || !ofStage.insert(lowest(rank)).second) return {};
      numbers.emplace(lowest(rank), 0);
    }
  }
  std::size_t most = 0;
  for (const auto& [stage, ranks] : ranksOf) most = std::max(most, ranks.size());
  if (numbers.size() > most) return {};
  std::int64_t next = 0;
  for (auto& [first, number] : numbers) number = next++;
  for (const auto& [stage, ranks] : ranksOf)
    for (const auto& [rank, device] : ranks) replicas[rank] = numbers[lowest(rank)];
  return replicas;
}

/// Numbers the replicas of ranks that compute the same stage and state no replica. Messages that name ranks
/// join those of a replica. Otherwise ranks that follow each other along the stages are of one replica, or
/// those that follow each other compute the same stage, also where ranks are missing. If they do neither, the
/// n-th rank of each stage is of replica n, unless a rank is missing: then nobody knows, and each rank counts
/// for itself.
void inferReplicas(RecordedEvents& events) {
  RanksOfStages ranksOf;
  for (const RecordedPass& pass : events.passes)
    if (model::isComputePass(pass.pass) && pass.stage >= 0 && pass.replica.empty())
      ranksOf[pass.stage].insert({pass.rank, pass.device});
  if (std::all_of(ranksOf.begin(), ranksOf.end(), [](const auto& entry) { return entry.second.size() < 2; }))
    return;
  const std::int64_t stages = ranksOf.rbegin()->first + 1;
  std::int64_t most = 0;
  bool inTurn = true, inLayers = true, even = true, known = true;
  for (const auto& [stage, ranks] : ranksOf) most = std::max(most, static_cast<std::int64_t>(ranks.size()));
  for (const auto& [stage, ranks] : ranksOf) {
    even = even && ranks.size() == ranksOf.begin()->second.size();
    for (const auto& [rank, device] : ranks) {
      known = known && rank >= 0;
      inTurn = inTurn && rank >= 0 && rank % stages == stage;
      inLayers = inLayers && rank >= 0 && rank / most == stage;
    }
  }
  const std::map<std::int64_t, std::int64_t> joined = replicasByMessages(events, ranksOf);
  if (joined.empty() && !inTurn && !even && !known) return;
  std::map<DeviceId, std::string> replicaOf;
  std::int64_t alone = 0;
  for (const auto& [stage, ranks] : ranksOf) {
    std::int64_t next = 0;
    for (const auto& [rank, device] : ranks) {
      const std::int64_t number = !joined.empty() ? joined.at(rank)
                                  : inTurn        ? rank / stages
                                  : inLayers      ? rank % most
                                  : even          ? next
                                                  : alone;
      replicaOf.emplace(device, std::to_string(number));
      ++next;
      ++alone;
    }
  }
  for (auto* list : {&events.passes, &events.sends, &events.receives})
    for (RecordedPass& pass : *list)
      if (const auto own = replicaOf.find(pass.device); own != replicaOf.end() && pass.replica.empty())
        pass.replica = own->second;
}

/// A pass that states no replica, such as a weight update, is of the one that its device computes for.
void shareReplicas(RecordedEvents& events) {
  std::map<DeviceId, std::set<std::string>> replicasOf;
  for (const RecordedPass& pass : events.passes)
    if (model::isComputePass(pass.pass)) replicasOf[pass.device].insert(pass.replica);
  for (auto* list : {&events.passes, &events.sends, &events.receives})
    for (RecordedPass& pass : *list)
      if (const auto own = replicasOf.find(pass.device);
          pass.replica.empty() && own != replicasOf.end() && own->second.size() == 1)
        pass.replica = *own->second.begin();
}

/// The profiler repeats an annotation on each queue of an accelerator that got work within it. The pass is
/// the slice of the queue that worked longest; the others are shown as they are.
void setCopiesAside(const PassesOfDevice& byDevice) {
  for (const auto& [device, passes] : byDevice) {
    std::map<std::string, RecordedPass*> last;
    for (RecordedPass* pass : passes) {
      if (pass->queue < 0 || pass->pass == Pass::collective) continue;
      RecordedPass*& before = last[pass->name];
      const bool copies = before != nullptr && before->queue != pass->queue && pass->start < before->end;
      RecordedPass* const longer =
          copies && before->end - before->start >= pass->end - pass->start ? before : pass;
      if (copies) {
        RecordedPass& copy = longer == pass ? *before : *pass;
        copy.pass = Pass::other;
        copy.stage = copy.microBatch = copy.chunk = -1;
        copy.countsMicroBatch = false;
      }
      before = longer;
    }
  }
}

/// Divides the time of an event that is several passes one after the other, in the ratio of the mean lengths
/// that such passes have alone; evenly if one of them is never alone.
std::int64_t divideSharedTimes(std::vector<RecordedPass>& passes) {
  using Kind = std::tuple<DeviceId, std::int32_t, Pass>;
  std::map<Kind, std::pair<double, double>> alone;  // sum of the lengths, number
  std::map<std::tuple<DeviceId, Ticks, Ticks, std::string>, std::vector<RecordedPass*>> shared;
  for (RecordedPass& pass : passes) {
    if (pass.parts > 1) {
      shared[{pass.device, pass.start, pass.end, pass.name}].push_back(&pass);
    } else if (model::isComputePass(pass.pass)) {
      auto& [sum, count] = alone[{pass.device, pass.stage, pass.pass}];
      sum += static_cast<double>((pass.end - pass.start).count);
      ++count;
    }
  }
  std::int64_t divided = 0;
  for (auto& [place, parts] : shared) {
    std::ranges::sort(parts, {}, &RecordedPass::part);
    std::vector<double> lengths;
    for (const RecordedPass* pass : parts) {
      const auto known = alone.find({pass->device, pass->stage, pass->pass});
      lengths.push_back(known == alone.end() ? 0 : known->second.first / known->second.second);
    }
    if (std::ranges::count(lengths, 0.0) > 0) lengths.assign(parts.size(), 1);
    const double whole = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    const auto& [device, start, end, name] = place;
    double sum = 0;
    Ticks from = start;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      sum += lengths[i];
      const double share = static_cast<double>((end - start).count) * (sum / whole);
      parts[i]->start = from;
      from = i + 1 == parts.size() ? end : start + Ticks(static_cast<std::int64_t>(share));
      parts[i]->end = from;
      parts[i]->parts = 1;  // so that a second call finds nothing to divide
      ++divided;
    }
  }
  return divided;
}

/// Numbers the stages of ranks that hold several chunks of the model: chunk c of rank r is stage c × ranks +
/// r.
void numberStagesOfChunks(RecordedEvents& events) {
  std::int32_t ranks = 0, chunks = 0;
  for (const RecordedPass& pass : events.passes) {
    if (pass.chunk < 0 || pass.stage < 0) continue;
    ranks = std::max(ranks, pass.stage + 1);
    chunks = std::max(chunks, pass.chunk + 1);
  }
  if (chunks < 2) return;
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& row : *list) {
      if (row.chunk >= 0 && row.stage >= 0) {
        row.stage += row.chunk * ranks;
      } else if (list != &events.passes) {
        // The rank counts the messages of all its chunks.
        row.stage = row.microBatch = -1;
      }
    }
  }
}

}  // namespace

void assignSteps(std::vector<RecordedPass>& passes, const std::vector<RecordedStep>& steps) {
  std::map<DeviceId, std::vector<const RecordedStep*>> byDevice;
  for (const RecordedStep& step : steps) byDevice[step.device].push_back(&step);
  for (auto& [device, list] : byDevice)
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->start < b->start; });
  for (RecordedPass& pass : passes) {
    const auto marked = byDevice.find(pass.device);
    if (pass.step || marked == byDevice.end()) continue;
    const auto& list = marked->second;
    const auto after =
        std::upper_bound(list.begin(), list.end(), pass.start,
                         [](Ticks time, const RecordedStep* step) { return time < step->start; });
    if (after != list.begin() && (*std::prev(after))->end >= pass.end) pass.step = (*std::prev(after))->step;
  }
}

void shareSteps(const std::vector<DeviceId>& accelerators, std::vector<RecordedStep>& steps) {
  const auto isOther = [&](const RecordedStep& step) { return step.device != steps.front().device; };
  if (accelerators.size() < 2 || steps.empty() || std::any_of(steps.begin(), steps.end(), isOther)) return;
  if (std::find(accelerators.begin(), accelerators.end(), steps.front().device) != accelerators.end()) return;
  const std::vector<RecordedStep> marked = steps;
  for (const DeviceId accelerator : accelerators)
    for (RecordedStep step : marked) {
      step.device = accelerator;
      steps.push_back(step);
    }
}

Inferred inferEvents(RecordedEvents& events, const ClockGroups* clockGroups) {
  Inferred inferred;
  inferred.proposed = inferPasses(events);
  for (auto* list : {&events.passes, &events.sends, &events.receives}) assignSteps(*list, events.steps);
  inferred.divided = divideSharedTimes(events.passes);
  const PassesOfDevice byDevice = passesByDevice(events.passes);
  setCopiesAside(byDevice);
  std::set<DeviceId> marked;
  for (const RecordedStep& step : events.steps) marked.insert(step.device);
  std::vector<std::vector<RecordedPass*>> unmarked;
  for (const auto& [device, passes] : byDevice) {
    const bool stated =
        std::any_of(passes.begin(), passes.end(), [](const auto* pass) { return pass->step.has_value(); });
    if (!stated && !marked.contains(device)) unmarked.push_back(passes);
  }
  completeSteps(unmarked, clockGroups, inferred);
  for (const auto& [device, passes] : byDevice) countMicroBatches(passes);
  const StagesInferred stages = inferStages(events, byDevice);
  inferred.stages = inferred.proposed + stages.placed;
  inferred.unplaced = stages.unplaced;
  inferReplicas(events);
  shareReplicas(events);
  inferred.chunks = inferChunks(events);
  numberStagesOfChunks(events);
  inferred.messages = inferMessages(events);
  return inferred;
}

}  // namespace pipescope::importing

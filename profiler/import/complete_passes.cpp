#include "profiler/import/complete_passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/import/message_passes.h"
#include "profiler/import/propose_passes.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

using PassesOfDevice = std::map<DeviceId, std::vector<RecordedPass*>>;

/// The passes of each device in the order of their starts.
PassesOfDevice passesByDevice(std::vector<RecordedPass>& passes) {
  PassesOfDevice byDevice;
  for (RecordedPass& pass : passes) byDevice[pass.device].push_back(&pass);
  for (auto& [device, list] : byDevice)
    std::stable_sort(list.begin(), list.end(),
                     [](const auto* a, const auto* b) { return a->start < b->start; });
  return byDevice;
}

/// Steps of a device whose trace marks none.
void countSteps(const std::vector<RecordedPass*>& passes) {
  const bool counts =
      std::any_of(passes.begin(), passes.end(), [](const auto* pass) { return pass->countsMicroBatch; });
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

/// Numbers the passes that state no micro-batch within their steps.
void countMicroBatches(const std::vector<RecordedPass*>& passes) {
  std::map<std::tuple<std::string, std::int32_t, Pass, std::int64_t>, std::int32_t> next;
  for (RecordedPass* pass : passes)
    if (pass->countsMicroBatch)
      pass->microBatch = next[{pass->replica, pass->stage, pass->pass, pass->step.value_or(-1)}]++;
}

/// A rank whose passes state no stage.
struct OpenRank {
  DeviceId device;
  std::int64_t rank = -1;
  bool first = true;  ///< receives nothing before its forward passes
};

std::vector<OpenRank> openRanks(const PassesOfDevice& byDevice, const std::vector<RecordedPass>& receives) {
  std::map<DeviceId, std::vector<const RecordedPass*>> received;
  for (const RecordedPass& side : receives) received[side.device].push_back(&side);
  std::vector<OpenRank> open;
  for (const auto& [device, passes] : byDevice) {
    std::int64_t forwards = 0, fed = 0, computations = 0;
    bool stated = false;
    Ticks before(INT64_MIN);  // end of the computation before
    for (const RecordedPass* pass : passes) {
      if (!model::isComputePass(pass->pass)) continue;
      ++computations;
      stated = stated || pass->stage >= 0;
      if (pass->pass == Pass::forward) {
        ++forwards;
        const auto& own = received[device];
        fed += std::any_of(own.begin(), own.end(), [&](const RecordedPass* side) {
          return side->end > before && side->end <= pass->end && side->start < pass->end;
        });
      }
      before = pass->end;
    }
    if (computations > 0 && !stated) open.push_back({device, passes.front()->rank, 2 * fed < forwards});
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const OpenRank& a, const OpenRank& b) { return a.rank < b.rank; });
  return open;
}

/// Stage and replica of each rank; nothing if the ranks form no pipelines.
std::vector<std::pair<std::int32_t, std::int32_t>> placesOf(const std::vector<OpenRank>& ranks,
                                                            bool messages) {
  const std::size_t count = ranks.size();
  const auto isFirst = [&](std::size_t i) { return messages ? ranks[i].first : i == 0; };
  std::size_t replicas = 0;
  for (std::size_t i = 0; i < count; ++i) replicas += isFirst(i) ? 1 : 0;
  if (count < 2 || replicas == 0 || count % replicas != 0 || count == replicas) return {};
  const std::size_t stages = count / replicas;
  // The ranks of a pipeline are neighbours, or those of a stage are.
  bool pipelines = true, layers = true;
  for (std::size_t i = 0; i < count; ++i) {
    pipelines = pipelines && isFirst(i) == (i % stages == 0);
    layers = layers && isFirst(i) == (i < replicas);
  }
  if (!pipelines && !layers) return {};
  std::vector<std::pair<std::int32_t, std::int32_t>> places;
  for (std::size_t i = 0; i < count; ++i)
    places.emplace_back(static_cast<std::int32_t>(pipelines ? i % stages : i / replicas),
                        static_cast<std::int32_t>(pipelines ? i / stages : i % replicas));
  return places;
}

std::int64_t inferStages(RecordedEvents& events, const PassesOfDevice& byDevice) {
  const std::vector<OpenRank> ranks = openRanks(byDevice, events.receives);
  const auto places = placesOf(ranks, !events.receives.empty());
  if (places.empty()) return 0;
  std::map<DeviceId, std::pair<std::int32_t, std::int32_t>> placeOf;
  for (std::size_t i = 0; i < ranks.size(); ++i) placeOf[ranks[i].device] = places[i];
  std::int64_t inferred = 0;
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& pass : *list) {
      const auto place = placeOf.find(pass.device);
      if (place == placeOf.end() || pass.stage >= 0) continue;
      pass.stage = place->second.first;
      if (pass.replica.empty()) pass.replica = std::to_string(place->second.second);
      inferred += list == &events.passes && model::isComputePass(pass.pass) ? 1 : 0;
    }
  }
  return inferred;
}

/// Where several ranks compute the same stage and state no replica, ranks that follow each other along the
/// stages are of one replica, also where ranks are missing. If they do not, the n-th rank of each stage is of
/// replica n, unless a rank is missing.
void inferReplicas(RecordedEvents& events) {
  std::map<std::int32_t, std::set<std::pair<std::int64_t, DeviceId>>> ranksOf;  // by stage
  for (const RecordedPass& pass : events.passes)
    if (model::isComputePass(pass.pass) && pass.stage >= 0 && pass.replica.empty())
      ranksOf[pass.stage].insert({pass.rank, pass.device});
  if (std::all_of(ranksOf.begin(), ranksOf.end(), [](const auto& entry) { return entry.second.size() < 2; }))
    return;
  const std::int64_t stages = ranksOf.rbegin()->first + 1;
  bool inTurn = true, even = true;
  for (const auto& [stage, ranks] : ranksOf) {
    even = even && ranks.size() == ranksOf.begin()->second.size();
    for (const auto& [rank, device] : ranks) inTurn = inTurn && rank >= 0 && rank % stages == stage;
  }
  if (!inTurn && !even) return;
  std::map<DeviceId, std::string> replicaOf;
  for (const auto& [stage, ranks] : ranksOf) {
    std::int64_t next = 0;
    for (const auto& [rank, device] : ranks) {
      replicaOf[device] = std::to_string(inTurn ? rank / stages : next);
      ++next;
    }
  }
  for (auto* list : {&events.passes, &events.sends, &events.receives})
    for (RecordedPass& pass : *list)
      if (const auto own = replicaOf.find(pass.device); own != replicaOf.end() && pass.replica.empty())
        pass.replica = own->second;
}

/// Where ranks hold several chunks of the model, chunk c of rank r is stage c × ranks + r.
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

Inferred completePasses(RecordedEvents& events) {
  Inferred inferred;
  inferred.proposed = proposePasses(events);
  for (auto* list : {&events.passes, &events.sends, &events.receives}) assignSteps(*list, events.steps);
  const PassesOfDevice byDevice = passesByDevice(events.passes);
  std::set<DeviceId> marked;
  for (const RecordedStep& step : events.steps) marked.insert(step.device);
  for (const auto& [device, passes] : byDevice) {
    const bool stated =
        std::any_of(passes.begin(), passes.end(), [](const auto* pass) { return pass->step.has_value(); });
    if (!stated && !marked.contains(device)) countSteps(passes);
    countMicroBatches(passes);
  }
  inferred.stages = inferred.proposed + inferStages(events, byDevice);
  inferReplicas(events);
  numberStagesOfChunks(events);
  inferred.messages = inferMessages(events);
  return inferred;
}

}  // namespace pipescope::importing

#include "profiler/import/recognise/infer_chunks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/import/recognise/infer_messages.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

using Repeated = std::vector<RecordedPass*>;  // passes in the order of their starts

bool isForward(const RecordedPass& pass) {
  return pass.pass == Pass::forward || pass.pass == Pass::recompute;
}

std::int64_t signedSize(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

/// True if a pass begins before another one has ended. Times are rounded, but passes are longer than that.
bool overlaps(const RecordedPass& before, const RecordedPass& pass) {
  const Ticks shorter = std::min(before.end - before.start, pass.end - pass.start);
  return pass.start + std::min(kTimeResolution, Ticks(shorter.count / 2)) < before.end;
}

/// Counts how often each of these occurs, if all occur equally often and one after the other; 0 if not.
std::size_t timesEach(const std::map<Pass, Repeated>& passes) {
  std::size_t times = 0;
  for (const auto& [kind, list] : passes) {
    if (times != 0 && list.size() != times) return 0;
    times = list.size();
    for (std::size_t i = 1; i < list.size(); ++i)
      if (overlaps(*list[i - 1], *list[i])) return 0;
  }
  const auto forward = passes.find(Pass::forward);
  if (forward == passes.end()) return 0;
  // A schedule that runs twice within a step computes backward passes before the second forward pass.
  for (const auto& [kind, list] : passes)
    if (kind != Pass::forward && kind != Pass::recompute && overlaps(*forward->second.back(), *list.front()))
      return 0;
  return times;
}

/// Counts how often the passes of each micro-batch occur in more than half of the steps; 0 if no number does.
std::size_t timesOfMostSteps(const std::map<std::int64_t, std::set<std::size_t>>& timesOfStep) {
  std::map<std::size_t, std::size_t> steps;  // keyed by the number of times
  for (const auto& [step, times] : timesOfStep)
    if (times.size() == 1) ++steps[*times.begin()];
  for (const auto& [times, count] : steps)
    if (2 * count > timesOfStep.size()) return times;
  return 0;
}

std::int64_t inferFromRepetition(RecordedEvents& events) {
  using Key = std::tuple<DeviceId, std::string, std::int64_t, std::int32_t, std::int32_t>;
  std::map<Key, std::map<Pass, Repeated>> byMicroBatch;
  for (RecordedPass& pass : events.passes) {
    if (!model::isComputePass(pass.pass) || pass.stage < 0 || pass.microBatch < 0) continue;
    if (pass.chunk >= 0 || pass.countsMicroBatch) return 0;
    byMicroBatch[{pass.device, pass.replica, pass.step.value_or(-1), pass.stage, pass.microBatch}][pass.pass]
        .push_back(&pass);
  }
  std::map<std::int64_t, std::set<std::size_t>> timesOfStep;
  for (auto& [key, passes] : byMicroBatch) {
    for (auto& [kind, list] : passes)
      std::ranges::stable_sort(list, {}, [](const RecordedPass* pass) { return pass->start; });
    timesOfStep[std::get<2>(key)].insert(timesEach(passes));
  }
  const std::size_t times = timesOfMostSteps(timesOfStep);
  if (times < 2) return 0;
  std::int64_t inferred = 0;
  for (auto& [key, passes] : byMicroBatch) {
    const bool whole = timesOfStep[std::get<2>(key)] == std::set{times};
    for (auto& [kind, list] : passes) {
      for (std::size_t k = 0; k < list.size(); ++k) {
        // A step of which the trace holds a part does not tell which stages the part is of.
        if (!whole) list[k]->stage = list[k]->microBatch = -1;
        if (whole) list[k]->chunk = static_cast<std::int32_t>(isForward(*list[k]) ? k : times - 1 - k);
        inferred += whole ? 1 : 0;
      }
    }
  }
  return inferred;
}

/// Passes and messages of a rank, if it counts its micro-batches.
struct CountingRank {
  std::int32_t stage = -1;
  std::map<std::pair<std::int64_t, bool>, std::int64_t> passes;  // keyed by step, and forward or backward
  std::int64_t forwards = 0, received = 0;
};

std::vector<CountingRank> countingRanks(const RecordedEvents& events) {
  std::map<DeviceId, CountingRank> ranks;
  for (const RecordedPass& pass : events.passes) {
    if (pass.pass != Pass::forward && pass.pass != Pass::backward) continue;
    if (pass.stage < 0 || pass.chunk >= 0 || !pass.countsMicroBatch) return {};
    CountingRank& rank = ranks[pass.device];
    if (rank.stage >= 0 && rank.stage != pass.stage) return {};
    rank.stage = pass.stage;
    ++rank.passes[{pass.step.value_or(-1), isForward(pass)}];
    rank.forwards += isForward(pass) ? 1 : 0;
  }
  for (const RecordedPass& side : joinedSlices(events.receives, false))
    if (const auto rank = ranks.find(side.device); rank != ranks.end()) ++rank->second.received;
  std::vector<CountingRank> list;
  for (auto& [device, rank] : ranks) list.push_back(std::move(rank));
  return list;
}

/// Chunks of each rank, by the numbers of passes and messages; 0: they do not agree.
std::int64_t chunksByMessages(const std::vector<CountingRank>& ranks, std::int32_t stages) {
  std::int64_t chunks = 0;
  for (const CountingRank& rank : ranks) {
    const std::int64_t missing = 2 * rank.forwards - rank.received;
    const bool end = rank.stage == 0 || rank.stage + 1 == stages;
    if (!end && missing == 0) continue;
    if (!end || missing <= 0 || rank.forwards % missing != 0) return 0;
    const std::int64_t own = rank.forwards / missing;
    if (chunks != 0 && own != chunks) return 0;
    chunks = own;
  }
  for (const CountingRank& rank : ranks)
    for (const auto& [key, count] : rank.passes)
      if (chunks == 0 || count % (chunks * stages) != 0 || count != ranks.front().passes.begin()->second)
        return 0;
  return chunks;
}

std::int64_t inferFromMessages(RecordedEvents& events) {
  const std::vector<CountingRank> ranks = countingRanks(events);
  std::int32_t stages = 0;
  for (const CountingRank& rank : ranks) stages = std::max(stages, rank.stage + 1);
  if (stages < 2 || signedSize(ranks.size()) < stages) return 0;
  const std::int64_t chunks = chunksByMessages(ranks, stages);
  if (chunks < 2) return 0;
  std::int64_t inferred = 0;
  for (RecordedPass& pass : events.passes) {
    if (pass.pass != Pass::forward && pass.pass != Pass::backward) continue;
    const std::int64_t number = pass.microBatch, group = chunks * stages;
    const std::int64_t chunk = number % group / stages;
    pass.chunk = static_cast<std::int32_t>(isForward(pass) ? chunk : chunks - 1 - chunk);
    pass.microBatch = static_cast<std::int32_t>(number / group * stages + number % stages);
    ++inferred;
  }
  return inferred;
}

}  // namespace

std::int64_t inferChunks(RecordedEvents& events) {
  const std::int64_t repeated = inferFromRepetition(events);
  return repeated > 0 ? repeated : inferFromMessages(events);
}

}  // namespace pipescope::importing

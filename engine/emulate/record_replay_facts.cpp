// Records what a replay of the recording needs and no other row holds: what the host does, where collectives
// run beside the backward pass, and which of them run over places.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {
namespace {

/// "collective:segment …": each overlapped collective with the piece of the backward pass that it follows.
std::string overlappedCollectives(const EmulatedExecutable& executable) {
  std::string pairs;
  const clock::Call& call = executable.call;
  for (const clock::ReplicaCosts& replica : call.replicas) {
    for (int s = 0; s < call.stageCount(); ++s) {
      const clock::Pieces& backward = call.work(replica, s, 0, call.microBatches - 1).backward;
      for (const clock::OverlappedPiece& one : replica.stages[static_cast<std::size_t>(s)].overlapped) {
        const auto after = static_cast<std::size_t>(one.after);
        if (after >= backward.size()) continue;
        pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", one.piece.segment.value,
                             backward[after].segment.value);
      }
    }
  }
  return pairs;
}

/// "collective:number …": each sum over places, with the number that its places know it by.
std::string tiedSums(const EmulatedExecutable& executable) {
  std::string pairs;
  for (const clock::ReplicaCosts& replica : executable.call.replicas)
    for (const clock::StageCosts& stage : replica.stages)
      for (const clock::TiedPiece& one : stage.tied)
        pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", one.piece.segment.value, one.number);
  return pairs;
}

/// "segment:axis …": each segment of a pass whose collectives share links with others, with the axis along
/// which these take longest.
std::string sharedLinks(const EmulatedExecutable& executable) {
  std::map<model::SegmentId, model::MeshAxis> axes;
  for (std::size_t r = 0; r < executable.parts.size(); ++r) {
    const clock::ReplicaCosts& replica = executable.call.replicas[r];
    for (const clock::StageCosts& stage : replica.stages)
      for (const clock::StageWork& work : stage.works)
        for (const clock::Pieces* pieces : {&work.forward, &work.backward, &work.weight})
          for (const clock::Piece& piece : *pieces) {
            if (piece.uses < 0) continue;
            std::map<model::MeshAxis, Ticks> ticks;
            for (const clock::LinkUse& use : replica.linkUses[static_cast<std::size_t>(piece.uses)])
              ticks[executable.parts[r].contention->axisOf(use.load)] += use.end - use.start;
            axes[piece.segment] =
                std::ranges::max_element(ticks, {}, [](const auto& each) { return each.second; })->first;
          }
  }
  std::string pairs;
  for (const auto& [segment, axis] : axes)
    pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : " ", segment.value, static_cast<int>(axis));
  return pairs;
}

}  // namespace

void recordReplayFacts(record::Recorder& recorder, const devices::System& system,
                       const EmulatedExecutable& executable) {
  const ExecutableFacts& facts = executable.facts;
  const base::Timebase timebase{system.devices().front().ticksPerSecond};
  const auto second = static_cast<double>(timebase.ticksPerSecond);
  const auto record = [&](const char* name, const std::string& value) {
    recorder.add(model::Property{fmt::format("replay.{}.{}", executable.id.value, name), value});
  };
  const std::int64_t samples = facts.microBatchSize * facts.microBatches;
  const double step = facts.host.stepSeconds(samples, facts.replicas);
  if (step > 0) {
    const double fixed = facts.host.stepSeconds(0, facts.replicas);
    record("host_step_ticks", fmt::format("{}", base::ticksFromSeconds(step, timebase).count));
    record("host_micro_batch_ticks",
           fmt::format("{}", (step - fixed) * second / static_cast<double>(facts.microBatches)));
    if (facts.host.readsResults) record("host_reads_results", "1");
  }
  const auto recordRate = [&](const char* name, double samplesPerSecond) {
    if (samplesPerSecond > 0)
      record(name, fmt::format("{}", static_cast<double>(facts.microBatchSize) / samplesPerSecond * second));
  };
  recordRate("loader_ticks", facts.host.preparedPerSecond(facts.replicas));
  recordRate("network_ticks", facts.host.networkRate);
  if (facts.overlapIo) record("copies_overlap", "1");
  if (facts.blockingSends) record("blocking_sends", "1");
  if (facts.sharedCompute > 0) record("shared_compute", fmt::format("{}", facts.sharedCompute));
  const Ticks sync = system.syncTicks(static_cast<int>(executable.order().places.size()));
  if (sync.count > 0 && executable.order().places.size() > 1)
    record("sync_ticks", fmt::format("{}", sync.count));
  if (!facts.microBatchCosts.empty())
    record("micro_batch_costs", fmt::format("{}", fmt::join(facts.microBatchCosts, " ")));
  if (executable.order().places.size() > 1 && system.placesShareLinks()) record("updates_share_links", "1");
  if (system.keepsInPlace()) record("stash_in_place", "1");
  const std::string overlapped = overlappedCollectives(executable);
  if (!overlapped.empty()) record("overlapped_collectives", overlapped);
  const std::string shared = facts.sharedCompute > 0 ? "" : sharedLinks(executable);
  if (!shared.empty()) record("shared_links", shared);
  const std::string tied = tiedSums(executable);
  if (!tied.empty()) record("tied_sums", tied);
}

}  // namespace pipescope::emulate

#include "engine/emulate/link_uses.h"

#include <algorithm>
#include <iterator>

namespace pipescope::emulate {
namespace {

/// Calls `visit` for the pieces of passes of a stage.
template <class Visit>
void forPassPieces(clock::StageCosts& stage, Visit&& visit) {
  for (clock::StageWork& work : stage.works)
    for (clock::Pieces* pieces : {&work.forward, &work.backward, &work.weight})
      for (clock::Piece& piece : *pieces) visit(piece);
}

/// Puts the collectives that `keeps` names in place of those of the piece, at the end of `kept`.
template <class Keeps>
void keepUses(clock::Piece& piece, const std::vector<std::vector<clock::LinkUse>>& all,
              std::vector<std::vector<clock::LinkUse>>& kept, Keeps&& keeps) {
  if (piece.uses < 0) return;
  std::vector<clock::LinkUse> own;
  std::ranges::copy_if(all[static_cast<std::size_t>(piece.uses)], std::back_inserter(own), keeps);
  piece.uses = own.empty() ? -1 : static_cast<int>(kept.size());
  if (!own.empty()) kept.push_back(std::move(own));
}

bool sharesLinks(const ReplicaPart& part, const clock::LinkUse& use) {
  return part.contention->groupOf(part.contention->flows() + use.load) != clock::Contention::kAlone;
}

/// True if a collective beside a backward pass shares links.
bool sharesBeside(const EmulatedExecutable& executable) {
  for (std::size_t r = 0; r < executable.parts.size(); ++r) {
    const clock::ReplicaCosts& replica = executable.call.replicas[r];
    for (const clock::StageCosts& stage : replica.stages)
      for (const clock::OverlappedPiece& one : stage.overlapped)
        if (one.piece.uses >= 0 &&
            sharesLinks(executable.parts[r],
                        replica.linkUses[static_cast<std::size_t>(one.piece.uses)].front()))
          return true;
  }
  return false;
}

}  // namespace

void keepSharedUses(EmulatedExecutable& executable) {
  const bool beside = sharesBeside(executable);
  for (std::size_t r = 0; r < executable.parts.size(); ++r) {
    ReplicaPart& part = executable.parts[r];
    clock::ReplicaCosts& replica = executable.call.replicas[r];
    std::vector<std::vector<clock::LinkUse>> kept;
    for (clock::StageCosts& stage : replica.stages) {
      forPassPieces(stage, [&](clock::Piece& piece) {
        keepUses(piece, replica.linkUses, kept,
                 [&](const clock::LinkUse& use) { return sharesLinks(part, use); });
      });
      for (clock::OverlappedPiece& one : stage.overlapped)
        keepUses(one.piece, replica.linkUses, kept, [&](const clock::LinkUse&) { return beside; });
    }
    replica.linkUses = std::move(kept);
    if (replica.linkUses.empty() && replica.flows.empty()) part.contention = nullptr;
  }
}

std::vector<clock::LinkUse> LinkUses::of(const devices::LoweredPass& pass,
                                         const devices::LoweredSegment& segment, int device) {
  std::vector<const devices::LoweredStep*> collectives;
  for (const devices::LoweredStep& step : segment.steps) {
    if (step.kind == model::StepKind::globalExchange && step.op >= 0 && step.ticks.count > 0 &&
        pass.operators[static_cast<std::size_t>(step.op)].collective)
      collectives.push_back(&step);
  }
  std::vector<clock::LinkUse> uses;
  if (collectives.empty()) return uses;
  std::ranges::stable_sort(collectives, {}, &devices::LoweredStep::offset);
  std::vector<Ticks> starts{segment.ticks};
  for (const devices::LoweredStep& step : segment.steps) starts.push_back(step.offset);
  std::ranges::sort(starts);
  for (const devices::LoweredStep* step : collectives) {
    const int load = loadOf(*pass.operators[static_cast<std::size_t>(step->op)].collective, device);
    const Ticks start = uses.empty() ? step->offset : std::max(step->offset, uses.back().end),
                end = step->offset + step->ticks;
    if (load < 0 || end <= start) continue;
    // Nobody knows which steps wait for this one: each that begins after it may.
    const auto next = std::ranges::lower_bound(starts, end);
    uses.push_back({start, end, next == starts.end() ? Ticks(0) : *next - end, load});
  }
  return uses;
}

const std::vector<int>& LinkUses::groupOf(const ops::Collective& collective, int device) {
  const auto [found, added] = groups_.try_emplace(GroupKey{
      device, collective.axis, collective.group, static_cast<int>(collective.holders), collective.places});
  if (added) found->second = mesh_.group(device, collective);
  return found->second;
}

int LinkUses::loadOf(const ops::Collective& collective, int device) {
  const GroupKey key{device, collective.axis, collective.group, static_cast<int>(collective.holders),
                     collective.places};
  const std::int64_t bytes = collective.elements * graph::sizeOf(collective.type);
  const auto [known, added] =
      known_.try_emplace({key, static_cast<int>(collective.kind), bytes, collective.experts.experts}, -1);
  if (!added) return known->second;
  LinkLoad load{system_.linkShares(collective, device, groupOf(collective, device)), collective.axis};
  if (load.shares.empty()) return -1;
  const auto [number, isNew] = numbers_.try_emplace(load, static_cast<int>(loads_.size()));
  if (isNew) loads_.push_back(std::move(load));
  return known->second = number->second;
}

}  // namespace pipescope::emulate

#include "profiler/clock/overlapped_collectives.h"

#include <algorithm>

namespace pipescope::clock {

OverlappedCollectives::OverlappedCollectives(const Call& call, RunningReplicas& replicas)
    : call_(call), replicas_(replicas), lanes_(static_cast<std::size_t>(call.placeCount())) {}

bool OverlappedCollectives::areThereIn(const Call& call) {
  return std::ranges::any_of(call.replicas, [](const ReplicaCosts& replica) {
    return std::ranges::any_of(replica.stages, [](const StageCosts& stage) {
      return std::ranges::any_of(stage.overlapped,
                                 [](const OverlappedPiece& one) { return one.piece.uses >= 0; });
    });
  });
}

void OverlappedCollectives::ready(int stage, std::size_t index, Ticks now) {
  if (++ready_[{stage, index}] < replicas_.size()) return;
  const int place = call_.placeOfStage[static_cast<std::size_t>(stage)];
  lanes_[static_cast<std::size_t>(place)].waiting.emplace(now, stage, index);
}

void OverlappedCollectives::partEnds(int place, Ticks now) {
  std::optional<Running>& running = lanes_[static_cast<std::size_t>(place)].running;
  if (--running->parts > 0) return;
  const Ticks alone = pieceOf(*replicas_.front(), running->stage, running->index).piece.ticks;
  delays_[{running->stage, running->index}] = now - running->start - alone;
  running.reset();
}

void OverlappedCollectives::start(Ticks now) {
  for (std::size_t place = 0; place < lanes_.size(); ++place) {
    Lane& lane = lanes_[place];
    if (lane.running || lane.waiting.empty()) continue;
    const auto [since, stage, index] = *lane.waiting.begin();
    lane.waiting.erase(lane.waiting.begin());
    lane.running = Running{stage, index, now, replicas_.size()};
    for (const auto& replica : replicas_) {
      const Piece& piece = pieceOf(*replica, stage, index).piece;
      const int load = replica->clocks.costs().linkUses[static_cast<std::size_t>(piece.uses)].front().load;
      replica->flush->beginBeside(static_cast<int>(place), load, now, piece.ticks);
    }
  }
}

Ticks OverlappedCollectives::delay(int stage, std::size_t index) const {
  const auto found = delays_.find({stage, index});
  return found == delays_.end() ? Ticks(0) : found->second;
}

}  // namespace pipescope::clock

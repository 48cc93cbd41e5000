#include "profiler/clock/place_clocks.h"

#include <algorithm>

namespace pipescope::clock {

PlaceClocks::PlaceClocks(const Call& call, int replica, Ticks now, Sink* sink, Learning* learning)
    : replica_(replica),
      costs_(call.replicas[static_cast<std::size_t>(replica)]),
      sharesHost_(call.sharesHost),
      sink_(sink),
      learning_(learning),
      clocks_(static_cast<std::size_t>(call.placeCount())) {
  for (PlaceClock& clock : clocks_) clock.free = now;
  for (int s = call.stageCount(); s-- > 0;) clock(call.placeOfStage[static_cast<std::size_t>(s)]).stage = s;
}

int PlaceClocks::slowest() const {
  const auto last =
      std::ranges::max_element(clocks_, [](const auto& a, const auto& b) { return a.free < b.free; });
  return static_cast<int>(last - clocks_.begin());
}

void PlaceClocks::work(int place, const Piece& piece, const WorkOf& work) {
  PlaceClock& at = clock(place);
  const Ticks start = at.free;
  at.free += piece.ticks;
  if (model::isComputePass(piece.pass)) {
    computed_.start = std::min(computed_.start, start);
    computed_.end = std::max(computed_.end, at.free);
    computed_.busy += piece.ticks;
  }
  if (sink_ != nullptr) at.last = sink_->placed(replica_, place, piece, start, work);
  if (piece.pass == model::Pass::remote) return;
  at.ready = at.free;
  at.readyBy = at.last;
}

model::PlacementId PlaceClocks::workBeside(int place, const Piece& piece, Ticks start, const WorkOf& work) {
  return sink_ != nullptr ? sink_->placed(replica_, place, piece, start, work) : model::PlacementId();
}

void PlaceClocks::addWait(int place, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
                          int forReplica, int forPlace, const WorkOf& work) {
  PlaceClock& at = clock(place);
  if (sink_ != nullptr)
    sink_->waited({replica_, place, at.stage, work, at.free, until, cause, waitedFor, forReplica, forPlace});
  at.free = until;
}

void PlaceClocks::align(int place, model::WaitCause cause, const WorkOf& work) {
  const PlaceClock last = clock(place);
  for (int p = 0; p < places(); ++p) wait(p, last.free, cause, last.last, place, work);
}

void PlaceClocks::delay(int place, Ticks delay, const WorkOf& work) {
  if (delay.count <= 0) return;
  PlaceClock& at = clock(place);
  const bool results = at.ready == at.free;
  wait(place, at.free + delay, sharesHost_ ? model::WaitCause::host : model::WaitCause::collective, at.last,
       place, work);
  if (results) at.ready = at.free;
}

void PlaceClocks::lag(int place, Ticks lag, model::WaitCause cause, const WorkOf& work) {
  if (lag.count == 0) return;
  PlaceClock& at = clock(place);
  if (lag.count > 0) return wait(place, at.free + lag, cause, {}, -1, work);
  at.free += lag;  // passes of a measured trace may overlap
  if (sink_ != nullptr) sink_->waitedLess(replica_, place, at.free);
}

}  // namespace pipescope::clock

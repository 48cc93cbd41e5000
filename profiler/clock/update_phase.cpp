#include "profiler/clock/update_phase.h"

#include <algorithm>
#include <map>

namespace pipescope::clock {

void UpdatePhase::run(int iteration, const OverlappedCollectives* beside) {
  beside_ = beside;
  const Order& order = call_.orderOf(iteration);
  const WorkOf of{.iteration = iteration};
  if (order.serialUpdate) {
    for (const auto& replica : replicas_)
      replica->clocks.align(replica->clocks.slowest(), model::WaitCause::drain, of);
  }
  if (order.pipes > 1 && call_.training) meetMirrored(iteration);
  if (call_.training) sumTied(iteration);
  for (int place = 0; place < call_.placeCount(); ++place) {
    const bool any = updatePlace(place, iteration);
    if (!order.serialUpdate || !any) continue;
    for (const auto& replica : replicas_) replica->clocks.align(place, model::WaitCause::update, of);
  }
}

void UpdatePhase::meetMirrored(int iteration) {
  const int count = call_.placeCount();
  for (int place = 0; 2 * place < count; ++place) meet({place, count - 1 - place}, iteration);
}

void UpdatePhase::meet(const std::vector<int>& places, int iteration) {
  PlaceClocks* last = &replicas_.front()->clocks;
  int slowest = places.front();
  for (const auto& replica : replicas_) {
    for (const int one : places) {
      if (replica->clocks.clock(one).free <= last->clock(slowest).free) continue;
      last = &replica->clocks;
      slowest = one;
    }
  }
  const PlaceClock end = last->clock(slowest);
  for (const auto& replica : replicas_) {
    for (const int one : places)
      replica->clocks.wait(one, end.free, model::WaitCause::collective, end.last, last->replica(), slowest,
                           {.iteration = iteration});
  }
}

void UpdatePhase::sumTied(int iteration) {
  struct Part {
    int stage = 0;
    std::size_t index = 0;  ///< index in the list of the stage
  };
  std::map<int, std::vector<Part>> parts;
  for (int stage = 0; stage < call_.stageCount(); ++stage) {
    const std::vector<TiedPiece>& own = stageOf(*replicas_.front(), stage).tied;
    for (std::size_t i = 0; i < own.size(); ++i) parts[own[i].number].push_back({stage, i});
  }
  if (parts.empty()) return;
  const auto placeOf = [&](const Part& part) {
    return call_.placeOfStage[static_cast<std::size_t>(part.stage)];
  };
  std::set<int> involved;
  for (const auto& [number, all] : parts)
    for (const Part& part : all) involved.insert(placeOf(part));
  for (const int place : involved) finishOverlapped(place, iteration);
  for (const auto& [number, all] : parts) {
    std::vector<int> places;
    for (const Part& part : all) places.push_back(placeOf(part));
    meet(places, iteration);
    for (const auto& replica : replicas_)
      for (const Part& part : all)
        replica->clocks.work(placeOf(part), stageOf(*replica, part.stage).tied[part.index].piece,
                             {.stage = part.stage, .iteration = iteration});
  }
  summed_ = std::move(involved);
}

const Pieces& UpdatePhase::updateOf(const RunningReplica& replica, int stage, int iteration) const {
  static const Pieces kNone;
  const std::vector<Pieces>& updates = stageOf(replica, stage).updates;
  return updates.empty() ? kNone : updates[static_cast<std::size_t>(iteration) % updates.size()];
}

bool UpdatePhase::updatePlace(int place, int iteration) {
  bool any = summed_.erase(place) > 0;
  if (!any) finishOverlapped(place, iteration);
  for (int stage = 0; stage < call_.stageCount(); ++stage) {
    if (!holds(place, stage)) continue;
    const std::size_t count = updateOf(*replicas_.front(), stage, iteration).size();
    for (std::size_t i = 0; i < count; ++i) workAll(place, stage, i, iteration);
    any = any || count > 0;
  }
  return any;
}

std::vector<UpdatePhase::Overlapped> UpdatePhase::overlappedOf(int place, int iteration) const {
  std::vector<Overlapped> all;
  for (int stage = 0; stage < call_.stageCount(); ++stage) {
    if (!holds(place, stage)) continue;
    const std::vector<OverlappedPiece>& pieces = stageOf(*replicas_.front(), stage).overlapped;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      // A collective is as slow as the slowest of its links, so it takes equally long in all replicas.
      Overlapped one{stage, k, Ticks(INT64_MIN), pieces[k].piece.ticks, pieces[k].delay(iteration), nullptr};
      if (beside_ != nullptr) one.delay += beside_->delay(stage, k);
      for (const auto& replica : replicas_) {
        const Ticks ready = replica->flush->backwardEnd(stage, stageOf(*replica, stage).overlapped[k].after);
        if (ready <= one.ready) continue;
        one.ready = ready;
        one.late = replica.get();
      }
      all.push_back(one);
    }
  }
  std::ranges::stable_sort(all, {}, &Overlapped::ready);
  return all;
}

void UpdatePhase::finishOverlapped(int place, int iteration) {
  const std::vector<Overlapped> all = overlappedOf(place, iteration);
  if (all.empty()) return;
  Ticks free{INT64_MIN}, bound{INT64_MIN};
  RunningReplica* late = nullptr;  // replica whose gradients came last, at `bound`
  std::vector<model::PlacementId> last(replicas_.size());
  for (const Overlapped& one : all) {
    Ticks start = free;
    if (one.ready > start) {
      start = bound = one.ready;
      late = one.late;
    }
    start += one.delay;
    free = start + one.ticks;
    for (std::size_t r = 0; r < replicas_.size(); ++r)
      last[r] = replicas_[r]->clocks.workBeside(place,
                                                stageOf(*replicas_[r], one.stage).overlapped[one.index].piece,
                                                start, {.stage = one.stage, .iteration = iteration});
  }
  const WorkOf of{.stage = all.back().stage, .iteration = iteration};
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    PlaceClocks& clocks = replicas_[r]->clocks;
    if (late != nullptr && late != replicas_[r].get())
      clocks.wait(place, bound, model::WaitCause::collective, late->clocks.clock(place).last,
                  late->clocks.replica(), place, of);
    clocks.wait(place, free, model::WaitCause::collective, last[r], place, of);
  }
}

void UpdatePhase::workAll(int place, int stage, std::size_t index, int iteration) {
  const WorkOf of{.stage = stage, .iteration = iteration};
  const Piece& first = updateOf(*replicas_.front(), stage, iteration)[index];
  if (first.pass == model::Pass::collective && !call_.measured) {
    PlaceClocks& last = (*std::ranges::max_element(replicas_, {}, [&](const auto& replica) {
                          return replica->clocks.clock(place).free;
                        }))->clocks;
    const PlaceClock slowest = last.clock(place);
    for (const auto& replica : replicas_)
      replica->clocks.wait(place, slowest.free, model::WaitCause::collective, slowest.last, last.replica(),
                           place, of);
  }
  for (const auto& replica : replicas_) {
    const Pieces& own = updateOf(*replica, stage, iteration);
    if (index >= own.size()) continue;
    replica->clocks.lag(place, lagOf(*replica, place, stage, index, iteration), model::WaitCause::host, of);
    replica->clocks.work(place, own[index], of);
  }
}

/// The lag of a piece of the update, which is learned first if lags are learned.
Ticks UpdatePhase::lagOf(RunningReplica& replica, int place, int stage, std::size_t index,
                         int iteration) const {
  Learning* const learning = replica.clocks.learning();
  if (learning == nullptr) return updateOf(replica, stage, iteration)[index].lag;
  const auto r = static_cast<std::size_t>(replica.clocks.replica());
  const auto s = static_cast<std::size_t>(stage), i = static_cast<std::size_t>(iteration);
  std::vector<Pieces>& updates = learning->call.replicas[r].stages[s].updates;
  const std::vector<Ticks>& starts =
      learning->starts.updates[r][i * static_cast<std::size_t>(call_.stageCount()) + s];
  Ticks& lag = updates[i % updates.size()][index].lag;
  if (index < starts.size() && starts[index].count != INT64_MIN)
    lag = starts[index] - replica.clocks.clock(place).free;
  return lag;
}

}  // namespace pipescope::clock

#include "profiler/clock/dependency_flush.h"

#include <algorithm>

#include "profiler/base/check.h"
#include "profiler/clock/overlapped_collectives.h"

namespace pipescope::clock {

bool DependencyFlush::later(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.kind != b.kind) return a.kind > b.kind;
  return a.id > b.id;
}

DependencyFlush::DependencyFlush(const Call& call, const Host& host, PlaceClocks& clocks,
                                 Contention* contention)
    : Flush(call, host, clocks),
      contention_(contention),
      flowOf_(call.placeOfStage.size() * 2, -1),
      next_(waited_.size()),
      end_(waited_.size()),
      shared_(waited_.size()),
      sending_(call.blockingSends ? waited_.size() : 0),
      received_(waited_.size(), clocks.clock(0).free),
      arrivals_(call.placeOfStage.size() * 2 * static_cast<std::size_t>(call.microBatches)) {
  // Collectives beside the backward pass meet in all replicas, so that the events of all are in order.
  const bool meets = std::ranges::any_of(clocks.costs().stages, [](const StageCosts& stage) {
    return !stage.overlapped.empty() && stage.overlapped.front().piece.uses >= 0;
  });
  if (contention != nullptr && (contention->groups() > 0 || meets)) sharing_.emplace(*contention);
  const std::vector<Flow>& flows = clocks.costs().flows;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool forward = flows[i].kind == model::TransferKind::activation;
    int& flow = flowOf_[static_cast<std::size_t>(flows[i].fromStage) * 2 + (forward ? 0 : 1)];
    PIPESCOPE_CHECK(flow < 0 || call.measured, "a stage sends to one neighbour in each direction");
    flow = static_cast<int>(i);
  }
}

std::size_t DependencyFlush::index(int stage, model::Pass pass, int microBatch) const {
  return (static_cast<std::size_t>(stage) * 2 + directionOf(pass)) *
             static_cast<std::size_t>(call_.microBatches) +
         static_cast<std::size_t>(microBatch);
}

void DependencyFlush::findOrder() {
  std::ranges::fill(next_, 0);
  std::ranges::fill(end_, 0);
  if (madeBy_ == order_) return;
  madeBy_ = order_;
  stagesOfPipe_ = call_.stageCount() / order_->pipes;
  left_.clear();
  if (order_->progression == model::ScheduleKind::oneAtATime)
    left_.resize(static_cast<std::size_t>(call_.microBatches));
  made_.assign(arrivals_.size(), 0);
  lastBackward_.assign(call_.placeOfStage.size(), -1);
  for (const std::vector<Task>& list : order_->places) {
    for (const Task& task : list) {
      if (task.pass != model::Pass::weightGradient) made_[index(task.stage, task.pass, task.microBatch)] = 1;
      if (task.pass == model::Pass::backward)
        lastBackward_[static_cast<std::size_t>(task.stage)] = task.microBatch;
    }
  }
}

void DependencyFlush::push(Event event) {
  events_.push_back(event);
  if (sharing_) std::push_heap(events_.begin(), events_.end(), later);
}

void DependencyFlush::startTasks() {
  findOrder();
  for (int p = 0; p < clocks_.places(); ++p) start(p);
  if (!sharing_) runUnordered();
}

bool DependencyFlush::done() const {
  for (int p = 0; p < clocks_.places(); ++p)
    if (next_[static_cast<std::size_t>(p)] != tasks(p).size()) return false;
  return true;
}

void DependencyFlush::runUnordered() {
  for (std::vector<Event> ended; !events_.empty(); ended.clear()) {
    std::swap(ended, events_);
    for (const Event& event : ended) blockEnds(event.id);
  }
}

std::optional<Ticks> DependencyFlush::next() const {
  if (events_.empty()) return std::nullopt;
  return events_.front().time;
}

void DependencyFlush::process(Ticks now) {
  while (!events_.empty() && events_.front().time == now) {
    std::pop_heap(events_.begin(), events_.end(), later);
    const Event event = events_.back();
    events_.pop_back();
    switch (event.kind) {
      case Event::Kind::transferEnds:
        if ((*sharing_)[event.id].changes == event.changes) transferEnds(event.id);
        break;
      case Event::Kind::useBegins: {
        const SharedPiece& shared = shared_[static_cast<std::size_t>(event.id)];
        const LinkUse& use = (*shared.uses)[shared.use];
        beginLoad(event.id, use.load, now, use.end - use.start, false);
        break;
      }
      case Event::Kind::pieceEnds:
        delayPiece(event.id, shared_[static_cast<std::size_t>(event.id)].delay);
        placeOn(event.id);
        break;
      case Event::Kind::gradientsReady:
        beside_->ready(event.id, event.changes, now);
        break;
      case Event::Kind::blockEnds:
        blockEnds(event.id);
        break;
    }
  }
}

void DependencyFlush::retime(Ticks now) {
  if (!sharing_ || !sharing_->changed()) return;
  sharing_->retime(now, [&](int transfer) {
    const TransferUnderWay& changed = (*sharing_)[transfer];
    push({.time = changed.end, .id = transfer, .changes = changed.changes});
  });
}

void DependencyFlush::beginLoad(int place, int load, Ticks now, Ticks ticks, bool beside) {
  const int index = sharing_->beginLoad({.flow = contention_->flows() + load,
                                         .task = {},
                                         .start = now,
                                         .end = now + ticks,
                                         .ticks = {},
                                         .source = {},
                                         .place = place,
                                         .beside = beside});
  push({.time = now + ticks, .id = index, .changes = (*sharing_)[index].changes});
}

void DependencyFlush::beginBeside(int place, int load, Ticks now, Ticks ticks) {
  beginLoad(place, load, now, ticks, true);
}

void DependencyFlush::backwardPieceEnds(const Task& task, int after, Ticks time) {
  if (beside_ == nullptr || lastBackward_[static_cast<std::size_t>(task.stage)] != task.microBatch) return;
  const std::vector<OverlappedPiece>& all =
      clocks_.costs().stages[static_cast<std::size_t>(task.stage)].overlapped;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].after == after)
      push({.time = time,
            .id = task.stage,
            .changes = static_cast<std::uint32_t>(k),
            .kind = Event::Kind::gradientsReady});
  }
}

void DependencyFlush::placeOn(int place) {
  const auto p = static_cast<std::size_t>(place);
  const Piece* const piece = goOn(place);
  if (piece == nullptr)
    return push({.time = clocks_.clock(place).ready, .id = place, .kind = Event::Kind::blockEnds});
  const Ticks start = clocks_.clock(place).free - piece->ticks;
  shared_[p] = {&clocks_.costs().linkUses[static_cast<std::size_t>(piece->uses)], 0, start, piece->ticks,
                Ticks(0)};
  nextUse(place, start);
}

void DependencyFlush::nextUse(int place, Ticks now) {
  const SharedPiece& shared = shared_[static_cast<std::size_t>(place)];
  const Ticks start = shared.start + shared.delay;
  if (shared.use < shared.uses->size())
    return push({.time = std::max(now, start + (*shared.uses)[shared.use].start),
                 .id = place,
                 .kind = Event::Kind::useBegins});
  push({.time = std::max(now, start + shared.length), .id = place, .kind = Event::Kind::pieceEnds});
}

/// Delays the rest of a piece by as much as its collective ends later than it would alone.
void DependencyFlush::useEnds(int place, Ticks now) {
  SharedPiece& shared = shared_[static_cast<std::size_t>(place)];
  const LinkUse& use = (*shared.uses)[shared.use++];
  const Ticks late = now - (shared.start + shared.delay + use.end);
  if (late > use.slack) shared.delay += late - use.slack;
  nextUse(place, now);
}

bool DependencyFlush::input(const Task& task, Arrival*& needed) {
  needed = nullptr;
  std::size_t at = 0;
  if (task.pass == model::Pass::forward) {
    if (firstOfPipe(task.stage)) {
      if (left_.empty() || task.microBatch == 0) return true;
      needed = &left_[static_cast<std::size_t>(task.microBatch) - 1];
      return needed->iteration == iteration_;
    }
    at = index(task.stage - 1, task.pass, task.microBatch);
  } else if (task.pass == model::Pass::backward && !lastOfPipe(task.stage)) {
    at = index(task.stage + 1, task.pass, task.microBatch);
  } else {
    return true;
  }
  if (made_[at] == 0) return true;
  needed = &arrivals_[at];
  return needed->iteration == iteration_;
}

void DependencyFlush::start(int place) {
  if (!call_.blockingSends) return startBlock(place);
  const std::vector<int> senders = takeMessages(place);
  startBlock(place);
  for (const int sender : senders) start(sender);
}

std::vector<int> DependencyFlush::takeMessages(int place) {
  const auto p = static_cast<std::size_t>(place);
  const std::vector<Task>& all = tasks(place);
  std::vector<int> senders;
  if (end_[p] != next_[p]) return senders;
  for (std::size_t i = next_[p]; i < all.size() && (i == next_[p] || all[i].joined); ++i) {
    Arrival* needed = nullptr;
    if (input(all[i], needed) && needed != nullptr && !needed->taken)
      senders.push_back(take(*needed, all[i], place));
  }
  return senders;
}

int DependencyFlush::take(Arrival& arrival, const Task& task, int place) {
  const PlaceClock& clock = clocks_.clock(place);
  const Ticks begin = std::max(arrival.sent, clock.free);
  const int index = flowOf(arrival.work.stage, task.pass);
  arrival.arrived = begin + flowTicks(index, task.microBatch);
  arrival.taken = true;
  if (clocks_.sink() != nullptr && arrival.arrived > begin)
    clocks_.sink()->transferred(clocks_.replica(), index, begin, arrival.arrived, arrival.source,
                                arrival.work);
  if (begin > arrival.sent) arrival.source = clock.last;
  Sending& sending = sending_[static_cast<std::size_t>(arrival.place)];
  --sending.left;
  if (arrival.arrived > sending.end)
    sending = {sending.left, begin, arrival.arrived, arrival.source, place, arrival.work};
  return arrival.place;
}

void DependencyFlush::waitForReceivers(int place) {
  const auto p = static_cast<std::size_t>(place);
  const Sending sending = std::exchange(sending_[p], {});
  clocks_.wait(place, sending.begin, model::WaitCause::slowerStage, sending.source, sending.receiver,
               sending.work);
  clocks_.wait(place, sending.end, model::WaitCause::exchange, sending.source, sending.receiver,
               sending.work);
}

void DependencyFlush::startBlock(int place) {
  const auto p = static_cast<std::size_t>(place);
  const std::vector<Task>& all = tasks(place);
  if (end_[p] != next_[p]) return;
  if (call_.blockingSends && sending_[p].left > 0) return;
  if (next_[p] == all.size()) {
    if (call_.blockingSends) waitForReceivers(place);
    return;
  }
  std::size_t end = next_[p], waiting = end;
  std::optional<Arrival> last;
  Ticks lastReceived = received_[p];
  do {
    Arrival* needed = nullptr;
    if (!input(all[end], needed)) return;
    if (needed != nullptr && needed->place != place) {
      const Arrival arrival = received(*needed, all[end], lastReceived);
      if (!last || arrival.arrived > last->arrived) {
        last = arrival;
        waiting = end;
      }
    }
    ++end;
  } while (end < all.size() && all[end].joined);
  received_[p] = lastReceived;
  if (call_.blockingSends) waitForReceivers(place);
  waited_[p] = last && last->arrived >= clocks_.clock(place).free ? 1 : 0;
  if (last) {
    placeLoads(place, all[next_[p]]);
    waitFor(*last, place, all[waiting]);
  }
  beginBlock(place, next_[p], end);
  end_[p] = end;
  placeOn(place);
}

DependencyFlush::Arrival DependencyFlush::received(const Arrival& arrival, const Task& task,
                                                   Ticks& lastReceived) {
  Arrival own = arrival;
  if (!call_.measured) return own;
  const Ticks begin = std::max(arrival.sent, lastReceived);
  lastReceived = own.arrived = begin + messageTicks(task, begin, arrival.arrived - arrival.sent);
  return own;
}

/// Returns how long the message takes that brings the input of a task, once it is received from `begin` on.
/// While lags are learned, a message that other messages overlapped takes only the time until its task
/// started, for otherwise the task would come too late.
Ticks DependencyFlush::messageTicks(const Task& task, Ticks begin, Ticks ticks) {
  if (clocks_.learning() == nullptr) return ticks;
  const bool forward = task.pass == model::Pass::forward;
  const Ticks taskStart = recordedStart(task);
  if (taskStart.count == INT64_MIN || begin + ticks <= taskStart) return ticks;
  if (forward ? firstOfPipe(task.stage) : lastOfPipe(task.stage)) return ticks;
  const Ticks shorter = std::max(taskStart - begin, Ticks(0));
  const int flow = flowOf(forward ? task.stage - 1 : task.stage + 1, task.pass);
  if (flow >= 0)
    clocks_.learning()
        ->call.replicas[static_cast<std::size_t>(clocks_.replica())]
        .flows[static_cast<std::size_t>(flow)]
        .recorded[call_.indexOf(iteration_, task.microBatch)] = shorter;
  return shorter;
}

void DependencyFlush::waitFor(const Arrival& arrival, int place, const Task& task) {
  const bool first = next_[static_cast<std::size_t>(place)] == 0;
  const model::WaitCause cause = first ? model::WaitCause::fill : model::WaitCause::slowerStage;
  clocks_.wait(place, arrival.sent, cause, arrival.source, arrival.place, workOf(task));
  clocks_.wait(place, arrival.arrived, first ? cause : model::WaitCause::exchange, arrival.source,
               arrival.place, workOf(task));
}

void DependencyFlush::blockEnds(int place) {
  const auto p = static_cast<std::size_t>(place);
  // The place counts as busy until all is sent, because it may send to itself.
  for (std::size_t i = next_[p]; i < end_[p]; ++i) send(place, tasks(place)[i]);
  next_[p] = end_[p];
  if (++blocks_ % 4096 == 0 && clocks_.sink() != nullptr) clocks_.sink()->pause();
  start(place);
}

void DependencyFlush::send(int place, const Task& task) {
  if (task.pass == model::Pass::weightGradient) return;
  const PlaceClock& clock = clocks_.clock(place);
  const bool forward = task.pass == model::Pass::forward;
  Arrival ended{clock.ready, clock.ready, clock.readyBy, place, iteration_, true, workOf(task)};
  if (!left_.empty() && (forward ? !call_.training && lastOfPipe(task.stage) : firstOfPipe(task.stage))) {
    left_[static_cast<std::size_t>(task.microBatch)] = ended;
    start(placeOf(0));
  }
  const int index = flowOf(task.stage, task.pass);
  if (index < 0) return arrive(task, ended);
  if (call_.blockingSends) {
    ended.taken = false;
    ++sending_[static_cast<std::size_t>(place)].left;
    return arrive(task, ended);
  }
  const Flow& flow = clocks_.costs().flows[static_cast<std::size_t>(index)];
  if (sharing_ && contention_->groupOf(index) != Contention::kAlone && flow.ticks.count > 0)
    return sharing_->begin({.flow = index,
                            .task = task,
                            .start = ended.sent,
                            .end = {},
                            .ticks = {},
                            .source = ended.source,
                            .place = place});
  ended.arrived += flowTicks(index, task.microBatch);
  if (clocks_.sink() != nullptr && ended.arrived > ended.sent)
    clocks_.sink()->transferred(clocks_.replica(), index, ended.sent, ended.arrived, ended.source,
                                workOf(task));
  arrive(task, ended);
}

Ticks DependencyFlush::flowTicks(int index, int microBatch) const {
  const Flow& flow = clocks_.costs().flows[static_cast<std::size_t>(index)];
  return flow.recorded.empty() ? flow.ticks : flow.recorded[call_.indexOf(iteration_, microBatch)];
}

void DependencyFlush::transferEnds(int index) {
  const TransferUnderWay sent = sharing_->end(index);
  if (sent.flow >= contention_->flows()) {
    if (sent.beside) return beside_->partEnds(sent.place, sent.end);
    return useEnds(sent.place, sent.end);
  }
  if (clocks_.sink() != nullptr)
    clocks_.sink()->transferred(clocks_.replica(), sent.flow, sent.start, sent.end, sent.source,
                                workOf(sent.task));
  arrive(sent.task, {sent.start, sent.end, sent.source, sent.place, iteration_, true, workOf(sent.task)});
}

void DependencyFlush::arrive(const Task& task, const Arrival& arrival) {
  arrivals_[index(task.stage, task.pass, task.microBatch)] = arrival;
  const bool forward = task.pass == model::Pass::forward;
  if (forward ? lastOfPipe(task.stage) : firstOfPipe(task.stage)) return;
  start(placeOf(forward ? task.stage + 1 : task.stage - 1));
}

}  // namespace pipescope::clock

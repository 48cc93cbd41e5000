#include "profiler/clock/dependency_flush.h"

#include <algorithm>

#include "profiler/base/check.h"
#include "profiler/clock/overlapped_collectives.h"

namespace pipescope::clock {

DependencyFlush::DependencyFlush(const Call& call, const Host& host, PlaceClocks& clocks,
                                 Contention* contention)
    : Flush(call, host, clocks),
      contention_(contention),
      flowOf_(call.placeOfStage.size() * 2, -1),
      shared_(static_cast<std::size_t>(clocks.places())),
      sending_(call.blockingSends ? shared_.size() : 0),
      received_(shared_.size(), clocks.clock(0).free),
      arrivals_(call.placeOfStage.size() * 2 * static_cast<std::size_t>(call.microBatches)) {
  if (call.blockingSends) sent_.resize(arrivals_.size());
  // Collectives beside the backward pass meet in all replicas, so that the events of all are in order.
  const bool meets = std::ranges::any_of(clocks.costs().stages, [](const StageCosts& stage) {
    return !stage.overlapped.empty() && stage.overlapped.front().piece.uses >= 0;
  });
  if (contention != nullptr && (contention->groups() > 0 || meets)) sharing_.emplace(*contention);
  sharesLinks_ = sharing_.has_value();
  const std::vector<Flow>& flows = clocks.costs().flows;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool forward = flows[i].kind == model::TransferKind::activation;
    int& flow = flowOf_[static_cast<std::size_t>(flows[i].fromStage) * 2 + (forward ? 0 : 1)];
    PIPESCOPE_CHECK(flow < 0 || call.measured, "a stage sends to one neighbour in each direction");
    flow = static_cast<int>(i);
  }
}

void DependencyFlush::findOrder() {
  for (int p = 0; p < clocks_.places(); ++p) block(p).first = block(p).end = 0;
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

void DependencyFlush::push(const Event& event) {
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), Later());
}

void DependencyFlush::startTasks() {
  findOrder();
  for (int p = 0; p < clocks_.places(); ++p) start(p);
  if (!sharing_) runUnordered();
}

bool DependencyFlush::done() const {
  for (int p = 0; p < clocks_.places(); ++p)
    if (block(p).first != tasks(p).size()) return false;
  return true;
}

void DependencyFlush::runUnordered() {
  for (std::vector<int> ended; !ended_.empty(); ended.clear()) {
    std::swap(ended, ended_);
    for (const int place : ended) blockEnds(place);
  }
}

Ticks DependencyFlush::next() const {
  return events_.empty() ? kNever : events_.front().time;
}

void DependencyFlush::process(Ticks now) {
  while (!events_.empty() && events_.front().time == now) {
    std::pop_heap(events_.begin(), events_.end(), Later());
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
  if (!sharing_) return ended_.push_back(place);
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
  needed = &arrivals_[at];
  if (needed->iteration == iteration_) return true;
  if (made_[at] != 0) return false;
  needed = nullptr;
  return true;
}

void DependencyFlush::startWithMessages(int place) {
  const std::vector<int> senders = takeMessages(place);
  startBlock(place);
  for (const int sender : senders) start(sender);
}

std::vector<int> DependencyFlush::takeMessages(int place) {
  const std::vector<Task>& all = tasks(place);
  const std::size_t first = block(place).first;
  std::vector<int> senders;
  if (block(place).end != first) return senders;
  for (std::size_t i = first; i < all.size() && (i == first || all[i].joined); ++i) {
    Arrival* needed = nullptr;
    if (input(all[i], needed) && needed != nullptr && !needed->taken())
      senders.push_back(take(*needed, all[i], place));
  }
  return senders;
}

int DependencyFlush::take(Arrival& arrival, const Task& task, int place) {
  const PlaceClock& clock = clocks_.clock(place);
  const Ticks begin = std::max(arrival.sent, clock.free);
  const WorkOf& work = sent_[static_cast<std::size_t>(&arrival - arrivals_.data())];
  const int index = flowOf(work.stage, task.pass);
  arrival.arrived = begin + flowTicks(index, task.microBatch);
  if (clocks_.sink() != nullptr && arrival.arrived > begin)
    clocks_.sink()->transferred(clocks_.replica(), index, begin, arrival.arrived, arrival.source, work);
  if (begin > arrival.sent) arrival.source = clock.last;
  Sending& sending = sending_[static_cast<std::size_t>(arrival.place)];
  --sending.left;
  if (arrival.arrived > sending.end)
    sending = {sending.left, begin, arrival.arrived, arrival.source, place, work};
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
  Block& own = block(place);
  if (own.end != own.first) return;
  if (call_.blockingSends && sending_[p].left > 0) return;
  if (own.first == all.size()) {
    if (call_.blockingSends) waitForReceivers(place);
    return;
  }
  std::size_t end = own.first, waiting = end;
  const Arrival* last = nullptr;
  Ticks lastArrived, lastReceived = received_[p];
  do {
    Arrival* needed = nullptr;
    if (!input(all[end], needed)) return;
    if (needed != nullptr && needed->place != place) {
      if (call_.measured) lastReceived = received(*needed, all[end], lastReceived);
      const Ticks arrived = call_.measured ? lastReceived : needed->arrived;
      if (last == nullptr || arrived > lastArrived) {
        last = needed;
        lastArrived = arrived;
        waiting = end;
      }
    }
    ++end;
  } while (end < all.size() && all[end].joined);
  received_[p] = lastReceived;
  if (call_.blockingSends) waitForReceivers(place);
  own.waited = last != nullptr && lastArrived >= clocks_.clock(place).free;
  if (last != nullptr) {
    placeLoads(place, all[own.first]);
    waitFor(*last, lastArrived, place, all[waiting]);
  }
  beginBlock(place, own.first, end);
  placeOn(place);
}

Ticks DependencyFlush::received(const Arrival& arrival, const Task& task, Ticks lastReceived) {
  const Ticks begin = std::max(arrival.sent, lastReceived);
  return begin + messageTicks(task, begin, arrival.arrived - arrival.sent);
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

void DependencyFlush::waitFor(const Arrival& arrival, Ticks arrived, int place, const Task& task) {
  const bool first = block(place).first == 0;
  const model::WaitCause cause = first ? model::WaitCause::fill : model::WaitCause::slowerStage;
  clocks_.wait(place, arrival.sent, cause, arrival.source, arrival.place, workOf(task));
  clocks_.wait(place, arrived, first ? cause : model::WaitCause::exchange, arrival.source, arrival.place,
               workOf(task));
}

void DependencyFlush::blockEnds(int place) {
  Block& own = block(place);
  const std::vector<Task>& all = tasks(place);
  // The place counts as busy until all is sent, because it may send to itself.
  for (std::size_t i = own.first; i < own.end; ++i) send(place, all[i]);
  own.first = own.end;
  if (++blocks_ % 4096 == 0 && clocks_.sink() != nullptr) clocks_.sink()->pause();
  start(place);
}

void DependencyFlush::send(int place, const Task& task) {
  if (task.pass == model::Pass::weightGradient) return;
  const PlaceClock& clock = clocks_.clock(place);
  const bool forward = task.pass == model::Pass::forward;
  Arrival ended{clock.ready, clock.ready, clock.readyBy, place, iteration_};
  if (!left_.empty() && (forward ? !call_.training && lastOfPipe(task.stage) : firstOfPipe(task.stage))) {
    left_[static_cast<std::size_t>(task.microBatch)] = ended;
    start(placeOf(0));
  }
  const int flowIndex = flowOf(task.stage, task.pass);
  if (flowIndex < 0) return arrive(task, ended);
  if (call_.blockingSends) {
    ended.arrived = Ticks(INT64_MIN);
    sent_[index(task.stage, task.pass, task.microBatch)] = workOf(task);
    ++sending_[static_cast<std::size_t>(place)].left;
    return arrive(task, ended);
  }
  const Flow& flow = clocks_.costs().flows[static_cast<std::size_t>(flowIndex)];
  if (sharing_ && contention_->groupOf(flowIndex) != Contention::kAlone && flow.ticks.count > 0)
    return sharing_->begin({.flow = flowIndex,
                            .task = task,
                            .start = ended.sent,
                            .end = {},
                            .ticks = {},
                            .source = ended.source,
                            .place = place});
  ended.arrived += flowTicks(flowIndex, task.microBatch);
  if (clocks_.sink() != nullptr && ended.arrived > ended.sent)
    clocks_.sink()->transferred(clocks_.replica(), flowIndex, ended.sent, ended.arrived, ended.source,
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
  arrive(sent.task, {sent.start, sent.end, sent.source, sent.place, iteration_});
}

void DependencyFlush::arrive(const Task& task, const Arrival& arrival) {
  arrivals_[index(task.stage, task.pass, task.microBatch)] = arrival;
  const bool forward = task.pass == model::Pass::forward;
  if (forward ? lastOfPipe(task.stage) : firstOfPipe(task.stage)) return;
  start(placeOf(forward ? task.stage + 1 : task.stage - 1));
}

}  // namespace pipescope::clock

#include "profiler/replay/player.h"

#include <algorithm>
#include <cmath>

namespace pipescope::replay {
namespace {

std::size_t leadingLoads(const Pieces& pieces) {
  std::size_t count = 0;
  while (count < pieces.size() && pieces[count].pass == model::Pass::remote) ++count;
  return count;
}

}  // namespace

Player::Player(PlayerContext& context, int replica)
    : context_(context),
      recording_(context.recording),
      replica_(replica),
      recorded_(recording_.replicas[static_cast<std::size_t>(replica)]),
      devices_(static_cast<std::size_t>(recording_.deviceCount())),
      backwardStart_(static_cast<std::size_t>(recording_.stageCount())),
      next_(devices_.size()),
      end_(devices_.size()),
      loaded_(devices_.size()),
      waited_(devices_.size()),
      received_(devices_.size(), recording_.run.start),
      flowOf_(2 * backwardStart_.size(), -1),
      loading_(devices_.size()),
      storing_(devices_.size()),
      room_(devices_.size(), Ticks(-1)),
      lastStore_(devices_.size(), -1) {
  for (PlayedDevice& device : devices_) device.free = recording_.run.start;
  for (int s = recording_.stageCount(); s-- > 0;) device(deviceOf(s)).stage = s;
  for (std::size_t i = 0; i < recorded_.flows.size(); ++i) {
    const RecordedFlow& flow = recorded_.flows[i];
    const bool forward = flow.kind == model::TransferKind::activation;
    flowOf_[static_cast<std::size_t>(flow.fromStage) * 2 + (forward ? 0 : 1)] = static_cast<int>(i);
  }
}

int Player::slowest() const {
  const auto last = std::max_element(devices_.begin(), devices_.end(),
                                     [](const auto& a, const auto& b) { return a.free < b.free; });
  return static_cast<int>(last - devices_.begin());
}

void Player::place(int d, const Piece& piece, const PiecePlace& where) {
  PlayedDevice& at = device(d);
  const Ticks start = at.free;
  at.free += piece.ticks;
  if (context_.rows) {
    at.last = static_cast<std::int64_t>(context_.timeline.placements.size());
    context_.timeline.placements.push_back({replica_, d, where, piece.segment, piece.pass, start, at.free});
  }
  if (piece.pass == model::Pass::remote) return;
  at.ready = at.free;
  at.readyBy = at.last;
}

std::int64_t Player::placeOnOwnLane(int d, const Piece& piece, Ticks start, const PiecePlace& where) {
  if (!context_.rows) return -1;
  context_.timeline.placements.push_back(
      {replica_, d, where, piece.segment, piece.pass, start, start + piece.ticks});
  return static_cast<std::int64_t>(context_.timeline.placements.size()) - 1;
}

void Player::wait(int d, Ticks until, model::WaitCause cause, std::int64_t waitedFor, int forReplica,
                  int forDevice, const PiecePlace& where) {
  PlayedDevice& at = device(d);
  if (until <= at.free) return;
  if (context_.rows)
    context_.timeline.waits.push_back(
        {replica_, d, at.stage, where, at.free, until, cause, waitedFor, forReplica, forDevice});
  at.free = until;
}

void Player::lag(int d, Ticks& lag, Ticks recordedStart, model::WaitCause cause, const PiecePlace& where) {
  PlayedDevice& at = device(d);
  if (context_.learning != nullptr && recordedStart.count != INT64_MIN) lag = recordedStart - at.free;
  if (lag.count > 0) wait(d, at.free + lag, cause, -1, -1, where);
  if (lag.count >= 0) return;
  at.free += lag;  // passes of a measured trace may overlap
  std::vector<PlacedWait>& waits = context_.timeline.waits;
  while (!waits.empty() && waits.back().replica == replica_ && waits.back().device == d &&
         waits.back().end > at.free) {
    waits.back().end = std::max(waits.back().start, at.free);
    if (waits.back().end > waits.back().start) break;
    waits.pop_back();
  }
}

bool Player::flush(int iteration) {
  iteration_ = iteration;
  order_ = &recording_.orderOf(iteration);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(end_.begin(), end_.end(), 0);
  bool done = true;
  if (order_->progression == model::ScheduleKind::barrier) {
    flushWithBarriers();
  } else {
    done = flushByDependency();
  }
  finishStores();
  return done;
}

// --- Tasks -----------------------------------------------------------------------------

Ticks Player::prepared(const ReplayTask& task) const {
  const RecordedHost& host = recording_.host;
  const std::int64_t count =
      static_cast<std::int64_t>(iteration_) * recording_.microBatches + task.microBatch + 1;
  return host.loaderStart +
         Ticks(static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * host.ticksPerMicroBatch())));
}

void Player::placeHostIn(int d, const ReplayTask& task) {
  const Pieces& loads = work(task).hostIn;
  const bool prepares = recording_.host.ticksPerMicroBatch() > 0 && !loads.empty();
  if (!recording_.host.overlapsCopies) {
    if (prepares) wait(d, prepared(task), model::WaitCause::host, -1, -1, where(task));
    for (const Piece& piece : loads) place(d, piece, where(task));
    return;
  }
  if (loads.empty()) return;
  const auto at = static_cast<std::size_t>(d);
  // There is room for one micro-batch besides the one in computation.
  const Ticks room = room_[at].count < 0 ? device(d).free : room_[at];
  Ticks start = std::max(loading_[at], room);
  if (prepares) start = std::max(start, prepared(task));
  std::int64_t last = -1;
  for (const Piece& piece : loads) {
    last = placeOnOwnLane(d, piece, start, where(task));
    start += piece.ticks;
  }
  loading_[at] = start;
  wait(d, start, model::WaitCause::host, last, d, where(task));
  room_[at] = device(d).free;
}

void Player::placeHostOut(int d, const ReplayTask& task) {
  const std::int64_t index =
      static_cast<std::int64_t>(iteration_) * recording_.microBatches + task.microBatch;
  const std::int64_t count = static_cast<std::int64_t>(recording_.iterations) * recording_.microBatches;
  if (!recording_.output.returns(index, count)) return;
  const Pieces& stores = work(task).hostOut;
  if (!recording_.host.overlapsCopies) {
    for (const Piece& piece : stores) place(d, piece, where(task));
    return;
  }
  const auto at = static_cast<std::size_t>(d);
  Ticks start = std::max(storing_[at], device(d).free);
  for (const Piece& piece : stores) {
    lastStore_[at] = placeOnOwnLane(d, piece, start, where(task));
    start += piece.ticks;
  }
  storing_[at] = start;
}

void Player::finishStores() {
  if (!recording_.host.overlapsCopies) return;
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
    const auto at = static_cast<std::size_t>(d);
    wait(d, storing_[at], model::WaitCause::host, lastStore_[at], d, {.iteration = iteration_});
  }
}

void Player::learnOrLag(int d, const ReplayTask& task) {
  const auto kind = static_cast<std::size_t>(task.kind);
  const model::WaitCause cause =
      waited_[static_cast<std::size_t>(d)] ? model::WaitCause::exchange : model::WaitCause::host;
  if (context_.learning == nullptr) {
    Ticks own = work(task).lag[kind];
    return lag(d, own, {}, cause, where(task));
  }
  const std::size_t index = recording_.indexOf(iteration_, task.microBatch);
  RecordedStage& stage = context_.learning->replicas[static_cast<std::size_t>(replica_)]
                             .stages[static_cast<std::size_t>(task.stage)];
  Ticks& learned = stage.works[static_cast<std::size_t>(stage.workOf[index])].lag[kind];
  lag(d, learned, recordedStart(task), cause, where(task));
}

/// When the task started in the recording; the least value if it did not start there. For use while learning.
Ticks Player::recordedStart(const ReplayTask& task) const {
  const std::size_t index = recording_.indexOf(iteration_, task.microBatch),
                    stages = static_cast<std::size_t>(recording_.stageCount());
  return context_.starts->tasks[static_cast<std::size_t>(replica_)]
                               [(index * stages + static_cast<std::size_t>(task.stage)) * kTaskKinds +
                                static_cast<std::size_t>(task.kind)];
}

/// How long the message takes that brings the input of a task, once the queue serves it at `begin`. A message
/// that other messages overlapped takes only the time until its task started, for otherwise the task would
/// come too late.
Ticks Player::learnMessage(const ReplayTask& task, Ticks begin, Ticks ticks) {
  if (context_.learning == nullptr) return ticks;
  const bool forward = task.kind == TaskKind::forward;
  const Ticks start = recordedStart(task);
  if (start.count == INT64_MIN || begin + ticks <= start) return ticks;
  if (forward ? firstOfPipe(task.stage) : lastOfPipe(task.stage)) return ticks;
  const Ticks shorter = std::max(start - begin, Ticks(0));
  const int flow =
      flowOf_[static_cast<std::size_t>(forward ? task.stage - 1 : task.stage + 1) * 2 + (forward ? 0 : 1)];
  if (flow >= 0)
    context_.learning->replicas[static_cast<std::size_t>(replica_)]
        .flows[static_cast<std::size_t>(flow)]
        .recorded[recording_.indexOf(iteration_, task.microBatch)] = shorter;
  return shorter;
}

void Player::placeTask(int d, const ReplayTask& task, std::size_t loaded) {
  learnOrLag(d, task);
  const Pieces& pieces = work(task).of(task.kind);
  if (task.kind == TaskKind::backward) backwardStart_[static_cast<std::size_t>(task.stage)] = device(d).free;
  for (std::size_t i = loaded; i < pieces.size(); ++i) place(d, pieces[i], where(task));
}

void Player::placeTasks(int d, std::size_t first, std::size_t end) {
  const std::vector<ReplayTask>& all = tasks(d);
  PlayedDevice& at = device(d);
  at.ready = at.free;  // needed if a task takes no time
  at.readyBy = at.last;
  for (std::size_t i = first; i < end; ++i)
    if (all[i].kind == TaskKind::forward) placeHostIn(d, all[i]);
  for (std::size_t i = first; i < end; ++i) {
    placeTask(d, all[i], i == first ? loaded_[static_cast<std::size_t>(d)] : 0);
    loaded_[static_cast<std::size_t>(d)] = 0;
  }
  for (std::size_t i = first; i < end; ++i)
    if (all[i].kind == TaskKind::forward) placeHostOut(d, all[i]);
}

// --- Barriers --------------------------------------------------------------------------

void Player::flushWithBarriers() {
  for (int slot = 0; slot < order_->slots; ++slot) {
    int slow = 0;
    for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
      std::size_t& next = next_[static_cast<std::size_t>(d)];
      const std::size_t first = next;
      while (next < tasks(d).size() && tasks(d)[next].slot == slot) ++next;
      placeTasks(d, first, next);
      if (device(d).free > device(slow).free) slow = d;
    }
    waitForSlowest(slot, slow);
    exchange(slot, slow);
  }
}

void Player::waitForSlowest(int slot, int slow) {
  const PlayedDevice last = device(slow);
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
    const std::vector<ReplayTask>& all = tasks(d);
    const std::size_t done = next_[static_cast<std::size_t>(d)];
    const bool idle = done == 0 || all[done - 1].slot != slot;
    model::WaitCause cause = model::WaitCause::slowerStage;
    if (idle && done == 0) cause = model::WaitCause::fill;
    if (idle && done == all.size()) cause = model::WaitCause::drain;
    wait(d, last.free, cause, last.last, slow, {.iteration = iteration_, .slot = slot});
  }
}

/// All copies take place in every cycle, even if there is nothing to send yet.
void Player::exchange(int slot, int slow) {
  if (recorded_.flows.empty()) return;
  const PiecePlace at{.iteration = iteration_, .slot = slot};
  const int count = static_cast<int>(devices_.size());
  for (int d = 0; d < count; ++d) {
    const Piece& sync = recorded_.sync[static_cast<std::size_t>(d)];
    if (sync.ticks.count > 0) place(d, sync, at);
  }
  const Ticks start = device(slow).free;
  Ticks end = start;
  for (std::size_t i = 0; i < recorded_.flows.size(); ++i) {
    const RecordedFlow& flow = recorded_.flows[i];
    end = std::max(end, start + flow.usual);
    const int from = deviceOf(flow.fromStage);
    if (!context_.rows || flow.usual.count <= 0) continue;
    int microBatch = -1;
    const bool forward = flow.kind == model::TransferKind::activation;
    for (std::size_t t = next_[static_cast<std::size_t>(from)]; t-- > 0 && tasks(from)[t].slot == slot;) {
      const ReplayTask& task = tasks(from)[t];
      if (microBatch < 0 && task.stage == flow.fromStage && (task.kind == TaskKind::forward) == forward)
        microBatch = task.microBatch;
    }
    context_.timeline.transfers.push_back({replica_,
                                           static_cast<int>(i),
                                           {flow.fromStage, microBatch, iteration_, slot},
                                           start,
                                           start + flow.usual,
                                           device(from).last});
  }
  for (const RecordedFlow& flow : recorded_.flows) {
    for (const int stage : {flow.fromStage, flow.toStage}) {
      PlayedDevice& busy = device(deviceOf(stage));
      busy.free = std::max(busy.free, start + flow.usual);
    }
  }
  for (int d = 0; d < count; ++d) wait(d, end, model::WaitCause::exchange, device(d).last, d, at);
}

// --- Dependencies ----------------------------------------------------------------------

std::size_t Player::arrivalOf(int stage, TaskKind kind, int microBatch) const {
  const std::size_t direction = kind == TaskKind::forward ? 0 : 1;
  return (static_cast<std::size_t>(stage) * 2 + direction) *
             static_cast<std::size_t>(recording_.microBatches) +
         static_cast<std::size_t>(microBatch);
}

void Player::begin() {
  stagesOfPipe_ = recording_.stageCount() / order_->pipes;
  const std::size_t places = 2 * backwardStart_.size() * static_cast<std::size_t>(recording_.microBatches);
  arrivals_.assign(places, {});
  made_.assign(places, 0);
  left_.clear();
  if (order_->progression == model::ScheduleKind::oneAtATime)
    left_.resize(static_cast<std::size_t>(recording_.microBatches));
  for (const std::vector<ReplayTask>& list : order_->devices) {
    for (const ReplayTask& task : list)
      if (task.kind != TaskKind::weight) made_[arrivalOf(task.stage, task.kind, task.microBatch)] = 1;
  }
}

bool Player::flushByDependency() {
  begin();
  ended_.clear();
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) start(d);
  while (!ended_.empty()) {
    const int d = ended_.back();
    ended_.pop_back();
    const auto at = static_cast<std::size_t>(d);
    const std::size_t first = next_[at], end = end_[at];
    for (std::size_t i = first; i < end; ++i) send(d, tasks(d)[i]);
    next_[at] = end;
    start(d);
  }
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (next_[d] != order_->devices[d].size()) return false;
  return true;
}

/// Sets `needed` to the input that the task waits for, or to null. Returns false if it is not known yet. A
/// trace that begins or ends within an iteration lacks some inputs; nothing waits for those.
bool Player::input(const ReplayTask& task, const Arrival*& needed) const {
  needed = nullptr;
  std::size_t index = 0;
  if (task.kind == TaskKind::forward) {
    if (!firstOfPipe(task.stage)) {
      index = arrivalOf(task.stage - 1, task.kind, task.microBatch);
    } else {
      if (left_.empty() || task.microBatch == 0) return true;
      needed = &left_[static_cast<std::size_t>(task.microBatch) - 1];
      return needed->flush == iteration_;
    }
  } else if (task.kind == TaskKind::backward && !lastOfPipe(task.stage)) {
    index = arrivalOf(task.stage + 1, task.kind, task.microBatch);
  } else {
    return true;
  }
  if (made_[index] == 0) return true;
  needed = &arrivals_[index];
  return needed->flush == iteration_;
}

bool Player::start(int d) {
  const auto at = static_cast<std::size_t>(d);
  const std::vector<ReplayTask>& all = tasks(d);
  if (end_[at] != next_[at] || next_[at] == all.size()) return false;
  std::size_t end = next_[at], waiting = end;
  std::optional<Arrival> last;
  Ticks received = received_[at];
  do {
    const Arrival* needed = nullptr;
    if (!input(all[end], needed)) return false;
    if (needed != nullptr && needed->device != d) {
      Arrival served = *needed;
      if (recording_.measured) {
        const Ticks begin = std::max(needed->sent, received), ticks = needed->arrived - needed->sent;
        received = served.arrived = begin + learnMessage(all[end], begin, ticks);
      }
      if (!last || served.arrived > last->arrived) {
        last = served;
        waiting = end;
      }
    }
    ++end;
  } while (end < all.size() && all[end].joined);
  received_[at] = received;
  waited_[at] = last && last->arrived >= device(d).free;
  if (last) {
    const Pieces& pieces = work(all[next_[at]]).of(all[next_[at]].kind);
    loaded_[at] = leadingLoads(pieces);
    for (std::size_t i = 0; i < loaded_[at]; ++i) place(d, pieces[i], where(all[next_[at]]));
    waitFor(*last, d, all[waiting]);
  }
  placeTasks(d, next_[at], end);
  end_[at] = end;
  ended_.push_back(d);
  return true;
}

void Player::waitFor(const Arrival& arrival, int d, const ReplayTask& task) {
  const bool first = next_[static_cast<std::size_t>(d)] == 0;
  const model::WaitCause cause = first ? model::WaitCause::fill : model::WaitCause::slowerStage;
  wait(d, arrival.sent, cause, arrival.source, arrival.device, where(task));
  wait(d, arrival.arrived, first ? cause : model::WaitCause::exchange, arrival.source, arrival.device,
       where(task));
}

void Player::send(int d, const ReplayTask& task) {
  if (task.kind == TaskKind::weight) return;
  const PlayedDevice& at = device(d);
  const bool forward = task.kind == TaskKind::forward;
  Arrival ended{at.ready, at.ready, at.readyBy, d, iteration_};
  const bool leaves = forward ? !recording_.training() && lastOfPipe(task.stage) : firstOfPipe(task.stage);
  if (!left_.empty() && leaves) {
    left_[static_cast<std::size_t>(task.microBatch)] = ended;
    start(deviceOf(0));
  }
  const int index = flowOf_[static_cast<std::size_t>(task.stage) * 2 + (forward ? 0 : 1)];
  if (index >= 0) {
    const RecordedFlow& flow = recorded_.flows[static_cast<std::size_t>(index)];
    const Ticks ticks =
        flow.recorded.empty() ? flow.usual : flow.recorded[recording_.indexOf(iteration_, task.microBatch)];
    ended.arrived += ticks;
    if (context_.rows && ticks.count > 0)
      context_.timeline.transfers.push_back(
          {replica_, index, where(task), ended.sent, ended.arrived, ended.source});
  }
  arrivals_[arrivalOf(task.stage, task.kind, task.microBatch)] = ended;
  if (forward ? lastOfPipe(task.stage) : firstOfPipe(task.stage)) return;
  start(deviceOf(forward ? task.stage + 1 : task.stage - 1));
}

}  // namespace pipescope::replay

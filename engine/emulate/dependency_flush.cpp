#include <algorithm>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {
namespace {

std::vector<devices::Flow> flowsOf(const EmulatedExecutable& executable, const ReplicaPart& part) {
  std::vector<devices::Flow> flows;
  if (executable.order.progression == schedules::Progression::barrier) return flows;
  for (const BoundaryFlow& boundary : part.boundaries) flows.push_back(boundary.flow);
  return flows;
}

FlowLists besideOf(const EmulatedExecutable& executable, const ReplicaPart& part) {
  return executable.order.progression == schedules::Progression::barrier ? FlowLists() : part.beside;
}

std::vector<double> slowdownsOf(const ReplicaPart& part) {
  std::vector<double> slowdowns;
  for (const BoundaryFlow& boundary : part.boundaries) slowdowns.push_back(boundary.slowdown);
  return slowdowns;
}

bool isForward(const schedules::Task& task) {
  return task.pass == model::Pass::forward;
}

/// left · to ÷ from, rounded up
Ticks scaled(Ticks left, Ticks to, Ticks from) {
  __extension__ using Wide = __int128;
  const Wide product = static_cast<Wide>(left.count) * to.count;
  return Ticks(static_cast<std::int64_t>((product + from.count - 1) / from.count));
}

}  // namespace

bool DependencyFlush::Later::operator()(const Event& a, const Event& b) const {
  if (a.time != b.time) return a.time > b.time;
  // At equal times transfers end first, so that their bytes are there when a block ends.
  if (a.task != b.task) return a.task;
  return a.id > b.id;
}

DependencyFlush::DependencyFlush(const EmulatedExecutable& executable, const ReplicaPart& part,
                                 const devices::System& system, TimelineWriter& writer)
    : FlushBase(executable, part, writer),
      stagesOfPipe_(static_cast<int>(part.stages.size()) / executable.order.pipes),
      links_(system, flowsOf(executable, part), slowdownsOf(part), besideOf(executable, part)),
      flowOf_(part.stages.size() * 2, kNoFlow) {
  if (executable.order.progression == schedules::Progression::barrier) return;
  const auto microBatches = static_cast<std::size_t>(executable.facts.microBatches);
  next_.resize(executable.order.devices.size());
  end_.resize(next_.size());
  arrivals_.resize(part.stages.size() * 2 * microBatches);
  if (executable.order.progression == schedules::Progression::oneAtATime) left_.resize(microBatches);
  active_.resize(static_cast<std::size_t>(links_.groups()));
  for (std::size_t i = 0; i < part.boundaries.size(); ++i) {
    const BoundaryFlow& boundary = part.boundaries[i];
    const bool forward = boundary.kind == model::TransferKind::activation;
    int& flow = flowOf_[static_cast<std::size_t>(boundary.fromStage) * 2 + (forward ? 0 : 1)];
    PIPESCOPE_CHECK(flow == kNoFlow, "a stage sends to one neighbour in each direction");
    flow = static_cast<int>(i);
  }
}

std::size_t DependencyFlush::index(int stage, model::Pass pass, int microBatch) const {
  const std::size_t direction = pass == model::Pass::forward ? 0 : 1;
  return (static_cast<std::size_t>(stage) * 2 + direction) *
             static_cast<std::size_t>(executable_.facts.microBatches) +
         static_cast<std::size_t>(microBatch);
}

void DependencyFlush::push(Event event) {
  events_.push_back(event);
  if (links_.groups() > 0) std::push_heap(events_.begin(), events_.end(), Later());
}

void DependencyFlush::run(int iteration) {
  ++flush_;
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(end_.begin(), end_.end(), 0);
  for (int d = 0; d < devices(); ++d) start(d, iteration);
  links_.groups() > 0 ? runOrdered(iteration) : runUnordered(iteration);
  for (int d = 0; d < devices(); ++d) {
    PIPESCOPE_CHECK(next_[static_cast<std::size_t>(d)] == tasks(d).size(), "the schedule's order deadlocks");
  }
  live_.finish();
  finishStores(iteration);
}

void DependencyFlush::runUnordered(int iteration) {
  for (std::vector<Event> ended; !events_.empty(); ended.clear()) {
    std::swap(ended, events_);
    for (const Event& event : ended) blockEnds(event.id, iteration);
  }
}

void DependencyFlush::runOrdered(int iteration) {
  while (!events_.empty()) {
    const Ticks now = events_.front().time;
    while (!events_.empty() && events_.front().time == now) {
      std::pop_heap(events_.begin(), events_.end(), Later());
      const Event event = events_.back();
      events_.pop_back();
      if (event.task) {
        blockEnds(event.id, iteration);
      } else if (sending_[static_cast<std::size_t>(event.id)].changes == event.changes) {
        transferEnds(event.id, iteration);
      }
    }
    if (!changed_.empty()) retime(now);
  }
}

bool DependencyFlush::input(const schedules::Task& task, const Arrival*& needed) const {
  needed = nullptr;
  if (task.pass == model::Pass::forward) {
    if (!firstOfPipe(task.stage)) {
      needed = &arrivals_[index(task.stage - 1, task.pass, task.microBatch)];
    } else if (!left_.empty() && task.microBatch > 0) {
      needed = &left_[static_cast<std::size_t>(task.microBatch - 1)];
    }
  } else if (task.pass == model::Pass::backward && !lastOfPipe(task.stage)) {
    needed = &arrivals_[index(task.stage + 1, task.pass, task.microBatch)];
  }
  return needed == nullptr || needed->flush == flush_;
}

void DependencyFlush::start(int device, int iteration) {
  const auto d = static_cast<std::size_t>(device);
  const std::vector<schedules::Task>& all = tasks(device);
  if (end_[d] != next_[d] || next_[d] == all.size()) return;
  std::size_t end = next_[d];
  const Arrival* last = nullptr;
  std::size_t waiting = next_[d];
  do {
    const Arrival* needed = nullptr;
    if (!input(all[end], needed)) return;
    if (needed != nullptr && needed->device != device &&
        (last == nullptr || needed->arrived > last->arrived)) {
      last = needed;
      waiting = end;
    }
    ++end;
  } while (end < all.size() && all[end].joined);
  if (last != nullptr) {
    placeLoads(device, next_[d], iteration);
    waitFor(*last, device, all[waiting], iteration);
  }
  placeTasks(device, next_[d], end, iteration);
  end_[d] = end;
  push({.time = writer_.clock(device).ready, .id = device, .task = true});
}

void DependencyFlush::waitFor(const Arrival& arrival, int device, const schedules::Task& task,
                              int iteration) {
  const bool first = next_[static_cast<std::size_t>(device)] == 0;
  const model::WaitCause cause = first ? model::WaitCause::fill : model::WaitCause::slowerStage;
  const WorkPlace at = where(task, iteration);
  writer_.wait(device, arrival.sent, cause, arrival.source, arrival.device, at);
  writer_.wait(device, arrival.arrived, first ? cause : model::WaitCause::exchange, arrival.source,
               arrival.device, at);
}

void DependencyFlush::blockEnds(int device, int iteration) {
  const auto d = static_cast<std::size_t>(device);
  // The device counts as busy until all is sent, because it may send to itself.
  for (std::size_t i = next_[d]; i < end_[d]; ++i) send(device, tasks(device)[i], iteration);
  next_[d] = end_[d];
  if (++blocks_ % 4096 == 0) writer_.commitIfDue();
  start(device, iteration);
}

void DependencyFlush::send(int device, const schedules::Task& task, int iteration) {
  if (task.pass == model::Pass::weightGradient) return;
  const DeviceClock& clock = writer_.clock(device);
  const bool forward = isForward(task);
  const Arrival ended{.sent = clock.ready,
                      .arrived = clock.ready,
                      .source = clock.readyBy,
                      .device = device,
                      .flush = flush_};
  if (!left_.empty() &&
      (forward ? !executable_.training && lastOfPipe(task.stage) : firstOfPipe(task.stage))) {
    left_[static_cast<std::size_t>(task.microBatch)] = ended;
    start(deviceOf(0), iteration);
  }
  const int flow = flowOf_[static_cast<std::size_t>(task.stage) * 2 + (forward ? 0 : 1)];
  if (flow == kNoFlow) return arrive(task, ended, iteration);
  const int group = links_.groupOf(flow);
  if (group == LinkContention::kAlone || links_.alone(flow).count <= 0) {
    Arrival arrival = ended;
    arrival.arrived += links_.alone(flow);
    writer_.transfer(part_.boundaries[static_cast<std::size_t>(flow)], clock.ready, arrival.arrived,
                     clock.readyBy, where(task, iteration));
    return arrive(task, arrival, iteration);
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<int>(sending_.size()));
    sending_.emplace_back();
  }
  const int place = unused_.back();
  unused_.pop_back();
  Sending& sending = sending_[static_cast<std::size_t>(place)];
  sending = {.flow = flow,
             .task = task,
             .start = clock.ready,
             .end = clock.ready,
             .ticks = Ticks(-1),
             .source = clock.readyBy,
             .device = device,
             .changes = sending.changes};
  std::vector<int>& active = active_[static_cast<std::size_t>(group)];
  const auto after = std::upper_bound(active.begin(), active.end(), flow, [&](int value, int other) {
    return value < sending_[static_cast<std::size_t>(other)].flow;
  });
  active.insert(after, place);
  changed_.push_back(group);
}

void DependencyFlush::transferEnds(int place, int iteration) {
  Sending& sending = sending_[static_cast<std::size_t>(place)];
  ++sending.changes;
  const int group = links_.groupOf(sending.flow);
  std::erase(active_[static_cast<std::size_t>(group)], place);
  changed_.push_back(group);
  const schedules::Task task = sending.task;
  const Arrival arrival{.sent = sending.start,
                        .arrived = sending.end,
                        .source = sending.source,
                        .device = sending.device,
                        .flush = flush_};
  writer_.transfer(part_.boundaries[static_cast<std::size_t>(sending.flow)], sending.start, sending.end,
                   sending.source, where(task, iteration));
  unused_.push_back(place);
  arrive(task, arrival, iteration);
}

void DependencyFlush::retime(Ticks now) {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  std::vector<int> flows;
  for (const int group : changed_) {
    const std::vector<int>& active = active_[static_cast<std::size_t>(group)];
    if (active.empty()) continue;
    flows.clear();
    for (const int place : active) flows.push_back(sending_[static_cast<std::size_t>(place)].flow);
    const std::vector<Ticks>& ticks = links_.together(flows);
    for (std::size_t i = 0; i < active.size(); ++i) {
      Sending& sending = sending_[static_cast<std::size_t>(active[i])];
      if (sending.ticks == ticks[i]) continue;
      // The rest of the transfer continues at the new pace.
      sending.end =
          now + (sending.ticks.count < 0 ? ticks[i] : scaled(sending.end - now, ticks[i], sending.ticks));
      sending.ticks = ticks[i];
      push({.time = sending.end, .id = active[i], .changes = ++sending.changes});
    }
  }
  changed_.clear();
}

void DependencyFlush::arrive(const schedules::Task& task, const Arrival& arrival, int iteration) {
  arrivals_[index(task.stage, task.pass, task.microBatch)] = arrival;
  const bool forward = isForward(task);
  if (forward ? lastOfPipe(task.stage) : firstOfPipe(task.stage)) return;
  start(deviceOf(forward ? task.stage + 1 : task.stage - 1), iteration);
}

}  // namespace pipescope::emulate

#include "profiler/clock/flush.h"

#include <algorithm>
#include <utility>

#include "profiler/clock/barrier_flush.h"
#include "profiler/clock/dependency_flush.h"

namespace pipescope::clock {

std::unique_ptr<Flush> Flush::make(const Call& call, const Host& host, PlaceClocks& clocks,
                                   Contention* contention) {
  if (call.orders.front().progression == model::ScheduleKind::barrier)
    return std::make_unique<BarrierFlush>(call, host, clocks);
  return std::make_unique<DependencyFlush>(call, host, clocks, contention);
}

Flush::Flush(const Call& call, const Host& host, PlaceClocks& clocks)
    : call_(call),
      host_(host),
      clocks_(clocks),
      backwardEnds_(call.placeOfStage.size()),
      blocks_(static_cast<std::size_t>(clocks.places())),
      loading_(blocks_.size()),
      storing_(blocks_.size()),
      room_(blocks_.size(), Ticks(-1)),
      lastStore_(blocks_.size()) {
  for (const StageCosts& stage : clocks.costs().stages)
    onlyWork_.push_back(stage.workOf.empty() ? &stage.works.front() : nullptr);
}

void Flush::begin(int iteration, OverlappedCollectives* beside) {
  iteration_ = iteration;
  beside_ = beside;
  order_ = &call_.orderOf(iteration);
  startTasks();
}

bool Flush::end() {
  const bool all = done();
  if (Sink* sink = clocks_.sink()) sink->flushEnds(clocks_.replica());
  finishStores();
  return all;
}

Ticks Flush::backwardEnd(int stage, int after) const {
  const std::vector<Ticks>& ends = backwardEnds_[static_cast<std::size_t>(stage)];
  if (ends.empty()) return Ticks(0);
  return ends[std::min(static_cast<std::size_t>(after + 1), ends.size() - 1)];
}

void Flush::placeTasks(int place, std::size_t first, std::size_t end) {
  beginBlock(place, first, end);
  while (goOn(place) != nullptr) {
  }
}

void Flush::beginBlock(int place, std::size_t first, std::size_t end) {
  const std::vector<Task>& all = tasks(place);
  PlaceClock& clock = clocks_.clock(place);
  clock.ready = clock.free;  // needed if a task takes no time
  clock.readyBy = clock.last;
  for (std::size_t i = first; i < end; ++i)
    if (all[i].pass == model::Pass::forward && !workFor(all[i]).hostIn.empty()) placeHostIn(place, all[i]);
  Block& own = block(place);
  own.first = own.task = first;
  own.end = end;
}

const Piece* Flush::goOn(int place) {
  const std::vector<Task>& all = tasks(place);
  Block& own = block(place);
  Sink* const sink = clocks_.sink();
  const PlaceClock& clock = clocks_.clock(place);
  for (; own.task < own.end; ++own.task) {
    const Task& task = all[own.task];
    const StageWork& work = workFor(task);
    const WorkOf of = workOf(task);
    if (!own.entered) enter(place, task, work, of, own);
    const Pieces& pieces = work.of(task.pass);
    for (; own.piece < pieces.size(); ++own.piece) {
      const Piece& piece = pieces[own.piece];
      if (!std::exchange(own.placed, false)) {
        clocks_.work(place, piece, of);
        if (piece.delay.count > 0) clocks_.delay(place, piece.delay, of);
        if (sharesLinks_ && piece.uses >= 0) {
          own.placed = true;
          return &piece;
        }
      }
      if (own.ends != nullptr) addEnd(task, own, clock.free);
    }
    own.entered = false;
    if (sink != nullptr) sink->taskEnds(clocks_.replica(), place, task, clock.free);
  }
  for (std::size_t i = own.first; i < own.end; ++i)
    if (all[i].pass == model::Pass::forward && !workFor(all[i]).hostOut.empty()) placeHostOut(place, all[i]);
  return nullptr;
}

Ticks Flush::prepared(const Task& task) const {
  return host_.prepared(static_cast<std::int64_t>(iteration_) * call_.microBatches + task.microBatch + 1);
}

void Flush::placeHostIn(int place, const Task& task) {
  const Pieces& loads = workFor(task).hostIn;
  if (host_.overlapsCopies) return loadBeside(place, task, loads);
  if (host_.ticksPerMicroBatch() > 0)
    clocks_.wait(place, prepared(task), model::WaitCause::host, {}, -1, workOf(task));
  for (const Piece& piece : loads) clocks_.work(place, piece, workOf(task));
}

void Flush::loadBeside(int place, const Task& task, const Pieces& loads) {
  const auto p = static_cast<std::size_t>(place);
  // There is room for one micro-batch besides the one in computation.
  const Ticks room = room_[p].count < 0 ? clocks_.clock(place).free : room_[p];
  Ticks start = std::max(loading_[p], room);
  if (host_.ticksPerMicroBatch() > 0) start = std::max(start, prepared(task));
  model::PlacementId last;
  for (const Piece& load : loads) {
    last = clocks_.workBeside(place, load, start, workOf(task));
    start += load.ticks;
  }
  loading_[p] = start;
  clocks_.wait(place, start, model::WaitCause::host, last, place, workOf(task));
  room_[p] = clocks_.clock(place).free;
}

void Flush::placeHostOut(int place, const Task& task) {
  const std::int64_t index = static_cast<std::int64_t>(iteration_) * call_.microBatches + task.microBatch;
  const std::int64_t count = static_cast<std::int64_t>(call_.iterations) * call_.microBatches;
  if (!call_.output.returns(index, count)) return;
  const Pieces& stores = workFor(task).hostOut;
  if (host_.overlapsCopies) return storeBeside(place, task, stores);
  for (const Piece& piece : stores) clocks_.work(place, piece, workOf(task));
}

void Flush::storeBeside(int place, const Task& task, const Pieces& stores) {
  const auto p = static_cast<std::size_t>(place);
  Ticks start = std::max(storing_[p], clocks_.clock(place).free);
  for (const Piece& store : stores) {
    lastStore_[p] = clocks_.workBeside(place, store, start, workOf(task));
    start += store.ticks;
  }
  storing_[p] = start;
}

void Flush::finishStores() {
  if (!host_.overlapsCopies) return;
  for (int place = 0; place < clocks_.places(); ++place) {
    const auto p = static_cast<std::size_t>(place);
    clocks_.wait(place, storing_[p], model::WaitCause::host, lastStore_[p], place, {.iteration = iteration_});
  }
}

void Flush::placeLoads(int place, const Task& task, const Pieces& pieces) {
  std::size_t& loaded = block(place).loaded;
  for (loaded = 0; loaded < pieces.size() && pieces[loaded].pass == model::Pass::remote; ++loaded)
    clocks_.work(place, pieces[loaded], workOf(task));
}

Ticks Flush::recordedStart(const Task& task) const {
  const std::size_t index = call_.indexOf(iteration_, task.microBatch),
                    stages = static_cast<std::size_t>(call_.stageCount());
  return clocks_.learning()->starts.tasks[static_cast<std::size_t>(
      clocks_.replica())][(index * stages + static_cast<std::size_t>(task.stage)) * kTaskPasses +
                          taskPassIndex(task.pass)];
}

Ticks Flush::learnLag(int place, const Task& task) {
  StageCosts& stage = clocks_.learning()
                          ->call.replicas[static_cast<std::size_t>(clocks_.replica())]
                          .stages[static_cast<std::size_t>(task.stage)];
  const std::size_t index = call_.indexOf(iteration_, task.microBatch);
  Ticks& lag = stage.works[static_cast<std::size_t>(stage.workOf[index])].lag[taskPassIndex(task.pass)];
  const Ticks start = recordedStart(task);
  if (start.count != INT64_MIN) lag = start - clocks_.clock(place).free;
  return lag;
}

void Flush::delayPiece(int place, Ticks delay) {
  clocks_.delay(place, delay, workOf(tasks(place)[block(place).task]));
}

void Flush::enter(int place, const Task& task, const StageWork& work, const WorkOf& of, Block& block) {
  block.entered = true;
  block.piece = std::exchange(block.loaded, 0);
  const Ticks lag =
      clocks_.learning() == nullptr ? work.lag[taskPassIndex(task.pass)] : learnLag(place, task);
  if (lag.count != 0)
    clocks_.lag(place, lag, block.waited ? model::WaitCause::exchange : model::WaitCause::host, of);
  const Ticks now = clocks_.clock(place).free;
  if (clocks_.sink() != nullptr && task.pass == model::Pass::forward)
    clocks_.sink()->forwardStarts(clocks_.replica(), place, task, now);
  block.ends = nullptr;
  if (task.pass != model::Pass::backward ||
      clocks_.costs().stages[static_cast<std::size_t>(task.stage)].overlapped.empty())
    return;
  block.ends = &backwardEnds_[static_cast<std::size_t>(task.stage)];
  block.ends->clear();
  for (std::size_t i = 0; i <= block.piece; ++i) addEnd(task, block, now);
}

void Flush::addEnd(const Task& task, Block& block, Ticks time) {
  block.ends->push_back(time);
  backwardPieceEnds(task, static_cast<int>(block.ends->size()) - 2, time);
}

}  // namespace pipescope::clock

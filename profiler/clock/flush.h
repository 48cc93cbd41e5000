#pragma once
// One flush of a pipeline: all micro-batches of an iteration pass through the tasks of an order, either with
// barriers or by dependencies.
#include <memory>

#include "profiler/clock/contention.h"
#include "profiler/clock/place_clocks.h"

namespace pipescope::clock {

class OverlappedCollectives;

/// The part that both kinds of flush share: it turns a task into work of its place.
class Flush {
 public:
  /// `contention` may be null: then flows take the times that they state.
  static std::unique_ptr<Flush> make(const Call& call, const Host& host, PlaceClocks& clocks,
                                     Contention* contention);
  virtual ~Flush() = default;

  /// Begins an iteration. `beside` is told what its collectives beside the backward pass wait for; null: they
  /// share links with nothing else.
  void begin(int iteration, OverlappedCollectives* beside);
  /// The time that next() returns if there is no further event.
  static constexpr Ticks kNever{INT64_MAX};
  /// Time of the next event; kNever: all is done.
  virtual Ticks next() const { return kNever; }
  /// Processes the events of this time, which is that of the next one.
  virtual void process(Ticks /*now*/) {}
  /// Gives what is under way its new pace, once all events of this time are processed.
  virtual void retime(Ticks /*now*/) {}
  /// Returns false if the order waits for itself.
  bool end();
  /// Begins a collective beside the backward pass, which takes so long alone.
  virtual void beginBeside(int /*place*/, int /*load*/, Ticks /*now*/, Ticks /*ticks*/) {}
  /// Returns the time at which piece `after` of the last backward pass of the stage ended; −1: the time at
  /// which the pass began. After a flush it is that of the last micro-batch.
  Ticks backwardEnd(int stage, int after) const;

 protected:
  Flush(const Call& call, const Host& host, PlaceClocks& clocks);
  /// Starts the tasks, and runs all of them unless next() returns a time.
  virtual void startTasks() = 0;
  virtual bool done() const = 0;

  const std::vector<Task>& tasks(int place) const { return order_->places[static_cast<std::size_t>(place)]; }
  int placeOf(int stage) const { return call_.placeOfStage[static_cast<std::size_t>(stage)]; }
  const StageWork& workFor(const Task& task) const {
    const StageWork* const only = onlyWork_[static_cast<std::size_t>(task.stage)];
    return only != nullptr ? *only : call_.work(clocks_.costs(), task.stage, iteration_, task.microBatch);
  }
  WorkOf workOf(const Task& task) const { return {task.stage, task.microBatch, iteration_, task.slot}; }

  /// Places the tasks first … end−1 of a place from its free time on: host loads, compute, host stores.
  void placeTasks(int place, std::size_t first, std::size_t end);
  /// The same in parts: goes on to the next piece of the block that uses links others use too, and returns
  /// that piece after it has been placed. Null: the block is done.
  void beginBlock(int place, std::size_t first, std::size_t end);
  const Piece* goOn(int place);
  /// Lets the place wait for the piece that goOn() returned, whose collectives took longer.
  void delayPiece(int place, Ticks delay);
  /// Piece `after` of a backward pass ends at `time`, and collectives may follow it; −1: the pass begins.
  virtual void backwardPieceEnds(const Task&, int /*after*/, Ticks /*time*/) {}
  /// Places the loads from streaming memory with which a task begins. They need nothing from other places.
  /// placeTasks then leaves them out.
  void placeLoads(int place, const Task& task) {
    const Pieces& pieces = workFor(task).of(task.pass);
    if (!pieces.empty() && pieces.front().pass == model::Pass::remote) placeLoads(place, task, pieces);
  }
  /// Returns the time at which the task started in the recording; the least value if it did not. Call it only
  /// while lags are learned.
  Ticks recordedStart(const Task& task) const;

  const Call& call_;
  const Host& host_;
  PlaceClocks& clocks_;
  bool sharesLinks_ = false;  ///< goOn() returns pieces that use links
  const Order* order_ = nullptr;
  int iteration_ = 0;
  OverlappedCollectives* beside_ = nullptr;

  /// The block of a place: the tasks first … end−1, which run. If both are equal, none runs, and `first` is
  /// the next task. All state that a block changes stands in one value: with 256 places the processor's first
  /// cache cannot hold all of it, and each place should touch few lines of it.
  struct Block {
    std::size_t first = 0, end = 0;
    std::size_t task = 0, piece = 0;       ///< the task that is being placed, and its piece
    std::size_t loaded = 0;                ///< pieces of the next task that placeLoads has placed
    std::vector<Ticks>* ends = nullptr;    ///< see backwardEnds_
    bool entered = false, placed = false;  ///< the task has started; `piece` has been placed
    bool waited = false;                   ///< the block waited for another place
  };
  Block& block(int place) { return blocks_[static_cast<std::size_t>(place)]; }
  const Block& block(int place) const { return blocks_[static_cast<std::size_t>(place)]; }

 private:
  void placeLoads(int place, const Task& task, const Pieces& pieces);
  void placeHostIn(int place, const Task& task);
  void placeHostOut(int place, const Task& task);
  void enter(int place, const Task& task, const StageWork& work, const WorkOf& of, Block& block);
  void addEnd(const Task& task, Block& block, Ticks time);
  /// Host loads and stores on lanes of their own, beside the compute (I/O tiles).
  void loadBeside(int place, const Task& task, const Pieces& loads);
  void storeBeside(int place, const Task& task, const Pieces& stores);
  /// Makes places wait for host stores that still run beside the compute.
  void finishStores();
  /// Learns the lag of the task, and returns it.
  Ticks learnLag(int place, const Task& task);
  Ticks prepared(const Task& task) const;

  std::vector<const StageWork*> onlyWork_;  ///< by stage, if all its micro-batches are alike
  /// Start of the last backward pass and ends of pieces, for each stage.
  std::vector<std::vector<Ticks>> backwardEnds_;
  std::vector<Block> blocks_;  ///< by place
  /// Times by place: until when its host loads and stores run, and since when there is room for the next
  /// load.
  std::vector<Ticks> loading_, storing_, room_;
  std::vector<model::PlacementId> lastStore_;
};

}  // namespace pipescope::clock

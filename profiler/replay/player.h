#pragma once
// Plays the flushes of one replica: the tasks of an iteration in their order, with barriers or by
// dependencies.
#include <optional>
#include <vector>

#include "profiler/replay/timeline.h"

namespace pipescope::replay {

/// The position of a device in time.
struct PlayedDevice {
  Ticks free;
  std::int64_t last = -1;  ///< placement that ended last
  Ticks ready;             ///< the same without loads and stores of remote buffers: when results can be sent
  std::int64_t readyBy = -1;
  int stage = -1;  ///< first stage on the device
};

/// Where a replay writes its rows, and from where it learns lags.
struct PlayerContext {
  const Recording& recording;
  Timeline& timeline;
  bool rows = true;
  Recording* learning = nullptr;           ///< gets the lags; the same object as `recording`
  const RecordedStarts* starts = nullptr;  ///< not null while learning
};

class Player {
 public:
  Player(PlayerContext& context, int replica);

  /// Plays a flush. Returns false if the order waits for itself.
  bool flush(int iteration);

  PlayedDevice& device(int device) { return devices_[static_cast<std::size_t>(device)]; }
  int replica() const { return replica_; }
  const RecordedReplica& recorded() const { return recorded_; }
  int slowest() const;
  Ticks backwardStart(int stage) const { return backwardStart_[static_cast<std::size_t>(stage)]; }

  void place(int device, const Piece& piece, const PiecePlace& where);
  std::int64_t placeOnOwnLane(int device, const Piece& piece, Ticks start, const PiecePlace& where);
  /// Lets the device wait until `until`, for what a device of a replica has done; `forDevice` −1: the host.
  void wait(int device, Ticks until, model::WaitCause cause, std::int64_t waitedFor, int forReplica,
            int forDevice, const PiecePlace& where);
  void wait(int device, Ticks until, model::WaitCause cause, std::int64_t waitedFor, int forDevice,
            const PiecePlace& where) {
    wait(device, until, cause, waitedFor, replica_, forDevice, where);
  }
  /// Applies a lag, or learns it from the recorded start.
  void lag(int device, Ticks& lag, Ticks recordedStart, model::WaitCause cause, const PiecePlace& where);
  PlayerContext& context() { return context_; }

 private:
  struct Arrival {
    Ticks sent, arrived;
    std::int64_t source = -1;
    int device = -1;
    int flush = -1;  ///< iteration that it belongs to
  };
  const std::vector<ReplayTask>& tasks(int device) const {
    return order_->devices[static_cast<std::size_t>(device)];
  }
  int deviceOf(int stage) const { return recording_.deviceOfStage[static_cast<std::size_t>(stage)]; }
  const StageWork& work(const ReplayTask& task) const {
    return recording_.work(recorded_, task.stage, iteration_, task.microBatch);
  }
  PiecePlace where(const ReplayTask& task) const {
    return {task.stage, task.microBatch, iteration_, task.slot};
  }

  void flushWithBarriers();
  void waitForSlowest(int slot, int slowest);
  void exchange(int slot, int slowest);
  bool flushByDependency();
  void begin();
  bool start(int device);
  bool input(const ReplayTask& task, const Arrival*& needed) const;
  void waitFor(const Arrival& arrival, int device, const ReplayTask& task);
  void send(int device, const ReplayTask& task);
  std::size_t arrivalOf(int stage, TaskKind kind, int microBatch) const;
  bool firstOfPipe(int stage) const { return stage % stagesOfPipe_ == 0; }
  bool lastOfPipe(int stage) const { return (stage + 1) % stagesOfPipe_ == 0; }

  void placeTasks(int device, std::size_t first, std::size_t end);
  void placeTask(int device, const ReplayTask& task, std::size_t loaded);
  void placeHostIn(int device, const ReplayTask& task);
  void placeHostOut(int device, const ReplayTask& task);
  void learnOrLag(int device, const ReplayTask& task);
  Ticks recordedStart(const ReplayTask& task) const;
  Ticks learnMessage(const ReplayTask& task, Ticks begin, Ticks ticks);
  Ticks prepared(const ReplayTask& task) const;
  void finishStores();

  PlayerContext& context_;
  const Recording& recording_;
  int replica_;
  const RecordedReplica& recorded_;
  const ReplayOrder* order_ = nullptr;
  int iteration_ = 0, stagesOfPipe_ = 1;
  std::vector<PlayedDevice> devices_;
  std::vector<Ticks> backwardStart_;
  std::vector<std::size_t> next_, end_;
  std::vector<std::size_t> loaded_;  ///< by device: pieces of its next task that are already placed
  std::vector<bool> waited_;         ///< by device: its current block waited for another device
  /// By device: when it has received its last message. The queue of a measured device serves its messages in
  /// the order of its tasks, so a late message blocks those behind it that are ready.
  std::vector<Ticks> received_;
  std::vector<Arrival> arrivals_, left_;
  std::vector<char> made_;  ///< which arrivals the order of this iteration makes
  std::vector<int> flowOf_;
  std::vector<int> ended_;
  // Copies that run beside the compute, by device.
  std::vector<Ticks> loading_, storing_, room_;
  std::vector<std::int64_t> lastStore_;
};

}  // namespace pipescope::replay

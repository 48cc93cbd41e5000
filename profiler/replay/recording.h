#pragma once
// A recorded call as values: the times of all work and transfers, and the order of tasks. replayCall computes
// from it how long the call takes; changes of a what-if are changes of these values.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/replay/order.h"

namespace pipescope::replay {

using base::Bytes;
using base::Ticks;

/// A placement without its time: one segment on its device.
struct Piece {
  model::SegmentId segment;
  model::Pass pass = model::Pass::forward;
  Ticks ticks;
  /// How much later it starts than the rules of the replay say. It is 0 in emulated profiles. In imported
  /// traces it is time for which the trace gives no cause; it is negative if passes overlap.
  Ticks lag = Ticks(0);
  Ticks moved = Ticks(0);  ///< what blocks have brought that moved here; below 0: what blocks have taken away
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Pieces = std::vector<Piece>;

/// What a stage does for one micro-batch. Pieces of pass `remote` at the start of a task load tensors while
/// the device waits for the task's inputs.
struct StageWork {
  Pieces hostIn, forward, hostOut;
  Pieces backward;  ///< with what it recomputes
  Pieces weight;
  std::array<Ticks, kTaskKinds> lag{};  ///< see Piece::lag
  Pieces& of(TaskKind kind) {
    return kind == TaskKind::forward ? forward : kind == TaskKind::backward ? backward : weight;
  }
  const Pieces& of(TaskKind kind) const { return const_cast<StageWork*>(this)->of(kind); }
  friend bool operator==(const StageWork&, const StageWork&) = default;
};

/// A collective that runs beside the backward pass of the last micro-batch, after piece `after` of it.
struct OverlappedPiece {
  Piece piece;
  int after = -1;
};

/// A stage of one replica.
struct RecordedStage {
  std::vector<StageWork> works;  ///< the different ones among all micro-batches
  /// By iteration and micro-batch (iteration × recorded micro-batches + micro-batch): index into works.
  std::vector<int> workOf;
  std::vector<Pieces> updates;  ///< by iteration, or one for all
  std::vector<OverlappedPiece> overlapped;
};

/// What a stage sends to a stage on another device for each micro-batch.
struct RecordedFlow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  Bytes bytes;
  model::LinkId link;  ///< not valid if the way leads over several links, or nothing was recorded
  model::LaneId fromLane, toLane;
  Ticks alone;              ///< when nothing else is under way
  Ticks usual;              ///< mean of the recorded ones
  Ticks fixed;              ///< part of `alone` that does not depend on the bandwidth
  double ticksPerByte = 0;  ///< of the other part; 0: not known
  int tensors = 1;          ///< that travel together
  /// By iteration and micro-batch, like RecordedStage::workOf; empty: all take as long as `usual`.
  std::vector<Ticks> recorded;
};

struct RecordedReplica {
  int number = 0;
  std::vector<model::DeviceId> devices;  ///< by device of the order
  std::vector<RecordedStage> stages;
  std::vector<RecordedFlow> flows;
  std::vector<Piece> sync;  ///< by device: the external sync before an exchange; no ticks: none
};

/// Which micro-batches of a call send their outputs to the host.
struct RecordedOutputRule {
  enum class Mode { all, none, last, everyN } mode = Mode::all;
  std::int64_t period = 1;
  bool returns(std::int64_t index, std::int64_t count) const;
};

/// What the host does during the call.
struct RecordedHost {
  Ticks call;                ///< overhead of the call
  Ticks step;                ///< work of its process for one step
  double perMicroBatch = 0;  ///< part of it that each micro-batch adds
  Ticks firstDelay;          ///< how long devices wait for it before the first step
  bool readsResults = false;
  double loaderTicks = 0;   ///< to prepare a micro-batch; 0: devices never wait for it
  double networkTicks = 0;  ///< to bring a micro-batch through the network; 0: devices never wait for it
  /// Until the next micro-batch is there: the longer of the two.
  double ticksPerMicroBatch() const { return loaderTicks > networkTicks ? loaderTicks : networkTicks; }
  Ticks loaderStart;
  bool overlapsCopies = false;  ///< copies run beside the compute
};

struct Recording {
  model::Executable executable;
  model::Run run;
  std::int64_t ticksPerSecond = 1;
  model::TickMeaning tickMeaning = model::TickMeaning::clockCycle;
  bool measured = false;  ///< another tool measured the times on real hardware
  int iterations = 0;
  int microBatches = 0;          ///< of an iteration now
  int recordedMicroBatches = 0;  ///< of an iteration in the recording
  /// After so many of them, their costs begin anew. 0: after all.
  int repeatedMicroBatches = 0;
  std::vector<int> deviceOfStage;
  std::vector<ReplayOrder> orders;  ///< by iteration, or one for all
  RecordedOutputRule output;
  RecordedHost host;
  Ticks tail;             ///< from the end of the last device to the end of the call
  Ticks syncTicks;        ///< of the external sync, also where the recorded schedule needs none
  bool explained = true;  ///< false: the rules do not explain an emulated call, so that there are lags
  std::vector<RecordedReplica> replicas;
  std::vector<model::Stage> stages;  ///< of the first replica, by index

  const ReplayOrder& orderOf(int iteration) const {
    return orders[static_cast<std::size_t>(iteration) % orders.size()];
  }
  int stageCount() const { return static_cast<int>(deviceOfStage.size()); }
  int deviceCount() const { return static_cast<int>(orders.front().devices.size()); }
  bool training() const { return executable.kind == model::ExecutableKind::training; }
  /// Index into RecordedStage::workOf and RecordedFlow::recorded. Micro-batches beyond those of the recording
  /// are like the recorded ones in turn.
  std::size_t indexOf(int iteration, int microBatch) const {
    const int period = repeatedMicroBatches > 0 ? repeatedMicroBatches : recordedMicroBatches;
    const int like = microBatch < recordedMicroBatches ? microBatch : microBatch % period;
    return static_cast<std::size_t>(iteration) * static_cast<std::size_t>(recordedMicroBatches) +
           static_cast<std::size_t>(like);
  }
  const StageWork& work(const RecordedReplica& replica, int stage, int iteration, int microBatch) const {
    const RecordedStage& own = replica.stages[static_cast<std::size_t>(stage)];
    return own.works[static_cast<std::size_t>(own.workOf[indexOf(iteration, microBatch)])];
  }
};

/// The end of a sentence about what a recording does not tell: how to emulate it instead, with these flags of
/// pipescope run. A run on real hardware has no configuration that could be emulated.
std::string emulateInstead(const Recording& recording, const std::string& flags);

/// Reads the executable's last call. `schedules` may be null for imported traces, whose order is the recorded
/// one. The replay of the result reproduces the recorded call to the tick: what its rules do not explain
/// becomes lags. Errors say why a recording cannot be replayed.
base::Result<Recording> readRecording(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                      model::ExecutableId executable, const Schedules* schedules);

}  // namespace pipescope::replay

#pragma once
// A call from the host as values: how long all work and transfers take, and the order of the tasks. An
// emulation fills it from a compilation, a what-if from a recording, the lost times with even costs.
// runCall (run.h) says when everything starts and ends.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/base/units.h"
#include "profiler/clock/order.h"
#include "profiler/model/run_rows.h"

namespace pipescope::clock {

using base::Bytes;
using base::Ticks;

/// A collective within a piece of work, on links that other axes of the mesh use too, or the whole piece, on
/// cores that places share. It runs alone in this time, counted from the start of the piece.
struct LinkUse {
  Ticks start, end;
  Ticks slack;   ///< time by which it may end later before the rest of the piece waits for it
  int load = 0;  ///< what it does to links; see Contention
  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

/// Work that a place does without pause: a segment of its device.
struct Piece {
  model::SegmentId segment;
  model::Pass pass = model::Pass::forward;
  Ticks ticks;
  /// Delay of its start against the rules of the clock. It is 0 in emulated calls. In imported traces
  /// it is time for which the trace gives no cause; it is negative if passes overlap.
  Ticks lag = Ticks(0);
  Ticks moved = Ticks(0);  ///< time of blocks that moved here; below 0: time of blocks that moved away
  /// Time by which others on the same links made its collectives longer, or on the same cores all of it, as
  /// recorded: the place waits so long after the piece.
  Ticks delay = Ticks(0);
  int uses = -1;  ///< index into ReplicaCosts::linkUses: the clock computes the delay; −1: there are none
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Pieces = std::vector<Piece>;

/// Work of a stage for one micro-batch. Pieces of pass `remote` at the start of a task load tensors while
/// the place waits for the task's inputs.
struct StageWork {
  Pieces hostIn, forward, hostOut;
  Pieces backward;  ///< includes what it recomputes
  Pieces weight;
  std::array<Ticks, kTaskPasses> lag{};  ///< see Piece::lag
  Pieces& of(model::Pass pass) {
    return pass == model::Pass::forward ? forward : pass == model::Pass::backward ? backward : weight;
  }
  const Pieces& of(model::Pass pass) const { return const_cast<StageWork*>(this)->of(pass); }
  friend bool operator==(const StageWork&, const StageWork&) = default;
};

/// A collective that runs beside the backward pass of the last micro-batch, after piece `after` of it, or
/// after what the pass recomputes if `after` is the last piece of that.
struct OverlappedPiece {
  Piece piece;
  int after = -1;
  /// Time by which others on the same links made it longer, by iteration, as recorded. It is placed so much
  /// later. Empty: the clock computes it where Piece::uses says so.
  std::vector<Ticks> delays = {};
  Ticks delay(int iteration) const {
    return delays.empty() ? Ticks(0) : delays[static_cast<std::size_t>(iteration) % delays.size()];
  }
};

/// The sum of the gradients of a weight of which several places have copies. All places that have a piece of
/// the same number wait for each other before it. It comes before the update of the place.
struct TiedPiece {
  Piece piece;
  int number = 0;
};

/// A stage of one replica.
struct StageCosts {
  std::vector<StageWork> works;  ///< the different ones among all micro-batches
  /// Index into works by Call::indexOf, which repeats; empty: all micro-batches are like works[0].
  std::vector<int> workOf;
  std::vector<Pieces> updates;  ///< one for each iteration, or one for all
  std::vector<OverlappedPiece> overlapped;
  std::vector<TiedPiece> tied;
};

/// Parts of the time of a flow, for questions about other links.
struct LinkCost {
  Ticks alone;              ///< time of a transfer when nothing else is under way
  Ticks fixed;              ///< part of `alone` that does not depend on the bandwidth
  double ticksPerByte = 0;  ///< ticks of the other part; 0: not known
  int tensors = 1;          ///< number of tensors that travel together
};

/// Data that a stage sends to a stage at another place for each micro-batch.
struct Flow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  Bytes bytes;
  model::LinkId link;  ///< link; not valid if the way leads over several links, or nothing was recorded
  model::LaneId fromLane, toLane;
  /// Time of the copies. Behind a barrier they run with all flows of the replica at the same time. Otherwise
  /// they run alone if transfers contend for links, and in a recording this is the mean of the recorded ones.
  Ticks ticks;
  LinkCost cost;
  /// Ticks by Call::indexOf; empty: all take as long as `ticks`.
  std::vector<Ticks> recorded;
};

struct ReplicaCosts {
  int number = 0;
  std::vector<model::DeviceId> devices;  ///< device of each place
  std::vector<StageCosts> stages;
  std::vector<Flow> flows;
  std::vector<Piece> sync;  ///< external sync of each place before an exchange; no ticks: none
  /// Collectives of pieces, one after another, ascending.
  std::vector<std::vector<LinkUse>> linkUses;
};

/// Chooses the micro-batches of a call that send their outputs to the host.
struct OutputRule {
  enum class Mode { all, none, last, everyN } mode = Mode::all;
  std::int64_t period = 1;
  /// True for micro-batch `index` of `count` in the call.
  bool returns(std::int64_t index, std::int64_t count) const;
};

/// Work of the host during the call.
struct Host {
  Ticks call;  ///< overhead of the call
  Ticks step;  ///< work of its process for one step
  /// Time that devices wait for it before the first step of the call. Without a value the rule for all
  /// further steps says it.
  std::optional<Ticks> firstDelay;
  bool readsResults = false;  ///< the work for a step follows the step before; see HostState
  double loaderTicks = 0;     ///< time to prepare a micro-batch; 0: devices never wait for it
  double networkTicks = 0;    ///< time of a micro-batch on the network; 0: devices never wait for it
  Ticks loaderStart;
  bool overlapsCopies = false;  ///< copies run beside the compute, on a lane of their own
  /// Ticks until the next micro-batch is there: the longer of the two.
  double ticksPerMicroBatch() const { return loaderTicks > networkTicks ? loaderTicks : networkTicks; }
  /// Returns the time at which the first `microBatches` are prepared. The time is computed from the start, so
  /// that rounding errors do not add up.
  Ticks prepared(std::int64_t microBatches) const;
};

struct Call {
  bool training = true;
  /// Another tool measured the times on real hardware. Replicas then do not wait for each other in
  /// collectives, whose recorded times hold these waits, and a place receives its messages one after another.
  bool measured = false;
  /// True if a send ends only when its receiver has taken the message. A place posts its sends together with
  /// the receives of its next block when a block ends, and starts that block when all of them are done; a
  /// message moves from the time at which both sides have posted it. This is how Megatron-LM's and PyTorch's
  /// schedules call batch_isend_irecv for messages that no buffer of the library holds. Otherwise messages
  /// leave by themselves.
  bool blockingSends = false;
  /// True if pieces take longer because the places share the cores of a host, not the links of a mesh: a
  /// place then waits for the host after them.
  bool sharesHost = false;
  int iterations = 0;
  int microBatches = 0;          ///< number in an iteration
  int recordedMicroBatches = 0;  ///< number for which works and flows have values; 0: microBatches
  /// Number after which the costs of micro-batches begin anew. 0: after all.
  int repeatedMicroBatches = 0;
  std::vector<int> placeOfStage;
  std::vector<Order> orders;  ///< one for each iteration, or one for all
  OutputRule output;
  std::vector<ReplicaCosts> replicas;

  const Order& orderOf(int iteration) const {
    return orders[static_cast<std::size_t>(iteration) % orders.size()];
  }
  int stageCount() const { return static_cast<int>(placeOfStage.size()); }
  int placeCount() const { return static_cast<int>(orders.front().places.size()); }
  /// Index of a micro-batch in StageCosts::workOf and Flow::recorded. Micro-batches beyond those that have
  /// values are like these in turn.
  std::size_t indexOf(int iteration, int microBatch) const {
    const int known = recordedMicroBatches > 0 ? recordedMicroBatches : microBatches;
    const int period = repeatedMicroBatches > 0 ? repeatedMicroBatches : known;
    const int like = microBatch < known ? microBatch : microBatch % period;
    return static_cast<std::size_t>(iteration) * static_cast<std::size_t>(known) +
           static_cast<std::size_t>(like);
  }
  const StageWork& work(const ReplicaCosts& replica, int stage, int iteration, int microBatch) const {
    const StageCosts& own = replica.stages[static_cast<std::size_t>(stage)];
    if (own.workOf.empty()) return own.works.front();
    const std::size_t index = indexOf(iteration, microBatch) % own.workOf.size();
    return own.works[static_cast<std::size_t>(own.workOf[index])];
  }
};

}  // namespace pipescope::clock

#pragma once
// The enums of a profile. A file from a newer version may contain a value that this version does not know.
// The name of the value is then "unknown (17)", and views show it in a neutral style.
#include <cstdint>
#include <string>

namespace pipescope::model {

/// Work of a device for a micro-batch, or before and after the micro-batches of an iteration.
enum class Pass : std::uint8_t {
  forward = 0,
  recompute = 1,       ///< repeats the forward pass from the stash, before the backward pass
  backward = 2,        ///< input and weight gradients; only input gradients if weightGradient is separate
  weightGradient = 3,  ///< the pass W of zero-bubble schedules
  update = 4,          ///< weight update by the optimizer
  hostIn = 5,          ///< host → device stream copies
  hostOut = 6,         ///< device → host stream copies
  sync = 7,            ///< external sync
  collective = 8,
  remote = 9,  ///< loads and stores of remote buffers
  other = 10,  ///< recorded work that belongs to nothing known
};
/// True for forward, recompute, backward and weightGradient. Stage reports count these as busy time.
constexpr bool isComputePass(Pass pass) {
  return pass <= Pass::weightGradient;
}

enum class StepKind : std::uint8_t {
  compute = 0,   ///< OnTileExecute; kernels of matrix and vector engines
  exchange = 1,  ///< DoExchange; within one chip
  sync = 2,
  globalExchange = 3,  ///< exchange between chips
  streamCopy = 4,      ///< host ↔ device
  control = 5,
  remoteCopy = 6,  ///< streaming memory ↔ device
};

/// Role of a lane. A device calls its lanes by titles of its own (Catalog::laneTitle).
enum class LaneRole : std::uint8_t {
  compute = 0,
  exchange = 1,
  host = 2,     ///< copies to and from the host
  matrix = 3,   ///< engines for products
  vector = 4,   ///< engines for everything else
  copy = 5,     ///< engines that copy within the memory of the device
  network = 6,  ///< ports to other devices
  hostThread = 7
};
enum class ClockDomain : std::uint8_t { emulated = 0, wall = 1 };
enum class ExecutableKind : std::uint8_t { training = 0, validation = 1, inference = 2 };

/// Reason why a device is idle. Every idle interval has a cause.
enum class WaitCause : std::uint8_t {
  fill = 0,         ///< no micro-batch has reached this stage yet in this iteration
  drain = 1,        ///< this stage has done all its micro-batches of this iteration
  slowerStage = 2,  ///< another stage's work is not finished
  exchange = 3,     ///< data or the copies between devices of this pipeline cycle have not arrived
  collective = 4,
  host = 5,    ///< host link or overhead of a call
  update = 6,  ///< the weight update of another device
};

enum class TransferKind : std::uint8_t {
  activation = 0,
  gradient = 1,
  hostIn = 2,
  hostOut = 3,
  collective = 4,
  remote = 5,
  arrow = 6,  ///< an arrow of a recorded trace, such as a launch: it relates two events, and nothing moves
};
/// An axis along which chips divide a model or its samples.
enum class MeshAxis : std::uint8_t {
  data = 0,     ///< replicas, which take different samples
  pipe = 1,     ///< places, which hold different stages
  tensor = 2,   ///< ranks of a place that share the tensors of a layer
  context = 3,  ///< ranks of a place that share the tokens of a sample
  expert = 4,   ///< ranks of a place that hold different experts
};
enum class Severity : std::uint8_t { info = 0, warning = 1, error = 2 };

/// Subject of an outcome.
enum class OutcomeKind : std::uint8_t {
  result = 0,    ///< result of the model, such as loss or accuracy
  forecast = 1,  ///< estimate for other options
  emulator = 2,  ///< speed of the emulator
};

/// Rule by which the schedule of an executable lets a pass start.
enum class ScheduleKind : std::uint8_t {
  dependency = 0,  ///< a pass starts when its inputs have arrived
  barrier = 1,     ///< all devices start each pipeline cycle together
  oneAtATime = 2,  ///< a micro-batch starts when the previous one has left the last device
};

/// Meaning of a tick of a device. Reports choose the unit of times by it.
enum class TickMeaning : std::uint8_t {
  clockCycle = 0,  ///< a cycle of the device's own clock
  time = 1,        ///< a fraction of a second, because the engines of the device have different clocks
  cost = 2,        ///< a fraction of the unit in which the configuration gives costs
};

/// The part of a unit's memory that a variable needs.
enum class MemoryPlace : std::uint8_t {
  anywhere = 0,
  interleaved = 1,     ///< loads of 128 bits read it
  ownElement = 2,      ///< it is written while a variable in another memory element is read
  anotherElement = 3,  ///< it is read or written together with variables in two other memory elements
};

/// The kind of rows that a LevelNode summarises.
enum class LevelContent : std::uint8_t { placements = 0, waits = 1, transfers = 2, steps = 3 };

/// State of a profile: the way in which it ended, or running while it is still being written.
enum class ProfileState : std::uint8_t { running = 0, complete = 1, cancelled = 2, incomplete = 3 };

std::string toString(Pass pass);
std::string toString(StepKind kind);
std::string toString(LaneRole role);
/// The key of a role in JSON and CSV, the same for every family of devices. Keys never change, so four of
/// them are still the names that the first device with such lanes gave them.
std::string laneKey(LaneRole role);
/// Returns true for lanes that work side by side with the others of their device.
constexpr bool isEngine(LaneRole role) {
  return role >= LaneRole::matrix && role <= LaneRole::network;
}
std::string toString(ClockDomain domain);
std::string toString(ExecutableKind kind);
std::string toString(WaitCause cause);
std::string toString(TransferKind kind);
std::string toString(Severity severity);
std::string toString(OutcomeKind kind);
std::string toString(ScheduleKind kind);
std::string toString(MeshAxis axis);
std::string toString(TickMeaning meaning);
std::string toString(MemoryPlace place);
std::string toString(LevelContent content);
std::string toString(ProfileState state);

}  // namespace pipescope::model

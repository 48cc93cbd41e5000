#pragma once
// Closed vocabularies of a profile. Files may hold values a reader does not know: names of those read
// "unknown (17)" and views show them in a neutral style.
#include <cstdint>
#include <string>

namespace pipescope::model {

/// What a device does for a micro-batch, or around the micro-batches of a step.
enum class Pass : std::uint8_t {
  forward = 0,
  recompute = 1,       ///< forward again, from the stash, before the backward pass
  backward = 2,        ///< input and weight gradients; input gradients only where weightGradient is split off
  weightGradient = 3,  ///< the W of zero-bubble schedules
  update = 4,          ///< optimizer
  hostIn = 5,          ///< host → device stream copies
  hostOut = 6,         ///< device → host stream copies
  sync = 7,            ///< external sync
  collective = 8,
  remote = 9,  ///< loads and stores of remote buffers
};
/// True for forward, recompute, backward and weightGradient: what "busy" means in stage reports.
constexpr bool isComputePass(Pass pass) {
  return pass <= Pass::weightGradient;
}

enum class StepKind : std::uint8_t {
  compute = 0,   ///< OnTileExecute; MME or TPC kernels
  exchange = 1,  ///< DoExchange: within one chip
  sync = 2,
  globalExchange = 3,  ///< between chips
  streamCopy = 4,      ///< host ↔ device
  control = 5,
  remoteCopy = 6,  ///< streaming memory ↔ device
};

enum class LaneRole : std::uint8_t {
  compute = 0,
  exchange = 1,
  host = 2,
  mme = 3,
  tpc = 4,
  dma = 5,
  nic = 6,
  hostThread = 7
};
enum class ClockDomain : std::uint8_t { emulated = 0, wall = 1 };
enum class ExecutableKind : std::uint8_t { training = 0, validation = 1, inference = 2 };

/// Why a device does nothing. Every gap has one.
enum class WaitCause : std::uint8_t {
  fill = 0,         ///< no micro-batch has reached this stage yet in this step
  drain = 1,        ///< this stage has done all its micro-batches of this step
  slowerStage = 2,  ///< another stage's work is not finished
  exchange = 3,     ///< data or the cycle's inter-device copies are under way
  collective = 4,
  host = 5,    ///< host link or per-call overhead
  update = 6,  ///< another device's weight update
};

enum class TransferKind : std::uint8_t {
  activation = 0,
  gradient = 1,
  hostIn = 2,
  hostOut = 3,
  collective = 4,
  remote = 5
};
enum class Severity : std::uint8_t { info = 0, warning = 1, error = 2 };

/// What an outcome is about.
enum class OutcomeKind : std::uint8_t {
  result = 0,    ///< what the model achieved: loss, accuracy
  forecast = 1,  ///< what would be with other options
  emulator = 2,  ///< how fast the emulator was
};

/// What holds back the passes of an executable's schedule.
enum class ScheduleKind : std::uint8_t {
  dependency = 0,  ///< a pass starts when its inputs have arrived
  barrier = 1,     ///< all devices start each pipeline cycle together
  oneAtATime = 2,  ///< a micro-batch enters when the one before has left the last device
};

/// What a device's tick stands for, and so the unit in which people read its times.
enum class TickMeaning : std::uint8_t {
  clockCycle = 0,  ///< a cycle of the device's own clock
  time = 1,        ///< a fraction of a second, because the device's engines have clocks of their own
  cost = 2,        ///< a fraction of a cost unit; the configuration gives all costs
};

/// What a LevelNode stands for.
enum class LevelContent : std::uint8_t { placements = 0, waits = 1, transfers = 2, steps = 3 };

/// How a profile ended, or that it is still being written.
enum class ProfileState : std::uint8_t { running = 0, complete = 1, cancelled = 2, incomplete = 3 };

std::string toString(Pass pass);
std::string toString(StepKind kind);
std::string toString(LaneRole role);
std::string toString(ClockDomain domain);
std::string toString(ExecutableKind kind);
std::string toString(WaitCause cause);
std::string toString(TransferKind kind);
std::string toString(Severity severity);
std::string toString(OutcomeKind kind);
std::string toString(ScheduleKind kind);
std::string toString(TickMeaning meaning);
std::string toString(LevelContent content);
std::string toString(ProfileState state);

}  // namespace pipescope::model

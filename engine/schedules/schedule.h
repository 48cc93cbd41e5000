#pragma once
// A pipeline schedule says what each device does in which order, and what it synchronises on. It knows no
// times: engine/emulate is the only place where those are computed.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::schedules {

struct Shape {
  int stages = 1;        ///< N, forward stages; all chunks of all pipes
  int microBatches = 1;  ///< per flush: G in training, device iterations in inference
  bool training = true;
  std::vector<int> deviceOfStage;  ///< as many as stages
};

/// One micro-batch through one stage. A backward task includes its recompute, and its weight gradients unless
/// the order splits them off.
struct Task {
  int stage = 0;
  int microBatch = 0;
  int slot = -1;                            ///< pipeline cycle; −1 where the schedule has none
  model::Pass pass = model::Pass::forward;  ///< forward, backward or weightGradient
  /// One block with the task before it: the block starts when the inputs of all its tasks are there, and what
  /// they make leaves when the last of them ends.
  bool joined = false;
  friend bool operator==(const Task&, const Task&) = default;
};

/// What a task waits for besides its device.
enum class Progression {
  oneAtATime,  ///< A micro-batch enters when the previous one has left the last device, also in inference.
  barrier,     ///< All devices start a slot together. All boundary copies follow each slot, even empty ones.
  dependency,  ///< A task starts when its inputs have arrived.
};
/// "one at a time", "barrier" or "dependency".
std::string toString(Progression progression);

/// How weight updates follow the flush.
enum class UpdateOrder {
  serial,      ///< device after device, when all have drained; the next iteration starts after the last
  concurrent,  ///< each device after its own last backward
};

struct Order {
  Progression progression = Progression::dependency;  ///< makeOrder copies it from the definition.
  UpdateOrder update = UpdateOrder::concurrent;
  /// Weight gradients are tasks of their own; backward tasks make input gradients only.
  bool splitBackward = false;
  /// Ways through the devices. Stages are numbered pipe by pipe, equally many each, and data flows between
  /// neighbours of one pipe only; a micro-batch goes through one pipe.
  int pipes = 1;
  int slots = 0;                           ///< pipeline cycles of a flush; 0 where there are none
  std::vector<std::vector<Task>> devices;  ///< tasks by device, in order
  /// By stage: ring entries for what its forward pass leaves to its backward (and weight-gradient) pass; 0:
  /// none is stashed, because there is never more than one micro-batch.
  std::vector<std::int64_t> stashEntries;
  /// By stage: ring entries for what its backward pass leaves to its weight-gradient pass; 0: none needed.
  std::vector<std::int64_t> weightEntries;
};

/// How stages lie on devices unless somebody says where they are.
enum class Layout {
  own,      ///< a device for each stage
  wrapped,  ///< `chunks` rounds: stage s on device s mod p
  vee,      ///< two chunks, there and back: stage s on device s, then on 2p − 1 − s
};

struct ScheduleDefinition {
  std::string name, doc;
  /// Returns the order, or an error that states the rule which the shape breaks.
  std::function<base::Result<Order>(const Shape&)> make;
  Progression progression = Progression::dependency;
  /// False for the one that a strategy picks by itself (sharded).
  bool pipelined = true;
  Layout layout = Layout::own;
  /// Ways through the devices. With two, devices hold the model twice: stages of the second pipe have the
  /// work of those of the first.
  int pipes = 1;
  /// Backward passes are split into input and weight gradients.
  bool splitBackward = false;
};

class ScheduleRegistry {
 public:
  void add(ScheduleDefinition definition) { definitions_.push_back(std::move(definition)); }
  const std::vector<ScheduleDefinition>& all() const { return definitions_; }

 private:
  std::vector<ScheduleDefinition> definitions_;
};

/// Calls every schedule's registration (generated).
void registerSchedules(ScheduleRegistry& registry);
/// All schedules, made once.
const ScheduleRegistry& scheduleRegistry();

/// An unknown name is refused with the known ones.
base::Result<const ScheduleDefinition*> findSchedule(std::string_view name);
/// "1f1b, gpipe, …".
std::string scheduleNames();

/// The order of a named schedule; errors: unknown name, impossible shape, the schedule's rule.
base::Result<Order> makeOrder(std::string_view schedule, const Shape& shape);

/// Devices of `stages` stages where nobody says otherwise. `chunks` stages on each device; 0: as the schedule
/// wants it (two where it needs several). Refused: chunks that the schedule cannot have, or that do not
/// divide the stages.
base::Result<std::vector<int>> layOut(const ScheduleDefinition& schedule, int stages, int chunks);
/// Returns how many chunks layOut puts on each device: `chunks`, or the schedule's default if it is 0.
base::Result<int> chunksPerDevice(const ScheduleDefinition& schedule, int chunks);

/// Tasks of a device with several stages are given stage by stage; devices = highest index + 1.
int deviceCount(const Shape& shape);

}  // namespace pipescope::schedules

/// PIPESCOPE_REGISTER_SCHEDULE(popart) { registry.add({...}); }
#define PIPESCOPE_REGISTER_SCHEDULE(name) void register_##name(ScheduleRegistry& registry)

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
  int stages = 1;        ///< N, forward stages
  int microBatches = 1;  ///< per flush: G in training, device iterations in inference
  bool training = true;
  std::vector<int> deviceOfStage;  ///< as many as stages
};

/// One micro-batch through one stage. A backward task includes its recompute.
struct Task {
  int stage = 0;
  model::Pass pass = model::Pass::forward;  ///< forward or backward
  int microBatch = 0;
  int slot = -1;  ///< pipeline cycle; −1 where the schedule has none
  friend bool operator==(const Task&, const Task&) = default;
};

/// What holds a task back besides its device being busy.
enum class Sync {
  barrier,     ///< all devices start a slot together; all boundary copies follow each slot, wanted or not
  dependency,  ///< a task starts when its inputs have arrived
};

/// How weight updates follow the flush.
enum class UpdateOrder {
  serial,      ///< device after device, when all have drained; the next iteration starts after the last
  concurrent,  ///< each device after its own last backward
};

struct Order {
  Sync sync = Sync::dependency;
  UpdateOrder update = UpdateOrder::concurrent;
  /// A micro-batch enters only when the one before has left the last device: sharded execution, also in
  /// inference, where no backward pass holds the first device back.
  bool oneAtATime = false;
  int slots = 0;                           ///< pipeline cycles of a flush; 0 where there are none
  std::vector<std::vector<Task>> devices;  ///< tasks by device, in order
  std::vector<std::int64_t>
      stashEntries;  ///< by stage: ring entries its stashed tensors need; 0: none is stashed
};

struct ScheduleDefinition {
  std::string name, doc;
  /// The order, or a sentence with the rule that the shape breaks.
  std::function<base::Result<Order>(const Shape&)> make;
  /// False for the one that a strategy picks by itself (sharded).
  bool pipelined = true;
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

/// The order of a named schedule; errors: unknown name (with the known ones), impossible shape, the
/// schedule's rule.
base::Result<Order> makeOrder(std::string_view schedule, const Shape& shape);

/// Tasks of a device with several stages are given stage by stage; devices = highest index + 1.
int deviceCount(const Shape& shape);

}  // namespace pipescope::schedules

/// PIPESCOPE_REGISTER_SCHEDULE(popart) { registry.add({...}); }
#define PIPESCOPE_REGISTER_SCHEDULE(name) void register_##name(ScheduleRegistry& registry)

#pragma once
// Result of compiling a model: everything that runs, before any data is touched.
#include <memory>
#include <string>
#include <vector>

#include "engine/compile/passes/pass.h"
#include "engine/devices/core/device_family.h"
#include "engine/devices/core/system_options.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/schedules/schedule.h"

namespace pipescope::compile {

/// One executable, compiled for its devices but not yet recorded.
struct CompiledExecutable {
  ExecutableIr ir;
  std::vector<devices::LoweredDevice> lowered;
  schedules::Order order;
  emulate::ExecutableFacts facts;
  /// Graph that numerics computes: the undivided model. Null where costs are given: nothing can be computed.
  std::shared_ptr<const graph::Graph> graph;
  /// Graph that each rank of a place runs, and of which the IR was made; the same as `graph` for one rank.
  std::shared_ptr<const graph::Graph> rankGraph;
  std::int64_t tokensPerSample = 0;  ///< of the undivided model; 0: its samples are no sequences of tokens
  std::vector<PassReport> passes;    ///< reports of the compiler's passes; none where costs are given
};

/// The tokens of a sample, if an input holds whole numbers by sample and place with which rows of a table are
/// looked up; 0: the model takes no such sequences.
std::int64_t tokensPerSample(const graph::Graph& graph);

struct Compilation {
  std::shared_ptr<const devices::System> system;
  devices::SystemOptions systemOptions;  ///< those that the system was made with
  int devicesUsed = 0;  ///< devices that all replicas take, with those between their stages that hold none
  std::vector<CompiledExecutable> executables;
  std::vector<std::string> notices;  ///< sentences for the user: idle devices, numbers of phases …
  /// The devices of all replicas and executables that hold a stage.
  int devicesWithStages() const;
  /// Sentences that say where something does not fit; none: everything fits.
  std::vector<std::string> overflow() const;
};

}  // namespace pipescope::compile

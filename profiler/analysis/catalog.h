#pragma once
// The small tables of a profile, loaded once and shared by all questions.
//
// The catalog's size grows with the number of devices, lanes, links, segments, runs and options. There can be
// a million names, operators and programs, so the catalog reads those from its source, by block, when a
// caller asks for one. It must therefore not outlive the source.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/lazy_table.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

using base::Bytes;
using base::Result;
using base::Ticks;

struct Catalog {
  std::vector<model::Property> properties;
  std::vector<model::ConfigurationEntry> configuration;
  model::Target target;
  base::IdVector<model::DeviceId, model::Device> devices;
  base::IdVector<model::LinkId, model::Link> links;
  base::IdVector<model::LaneId, model::Lane> lanes;
  base::IdVector<model::MemorySpaceId, model::MemorySpace> memorySpaces;
  base::IdVector<model::ExecutableId, model::Executable> executables;
  std::vector<model::Stage> stages;
  std::vector<model::Boundary> boundaries;
  LazyTable<model::DebugContextId, model::DebugContext> debugContexts;
  LazyTable<model::OperatorId, model::Operator> operators;
  LazyTable<model::ProgramId, model::Program> programs;
  base::IdVector<model::SegmentId, model::Segment> segments;
  base::IdVector<model::RunId, model::Run> runs;
  std::vector<model::Outcome> outcomes;
  std::vector<model::Counter> counters;
  std::vector<model::Diagnostic> diagnostics;
  model::SourceState state;
  std::int64_t revision = 0;

  /// Returns a path such as "layer1/conv/Convolve", or an empty text for no context. It has at most 64
  /// levels, because contexts of a damaged file may form a cycle.
  std::string namePath(model::DebugContextId id) const;
  /// Returns the value of a property, or an empty text if the profile does not have it.
  std::string property(std::string_view key) const;
  /// Returns how many calls of the executable the run plans; 0: the profile does not say.
  std::int64_t plannedCalls(model::ExecutableId id) const;
  /// True if another tool measured the times on real hardware, so that no device model emulated them.
  bool measured() const { return !property("imported_from").empty(); }
  /// True if the first iteration begins with the call and the last one ends with it. A run that another tool
  /// recorded may hold anything before and behind its iterations, and its replicas may have clocks of their
  /// own.
  bool iterationsFillCalls() const { return !measured(); }
  const model::Executable* executable(model::ExecutableId id) const;
  /// Ways through the devices, each with stages of its own. A micro-batch goes through one of them.
  std::int64_t pipesOf(model::ExecutableId id) const;
  /// Returns the micro-batches of an iteration that go through each stage: those of one pipe. 0: none, or an
  /// unknown executable.
  std::int64_t microBatchesOfStage(model::ExecutableId id) const;
  /// Ranks of a place: chips that share the work of its stages. They do equal work at equal times, so that a
  /// profile records the first of them only.
  std::int64_t widthOf(model::ExecutableId id) const;
  /// Distance between the devices of neighbouring places. It is more than widthOf() where replicas of a place
  /// are neighbours.
  std::int64_t placeStrideOf(model::ExecutableId id) const;
  /// The division of a model: "dp 4 × pp 2 × tp 8", for replicas, places and the axes of the ranks of a
  /// place. Empty: each place is one chip.
  std::string divisionOf(model::ExecutableId id) const;
  /// Finds an executable by name. An empty name means the first one (training). The error lists the names.
  Result<const model::Executable*> findExecutable(std::string_view name) const;
  /// Returns the stages of an executable by index.
  std::vector<const model::Stage*> stagesOf(model::ExecutableId id) const;
  std::vector<const model::Run*> runsOf(model::ExecutableId id) const;
  /// The number by which users know a call: among those of its executable, from 1. 0: the profile lacks the
  /// call.
  std::int64_t callNumber(model::RunId id) const;
  /// Returns the last run of the executable that has placements. Totals refer to this run. Null: nothing ran.
  const model::Run* lastRunOf(model::ExecutableId id) const;
  /// Finds a call of the executable by its number, from 1. The error says that there is no such call.
  Result<const model::Run*> findCall(const model::Executable& executable, std::int64_t number) const;
  const model::Device* device(model::DeviceId id) const;
  /// Returns the device that owns a lane. The host's lanes and unknown lanes give no device.
  model::DeviceId deviceOf(model::LaneId lane) const;
  /// Returns the role of a lane; an unknown lane counts as compute.
  model::LaneRole roleOf(model::LaneId lane) const;
  /// Returns the title of the lanes of a role on these devices: "MME", "compute". Lanes without a title, and
  /// those of profiles that lack them, are called after their role.
  std::string laneTitle(model::LaneRole role) const;
  /// Returns the name path of a program, or an empty text for an unknown program.
  std::string programPath(model::ProgramId id) const;
  base::Timebase timebase(model::DeviceId id) const;
  /// Converts ticks of a device to ticks of device 0, rounded up.
  Ticks toAxis(model::DeviceId device, Ticks ticks) const;
  std::optional<double> outcome(model::ExecutableId id, std::string_view name) const;
};

/// Reads the catalog. An error names the table that could not be read.
Result<std::shared_ptr<const Catalog>> loadCatalog(const model::ProfileSource& source);

}  // namespace pipescope::analysis

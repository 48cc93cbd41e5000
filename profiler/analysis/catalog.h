#pragma once
// The small facts of a profile, loaded once and shared: what every question starts from.
//
// Bounded by the number of devices, lanes, links, segments, runs and options; names, operators and programs,
// of which there can be a million, are read by block when they are asked for. A catalog asks its source then:
// it must not outlive it.
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
  std::vector<model::Diagnostic> diagnostics;
  model::SourceState state;
  std::int64_t revision = 0;

  /// "layer1/conv/Convolve"; empty for none. Cycles in a damaged file end the path.
  std::string namePath(model::DebugContextId id) const;
  /// The value of a property; empty where the profile does not have it.
  std::string property(std::string_view key) const;
  const model::Executable* executable(model::ExecutableId id) const;
  /// By name; an empty name means the first (training). Otherwise an error that lists the names.
  Result<const model::Executable*> findExecutable(std::string_view name) const;
  /// Stages of an executable, by index.
  std::vector<const model::Stage*> stagesOf(model::ExecutableId id) const;
  std::vector<const model::Run*> runsOf(model::ExecutableId id) const;
  /// The last run of the executable that has placements; what totals are taken over. None: nothing ran.
  const model::Run* lastRunOf(model::ExecutableId id) const;
  /// Its calls are numbered from 1; a sentence where there is no such call.
  Result<const model::Run*> findCall(const model::Executable& executable, std::int64_t number) const;
  const model::Device* device(model::DeviceId id) const;
  /// The device that owns a lane; none for the host's lanes and for lanes that the profile does not have.
  model::DeviceId deviceOf(model::LaneId lane) const;
  /// The role of a lane; compute where the profile does not have the lane.
  model::LaneRole roleOf(model::LaneId lane) const;
  /// The name path of a program; empty where the profile does not have the program.
  std::string programPath(model::ProgramId id) const;
  base::Timebase timebase(model::DeviceId id) const;
  std::optional<double> outcome(model::ExecutableId id, std::string_view name) const;
};

/// Reads the catalog; an error names the table that could not be read.
Result<std::shared_ptr<const Catalog>> loadCatalog(const model::ProfileSource& source);

}  // namespace pipescope::analysis

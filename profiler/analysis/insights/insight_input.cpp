#include "profiler/analysis/insights/insight_input.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/searched_stages.h"
#include "profiler/base/number_text.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

std::map<std::string, std::string> optionsOf(const Catalog& catalog) {
  std::map<std::string, std::string> options;
  for (const model::ConfigurationEntry& entry : catalog.configuration) {
    std::string value = entry.value;
    std::erase(value, '"');
    options[entry.path] = std::move(value);
  }
  return options;
}

std::optional<double> peakUseOf(const Catalog& catalog, model::ExecutableId id, const StagesReport& stages) {
  const std::string path = "least_seconds." + std::to_string(id.value);
  const double least = base::numberOf(catalog.property(path + ".model")).value_or(0) +
                       base::numberOf(catalog.property(path + ".recompute")).value_or(0);
  double busy = 0;
  for (const StageReport& stage : stages.stages) busy += stage.busy;
  if (!(least > 0) || !(busy > 0) || stages.clockHz <= 0) return std::nullopt;
  return least * static_cast<double>(stages.clockHz) / busy;
}

/// Bytes of the variables on devices, by type of element, which is the last word of a shape, and by category
/// of what is always live.
base::Status addVariables(const model::ProfileSource& source, const Catalog& catalog, InsightInput& input) {
  std::set<std::int64_t> onDevice;
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    if (isOnDevice(space)) onDevice.insert(space.id.value);
  }
  return forAllRows<model::Variable>(source, [&](const model::Variable& row) {
    if (row.executable != input.executable.id || !onDevice.contains(row.space.value)) return;
    if (row.alwaysLive) input.alwaysLive[row.space][row.category] += row.bytes;
    if (row.shape.empty()) return;
    base::addWrapped(input.bytesByType[row.shape.substr(row.shape.rfind(' ') + 1)], row.bytes.count);
  });
}

base::Status addSeries(const model::ProfileSource& source, const Catalog& catalog, InsightInput& input,
                       base::Progress& progress) {
  CounterRequest request;
  request.executable = input.executable.id;
  request.ofDevices = false;
  PIPESCOPE_ASSIGN(const std::vector<CounterSeries> all, counterSeries(source, catalog, request, progress));
  for (const CounterSeries& series : all) {
    if (series.points.empty()) continue;
    SeriesEnds ends{series.points.front().last, series.points.back().last, true};
    for (const CounterPoint& point : series.points)
      ends.finite = ends.finite && std::isfinite(point.smallest) && std::isfinite(point.largest) &&
                    std::isfinite(point.last);
    if (series.counter.name == "loss") input.loss = ends;
    if (series.counter.name == "loss_scale") input.lossScale = ends;
  }
  return {};
}

/// Reads "key = value, key = value". A value may be a list with commas, so that a comma ends it only before a
/// further key.
InsightChanges changesOf(const std::string& text) {
  InsightChanges changes;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t equals = text.find(" = ", from);
    if (equals == std::string::npos) break;
    const std::size_t next = text.find(" = ", equals + 3);
    const std::size_t comma = next == std::string::npos ? next : text.rfind(", ", next);
    const std::size_t end = comma == std::string::npos || comma < equals ? text.size() : comma;
    changes.push_back({text.substr(from, equals - from), text.substr(equals + 3, end - equals - 3)});
    from = end + 2;
  }
  return changes;
}

/// The advice of a run that does not fit has the form "key = value, key = value: effect."
void addTriedForMemory(const Catalog& catalog, InsightInput& input) {
  for (const model::Diagnostic& row : catalog.diagnostics) {
    if (row.code != "out_of_memory_advice" || row.executable != input.executable.id) continue;
    const std::size_t equals = row.text.find(" = "), colon = row.text.find(": ", equals);
    if (equals == std::string::npos || colon == std::string::npos) continue;
    std::string effect = row.text.substr(colon + 2);
    if (effect.ends_with('.')) effect.pop_back();
    InsightChanges changes = changesOf(row.text.substr(0, colon));
    if (changes.size() == 1)
      input.triedForMemory.try_emplace(changes[0].key, TriedValue{changes[0].value, std::move(effect)});
    else
      input.triedTogether.push_back({std::move(changes), std::move(effect)});
  }
}

base::Status addAxes(const model::ProfileSource& source, const Catalog& catalog, InsightInput& input) {
  PIPESCOPE_ASSIGN(const std::vector<CollectiveUse> uses,
                   collectiveUses(source, catalog, input.executable.id));
  for (const AxisCommunication& along : communicationByAxis(uses)) {
    if (!(along.ticks > 0)) continue;
    double& share = input.exposedByAxis[along.axis];
    share = std::max(share, along.share * along.exposed / along.ticks);
  }
  return {};
}

}  // namespace

Result<InsightInput> insightInput(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, const Execution& execution,
                                  const StagesReport& stages, const Memory& memory,
                                  const AcceleratorReport& recorded, base::Progress& progress) {
  InsightInput input;
  if (const model::Executable* row = catalog.executable(executable)) input.executable = *row;
  input.executable.id = executable;
  input.target = catalog.target;
  input.options = optionsOf(catalog);
  input.execution = execution;
  input.stages = stages;
  input.memory = memory;
  input.recorded = recorded;
  for (const DevicePlace& place : devicePlaces(catalog, executable))
    input.replicaOfDevice.push_back(place.replica);
  if (!catalog.property("figure.peak_bf16").empty()) input.halfType = "bfloat16";
  addTriedForMemory(catalog, input);
  input.searchedStages = searchedStages(catalog);
  for (const model::Lane& lane : catalog.lanes)
    input.laneTitles.try_emplace(lane.role, catalog.laneTitle(lane.role));
  input.peakUse = peakUseOf(catalog, executable, stages);
  if (const model::Run* run = catalog.lastRunOf(executable)) {
    input.callStart = run->start;
    input.callEnd = run->end;
    PIPESCOPE_ASSIGN(SystemUse use, systemUse(source, catalog, executable, progress));
    input.links = std::move(use.links);
  }
  PIPESCOPE_TRY(addVariables(source, catalog, input));
  PIPESCOPE_TRY(addAxes(source, catalog, input));
  PIPESCOPE_TRY(addSeries(source, catalog, input, progress));
  return input;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/memory/peak_attribution.h"

#include <algorithm>
#include <map>
#include <set>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/model/origins.h"
#include "profiler/base/natural_order.h"

namespace pipescope::analysis {
namespace {

Result<StepAttribution> attribute(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::MemorySpaceId space,
                                  std::int32_t step, const Origins& origins) {
  PIPESCOPE_ASSIGN(const std::vector<LiveVariable> live,
                   liveVariables(source, catalog, executable, space, step, true));
  StepAttribution result;
  std::map<std::string, LayerBytes, base::NaturalLess> layers;
  std::map<std::pair<std::string, bool>, Bytes> categories;
  for (const LiveVariable& variable : live) {
    const OperatorOrigin origin = origins.of(variable.name);
    const std::string& layer = origin.block.empty() ? origin.name : origin.block;
    LayerBytes& row = layers[layer];
    row.layer = layer;
    (variable.alwaysLive ? row.alwaysLive : row.notAlwaysLive) += variable.bytes;
    (variable.alwaysLive ? result.alwaysLive : result.notAlwaysLive) += variable.bytes;
    categories[{variable.category, variable.alwaysLive}] += variable.bytes;
    ++result.variables;
  }
  for (auto& [name, row] : layers) result.layers.push_back(std::move(row));
  for (const auto& [key, bytes] : categories) result.categories.push_back({key.first, key.second, bytes});
  std::ranges::stable_sort(result.layers, [](const LayerBytes& a, const LayerBytes& b) {
    return a.alwaysLive + a.notAlwaysLive > b.alwaysLive + b.notAlwaysLive;
  });
  std::ranges::stable_sort(result.categories,
                           [](const CategoryBytes& a, const CategoryBytes& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace

Result<std::vector<PeakAttribution>> attributePeaks(const model::ProfileSource& source,
                                                    const Catalog& catalog, model::ExecutableId executable) {
  PIPESCOPE_ASSIGN(const Origins origins, Origins::read(source, catalog, executable));
  std::set<model::DeviceId> devices;
  for (const model::Stage* stage : catalog.stagesOf(executable)) devices.insert(stage->device);
  std::vector<PeakAttribution> peaks;
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    if (!devices.contains(space.device)) continue;
    PIPESCOPE_ASSIGN(const Liveness live, liveness(source, catalog, executable, space.id));
    if (live.peakStep < 0) continue;
    const LivenessPoint& point = live.steps[static_cast<std::size_t>(live.peakStep)];
    PeakAttribution peak{space.device, space.id, point.step, catalog.programPath(point.program), {}};
    PIPESCOPE_ASSIGN(peak.parts, attribute(source, catalog, executable, space.id, point.step, origins));
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/device_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace pipescope::analysis {

std::vector<DevicePlace> devicePlaces(const Catalog& catalog, model::ExecutableId executable) {
  std::vector<DevicePlace> places(catalog.devices.size());
  const auto devices = static_cast<std::int64_t>(places.size());
  const std::vector<const model::Stage*> stages = catalog.stagesOf(executable);
  std::int64_t perReplica = 0;
  for (const model::Stage* stage : stages) {
    if (stage->device.valid() && stage->device.value < devices)
      perReplica = std::max(perReplica, stage->device.value + 1);
  }
  const model::Executable* row = catalog.executable(executable);
  if (perReplica == 0 || row == nullptr) return places;
  const std::int64_t replicas = std::clamp<std::int64_t>(row->replicas, 1, devices / perReplica);
  for (const model::Stage* stage : stages) {
    if (!stage->device.valid() || stage->device.value >= devices) continue;
    for (std::int64_t r = 0; r < replicas; ++r) {
      DevicePlace& place = places[static_cast<std::size_t>(r * perReplica + stage->device.value)];
      place.replica = static_cast<std::int32_t>(r);
      place.stages.push_back(stage->index);
    }
  }
  for (DevicePlace& place : places) std::sort(place.stages.begin(), place.stages.end());
  return places;
}

std::string clockOf(const Catalog& catalog, const model::Device& device) {
  if (catalog.target.family == "fixed") return {};
  const std::string prefix = "figure.", suffix = "_clock";
  std::string engines;
  for (const model::Property& figure : catalog.properties) {
    if (figure.key.rfind(prefix, 0) != 0 || !figure.key.ends_with(suffix)) continue;
    std::string engine = figure.key.substr(prefix.size(), figure.key.size() - prefix.size() - suffix.size());
    for (char& c : engine) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string value = figure.value.substr(0, figure.value.find(';'));
    engines += (engines.empty() ? "" : ", ") + engine + " " + value;
  }
  return engines.empty() ? fmt::format("{:.4g} GHz", static_cast<double>(device.ticksPerSecond) / 1e9)
                         : engines;
}

std::string laneTitle(model::LaneRole role) {
  std::string title = model::toString(role);
  const bool engine = role == model::LaneRole::mme || role == model::LaneRole::tpc ||
                      role == model::LaneRole::dma || role == model::LaneRole::nic;
  for (char& c : title) c = engine ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
  return title;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/device_places.h"

#include <algorithm>
#include <map>

namespace pipescope::analysis {
namespace {

using Places = base::IdVector<model::DeviceId, DevicePlace>;

/// The devices of a recorded run have the stages of their passes. The n-th device of a stage is of replica n.
Places recordedPlaces(const Catalog& catalog, model::ExecutableId executable) {
  Places places(catalog.devices.size());
  for (const model::Segment& segment : catalog.segments) {
    DevicePlace* const place = places.find(segment.device);
    if (place == nullptr || segment.executable != executable || segment.stage < 0) continue;
    if (!model::isComputePass(segment.pass) && segment.pass != model::Pass::update) continue;
    const auto at = std::ranges::lower_bound(place->stages, segment.stage);
    if (at == place->stages.end() || *at != segment.stage) place->stages.insert(at, segment.stage);
  }
  std::map<std::int32_t, std::int32_t> devicesOf;  // number of devices for each first stage
  for (DevicePlace& place : places)
    if (!place.stages.empty()) place.replica = devicesOf[place.stages.front()]++;
  return places;
}

}  // namespace

base::IdVector<model::DeviceId, DevicePlace> devicePlaces(const Catalog& catalog,
                                                          model::ExecutableId executable) {
  if (catalog.measured()) return recordedPlaces(catalog, executable);
  Places places(catalog.devices.size());
  const auto devices = static_cast<std::int64_t>(places.size());
  const std::vector<const model::Stage*> stages = catalog.stagesOf(executable);
  std::int64_t perReplica = 0;
  for (const model::Stage* stage : stages) {
    if (stage->device.valid() && stage->device.value < devices)
      perReplica = std::max(perReplica, stage->device.value + 1);
  }
  const model::Executable* row = catalog.executable(executable);
  const std::int64_t width = catalog.widthOf(executable);
  if (perReplica == 0 || perReplica > devices || row == nullptr) return places;
  // Either the devices of a replica are neighbours, or the replicas of a place.
  const bool placesOutermost = catalog.placeStrideOf(executable) > width;
  const std::int64_t stride = placesOutermost ? width : (perReplica + width - 1) / width * width;
  if (stride > devices) return places;
  const std::int64_t replicas = std::clamp<std::int64_t>(row->replicas, 1, devices / stride);
  for (const model::Stage* stage : stages) {
    if (!stage->device.valid() || stage->device.value >= devices) continue;
    for (std::int64_t r = 0; r < replicas; ++r) {
      for (std::int64_t rank = 0; rank < width; ++rank) {
        DevicePlace* place = places.find(model::DeviceId(r * stride + stage->device.value + rank));
        if (place == nullptr) continue;
        place->replica = static_cast<std::int32_t>(r);
        place->rank = static_cast<std::int32_t>(rank);
        place->stages.push_back(stage->index);
      }
    }
  }
  for (DevicePlace& place : places) std::sort(place.stages.begin(), place.stages.end());
  return places;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/recorded_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "profiler/analysis/device_places.h"
#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// The replica that is recorded for each replica: itself, or the first one of equal speed. The property
/// "replicas_like.EXECUTABLE" has runs of them as "0x3 3 0x28"; without it the first one stands for all.
std::vector<std::int32_t> replicasLike(const Catalog& catalog, model::ExecutableId executable) {
  std::vector<std::int32_t> like;
  const std::string text = catalog.property("replicas_like." + std::to_string(executable.value));
  const auto most = static_cast<std::int64_t>(catalog.devices.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size()), times = text.find('x', at);
    const bool repeats = times < end;
    const auto replica = base::wholeNumberOf(text.substr(at, (repeats ? times : end) - at));
    const auto count = repeats ? base::wholeNumberOf(text.substr(times + 1, end - times - 1))
                               : std::optional<std::int64_t>(1);
    if (!replica || !count || *replica < 0 || *count < 1 ||
        *count > most - static_cast<std::int64_t>(like.size()) || *replica >= most)
      return {};
    like.insert(like.end(), static_cast<std::size_t>(*count), static_cast<std::int32_t>(*replica));
    at = end + 1;
  }
  return like;
}

using Places = base::IdVector<model::DeviceId, DevicePlace>;

/// recordedDevices of an emulated run whose devices have these places, or of a recorded one.
base::IdVector<model::DeviceId, model::DeviceId> recordedOf(const Catalog& catalog,
                                                            model::ExecutableId executable,
                                                            const Places& places) {
  base::IdVector<model::DeviceId, model::DeviceId> stands(catalog.devices.size());
  for (const model::Segment& segment : catalog.segments)
    if (segment.executable == executable && stands.contains(segment.device))
      stands[segment.device] = segment.device;
  if (catalog.measured()) return stands;
  const std::vector<std::int32_t> equal = replicasLike(catalog, executable);
  // The numbers of a device and of the same device in the next replica differ by the same amount everywhere.
  std::int64_t first[2] = {-1, -1};
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(places.size()); ++d) {
    const std::int32_t replica = places[model::DeviceId(d)].replica;
    if ((replica == 0 || replica == 1) && first[replica] < 0) first[replica] = d;
  }
  const std::int64_t stride = first[1] < 0 ? 0 : first[1] - first[0];
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(places.size()); ++d) {
    const DevicePlace& place = places[model::DeviceId(d)];
    if (stands[model::DeviceId(d)].valid() || place.replica < 0 || place.stages.empty()) continue;
    const auto replica = static_cast<std::size_t>(place.replica);
    const std::int32_t other = replica < equal.size() ? equal[replica] : 0;
    // The first rank of the place itself is recorded where its replica is slower than others.
    const model::DeviceId own(d - place.rank), like(own.value - (place.replica - other) * stride);
    for (const model::DeviceId of : {own, like}) {
      if (stands[model::DeviceId(d)].valid() || !stands.contains(of) || stands[of] != of) continue;
      stands[model::DeviceId(d)] = of;
    }
  }
  return stands;
}

}  // namespace

base::IdVector<model::DeviceId, model::DeviceId> recordedDevices(const Catalog& catalog,
                                                                 model::ExecutableId executable) {
  return recordedOf(catalog, executable, catalog.measured() ? Places() : devicePlaces(catalog, executable));
}

std::string recordedText(const Catalog& catalog, model::ExecutableId executable, model::DeviceId device) {
  const Places places = devicePlaces(catalog, executable);
  const auto stands = recordedOf(catalog, executable, places);
  if (!stands.contains(device) || !stands[device].valid() || stands[device] == device) return {};
  const DevicePlace& place = places[device];
  std::string what;
  if (catalog.widthOf(executable) > 1) what = fmt::format("rank {} of ", place.rank);
  return fmt::format(
      "{} is {}replica {}. It does the same as {} at the same time, which is recorded for both.",
      catalog.devices[device].name, what, place.replica, catalog.devices[stands[device]].name);
}

}  // namespace pipescope::analysis

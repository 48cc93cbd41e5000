#include "profiler/analysis/timeline/alike_devices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "profiler/analysis/device_places.h"

namespace pipescope::analysis {
namespace {

constexpr double kTolerance = 0.1;

struct DeviceWork {
  std::string kind;
  /// Number of segments and their ticks, by stage, pass and kind of lane.
  std::map<std::tuple<std::int32_t, model::Pass, model::LaneRole>, std::pair<double, double>> sums;
};

bool isClose(double one, double other) {
  return std::abs(one - other) <= kTolerance * std::max(one, other);
}

bool isAlike(const DeviceWork& one, const DeviceWork& other) {
  return one.kind == other.kind && std::ranges::equal(one.sums, other.sums, [](const auto& a, const auto& b) {
           return a.first == b.first && isClose(a.second.first, b.second.first) &&
                  isClose(a.second.second, b.second.second);
         });
}

}  // namespace

std::vector<std::int32_t> alikeDevices(const Catalog& catalog, model::ExecutableId executable) {
  std::vector<std::int32_t> alike(catalog.devices.size(), -1);
  if (!catalog.measured()) {
    // The first rank of a place is recorded for all of them.
    std::size_t d = 0;
    for (const DevicePlace& place : devicePlaces(catalog, executable)) {
      if (place.rank > 0 && d < alike.size()) alike[d] = static_cast<std::int32_t>(d) - place.rank;
      ++d;
    }
    return alike;
  }
  std::vector<DeviceWork> works;
  std::map<model::DeviceId, std::size_t> places;
  for (const model::Device& device : catalog.devices) {
    places[device.id] = works.size();
    works.push_back({device.kind, {}});
  }
  for (const model::Segment& segment : catalog.segments) {
    const auto place = places.find(segment.device);
    if (segment.executable != executable || place == places.end()) continue;
    auto& [count, ticks] =
        works[place->second].sums[{segment.stage, segment.pass, catalog.roleOf(segment.lane)}];
    ++count;
    ticks += static_cast<double>(segment.ticks.count);
  }
  std::vector<std::size_t> classes;  // the first device of each
  for (std::size_t d = 0; d < works.size(); ++d) {
    const auto first = std::ranges::find_if(classes, [&](std::size_t other) {
      return !works[d].sums.empty() && isAlike(works[d], works[other]);
    });
    if (first != classes.end()) {
      alike[d] = static_cast<std::int32_t>(*first);
    } else {
      classes.push_back(d);
    }
  }
  return alike;
}

}  // namespace pipescope::analysis

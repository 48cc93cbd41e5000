#include "profiler/analysis/pipeline/links/collective_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "profiler/analysis/device_places.h"
#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// Ranks of a place along its axes, the innermost one first: tensor, context, expert.
struct RankAxes {
  std::int64_t tensor = 1, context = 1;
};

/// Reads "tp 2 × cp 2 × ep 4". A place without this text has ranks of the tensor axis only.
RankAxes rankAxesOf(const Catalog& catalog, model::ExecutableId executable) {
  const std::int64_t width = catalog.widthOf(executable);
  const std::string text = catalog.property("axes." + std::to_string(executable.value));
  const auto sizeOf = [&](std::string_view name) -> std::int64_t {
    const std::size_t at = text.find(std::string(name) + " ");
    if (at == std::string::npos) return 1;
    const std::size_t from = at + name.size() + 1, end = std::min(text.find(' ', from), text.size());
    return std::clamp<std::int64_t>(base::wholeNumberOf(text.substr(from, end - from)).value_or(1), 1, width);
  };
  if (text.empty()) return {width, 1};
  return {sizeOf("tp"), sizeOf("cp")};
}

/// The replica or place, and the ranks along other axes, that the chips of a group have in common.
using GroupKey = std::array<std::int64_t, 4>;

GroupKey keyOf(const DevicePlace& place, const RankAxes& axes, const AxisShare& share,
               std::int64_t replicas) {
  const std::int64_t rank = place.rank, tensor = rank % axes.tensor,
                     context = rank / axes.tensor % axes.context, expert = rank / axes.tensor / axes.context;
  switch (share.axis) {
    case model::MeshAxis::tensor:
      return {place.replica, -1, context, expert};
    case model::MeshAxis::context:
      return {place.replica, tensor, -1, expert};
    case model::MeshAxis::expert:
      return {place.replica, tensor, context, -1};
    default:
      // Ranks of the axes context and expert hold the same weights, where more chips than replicas take part.
      return share.ranks > replicas ? GroupKey{-1, tensor, -1, -1} : GroupKey{-1, tensor, context, expert};
  }
}

/// The whole number at the beginning of a figure of the system: "8 cards; grade C …"; 0: not stated.
std::int64_t figureCount(const Catalog& catalog, std::string_view key) {
  const std::string text = catalog.property("figure." + std::string(key));
  return std::max<std::int64_t>(0, base::wholeNumberOf(text.substr(0, text.find(' '))).value_or(0));
}

}  // namespace

std::vector<CollectiveGroup> collectiveGroups(const Catalog& catalog, model::ExecutableId executable,
                                              const std::vector<AxisShare>& shares) {
  const auto places = devicePlaces(catalog, executable);
  const RankAxes axes = rankAxesOf(catalog, executable);
  const model::Executable* row = catalog.executable(executable);
  const std::int64_t replicas = row == nullptr ? 1 : row->replicas;
  std::vector<CollectiveGroup> groups;
  for (const AxisShare& share : shares) {
    std::map<GroupKey, std::vector<model::DeviceId>> members;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(places.size()); ++d) {
      const DevicePlace& place = places[model::DeviceId(d)];
      if (std::ranges::binary_search(place.stages, share.stage))
        members[keyOf(place, axes, share, replicas)].push_back(model::DeviceId(d));
    }
    const std::size_t first = groups.size();
    for (auto& [key, chips] : members)
      if (chips.size() > 1)
        groups.push_back({share.stage, share.axis, share.share, std::move(chips), share.ranks});
    std::sort(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
              [](const auto& a, const auto& b) { return a.chips.front() < b.chips.front(); });
  }
  return groups;
}

SystemParts systemParts(const Catalog& catalog) {
  if (catalog.measured()) return {};
  SystemParts parts{figureCount(catalog, "machine_devices"), figureCount(catalog, "link_domain")};
  if (parts.chipsOfBox == 0) parts.chipsOfBox = figureCount(catalog, "devices");
  return parts;
}

}  // namespace pipescope::analysis

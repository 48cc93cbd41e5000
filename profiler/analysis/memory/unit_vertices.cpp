#include "profiler/analysis/memory/unit_vertices.h"

#include <algorithm>
#include <map>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

struct VertexSums {
  VertexType sums;
  std::vector<bool> units;  ///< marks by index in the wanted units
  std::set<std::int64_t> computeSets;
};

}  // namespace

Result<UnitVertices> unitVertices(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::MemorySpaceId space,
                                  const std::vector<std::int64_t>& units, base::Progress& progress) {
  constexpr std::int64_t kMostUnits = 1 << 20;
  std::vector<std::int64_t> wanted = units;
  if (wanted.empty()) {
    const model::MemorySpace* known = catalog.memorySpaces.find(space);
    const std::int64_t all = known == nullptr ? 0 : std::clamp<std::int64_t>(known->units, 0, kMostUnits);
    for (std::int64_t unit = 0; unit < all; ++unit) wanted.push_back(unit);
  }
  std::ranges::sort(wanted);
  UnitVertices found;
  std::map<std::string, VertexSums> byType;
  PIPESCOPE_TRY(forEachRow<model::VertexUse>(
      source, progress, [](const model::BlockInfo&, const std::vector<model::ColumnRange>&) { return true; },
      [&](const model::VertexUse& row, std::int64_t) {
        if (row.executable != executable) return true;
        found.known = true;
        if (row.space != space || row.unitCount <= 0) return true;
        const auto from = std::ranges::lower_bound(wanted, row.firstUnit);
        const auto to = std::lower_bound(from, wanted.end(), base::wrappedSum(row.firstUnit, row.unitCount));
        const std::int64_t here = to - from;
        if (here <= 0) return true;
        VertexSums& type = byType[row.type];
        type.units.resize(wanted.size());
        for (auto unit = from; unit != to; ++unit) {
          const auto at = static_cast<std::size_t>(unit - wanted.begin());
          if (type.units[at]) continue;
          type.units[at] = true;
          ++type.sums.units;
          type.sums.code += row.code;
        }
        type.computeSets.insert(row.program.value);
        base::addWrapped(type.sums.count, base::wrappedProduct(here, row.count));
        type.sums.state += Bytes(base::wrappedProduct(here, row.state.count));
        type.sums.lists += Bytes(base::wrappedProduct(here, row.lists.count));
        return true;
      }));
  for (auto& [name, type] : byType) {
    type.sums.type = name;
    type.sums.computeSets = static_cast<std::int64_t>(type.computeSets.size());
    found.types.push_back(std::move(type.sums));
  }
  std::ranges::stable_sort(found.types,
                           [](const VertexType& a, const VertexType& b) { return a.bytes() > b.bytes(); });
  return found;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/memory/held_variables.h"

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

struct Held {
  std::int64_t bytes = 0, most = 0, units = 0;
  std::int32_t firstStep = -1, endStep = -1;
};

class HeldCollector {
 public:
  HeldCollector(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable,
                model::MemorySpaceId space, base::Progress& progress)
      : source_(source), catalog_(catalog), executable_(executable), space_(space), progress_(progress) {}

  Result<HeldVariables> collect(std::vector<std::int64_t> units, std::size_t most) {
    std::ranges::sort(units);
    HeldVariables found;
    PIPESCOPE_TRY(readVariables());
    PIPESCOPE_TRY(readUnits(units, found.known));
    if (!found.known && units.empty()) takeWholeSpace();
    shorten(found, most);
    PIPESCOPE_TRY(readLives(found));
    return found;
  }

 private:
  static bool anyBlock(const model::BlockInfo&, const std::vector<model::ColumnRange>&) { return true; }

  base::Status readVariables() {
    return forEachRow<model::Variable>(source_, progress_, anyBlock,
                                       [&](const model::Variable& row, std::int64_t) {
                                         if (row.executable == executable_ && row.space == space_)
                                           rows_.emplace(row.id.value, row);
                                         return true;
                                       });
  }

  base::Status readUnits(const std::vector<std::int64_t>& units, bool& known) {
    return forEachRow<model::VariableUnits>(
        source_, progress_, anyBlock, [&](const model::VariableUnits& row, std::int64_t) {
          known = true;
          if (row.unitCount <= 0 || !rows_.contains(row.variable.value)) return true;
          const std::int64_t end = base::wrappedSum(row.firstUnit, row.unitCount);
          const std::int64_t here = units.empty() ? row.unitCount
                                                  : std::ranges::lower_bound(units, end) -
                                                        std::ranges::lower_bound(units, row.firstUnit);
          if (here <= 0) return true;
          Held& held = held_[row.variable.value];
          base::addWrapped(held.bytes, base::wrappedProduct(here, row.bytes.count));
          held.most = std::max(held.most, row.bytes.count);
          base::addWrapped(held.units, here);
          return true;
        });
  }

  /// Takes what all units hold together, which alone is known without unit maps.
  void takeWholeSpace() {
    for (const auto& [id, row] : rows_)
      held_[id] = {.bytes = row.bytes.count, .most = row.maxUnitBytes.count};
  }

  void shorten(HeldVariables& found, std::size_t most) {
    std::vector<std::pair<std::int64_t, Held>> list(held_.begin(), held_.end());
    std::ranges::sort(list, [](const auto& a, const auto& b) {
      return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes : a.first < b.first;
    });
    found.all = static_cast<std::int64_t>(list.size());
    if (list.size() > most) list.resize(most);
    for (const auto& [id, held] : list) {
      const model::Variable& row = rows_.at(id);
      found.variables.push_back({.id = row.id,
                                 .name = catalog_.namePath(row.debugContext),
                                 .category = row.category,
                                 .shape = row.shape,
                                 .stage = row.stage,
                                 .alwaysLive = row.alwaysLive,
                                 .bytes = Bytes(held.bytes),
                                 .most = Bytes(held.most),
                                 .units = held.units});
      place_[id] = found.variables.size() - 1;
    }
  }

  base::Status readLives(HeldVariables& found) {
    return forEachRow<model::LifeInterval>(
        source_, progress_, anyBlock, [&](const model::LifeInterval& row, std::int64_t) {
          const auto place = place_.find(row.variable.value);
          if (place == place_.end() || row.firstStep < 0 || row.endStep <= row.firstStep) return true;
          HeldVariable& variable = found.variables[place->second];
          variable.firstStep =
              variable.firstStep < 0 ? row.firstStep : std::min(variable.firstStep, row.firstStep);
          variable.endStep = std::max(variable.endStep, row.endStep);
          return true;
        });
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  model::MemorySpaceId space_;
  base::Progress& progress_;
  std::unordered_map<std::int64_t, model::Variable> rows_;
  std::unordered_map<std::int64_t, Held> held_;
  std::unordered_map<std::int64_t, std::size_t> place_;
};

}  // namespace

Result<HeldVariables> heldVariables(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable, model::MemorySpaceId space,
                                    const std::vector<std::int64_t>& units, std::size_t most,
                                    base::Progress& progress) {
  return HeldCollector(source, catalog, executable, space, progress).collect(units, most);
}

}  // namespace pipescope::analysis

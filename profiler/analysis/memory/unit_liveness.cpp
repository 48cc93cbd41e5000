#include "profiler/analysis/memory/unit_liveness.h"

#include <algorithm>
#include <unordered_map>

namespace pipescope::analysis {
namespace {

template <class Row, class Visit>
base::Status forEachRow(const model::ProfileSource& source, Visit visit) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) visit(row);
  }
  return {};
}

/// Variables of a space that lie, at least in part, on the unit.
struct OnUnit {
  std::unordered_map<std::int64_t, model::Variable> variables;
  std::unordered_map<std::int64_t, Bytes> bytes;
  bool known = false;
};

Result<OnUnit> onUnit(const model::ProfileSource& source, model::ExecutableId executable,
                      model::MemorySpaceId space, std::int64_t unit) {
  OnUnit found;
  PIPESCOPE_TRY(forEachRow<model::VariableUnits>(source, [&](const model::VariableUnits& row) {
    found.known = true;
    if (row.firstUnit <= unit && unit - row.firstUnit < row.unitCount)
      found.bytes[row.variable.value] += row.bytes;
  }));
  PIPESCOPE_TRY(forEachRow<model::Variable>(source, [&](const model::Variable& row) {
    if (row.executable == executable && row.space == space && found.bytes.contains(row.id.value))
      found.variables.emplace(row.id.value, row);
  }));
  return found;
}

/// Largest first.
std::vector<UnitVariable> described(const OnUnit& on, const std::vector<std::int64_t>& ids,
                                    const Catalog& catalog) {
  std::vector<UnitVariable> result;
  for (const std::int64_t id : ids) {
    const model::Variable& row = on.variables.at(id);
    result.push_back({row.id, catalog.namePath(row.debugContext), row.category, row.shape, row.alwaysLive,
                      on.bytes.at(id)});
  }
  std::ranges::stable_sort(result,
                           [](const UnitVariable& a, const UnitVariable& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace

Result<UnitLiveness> unitLiveness(const model::ProfileSource& source, const Catalog&,
                                  model::ExecutableId executable, model::MemorySpaceId space,
                                  std::int64_t unit) {
  PIPESCOPE_ASSIGN(const OnUnit on, onUnit(source, executable, space, unit));
  UnitLiveness result;
  result.known = on.known;
  std::int64_t steps = 0;  // counted, because a hostile file may give them any index
  PIPESCOPE_TRY(forEachRow<model::LivenessStep>(source, [&](const model::LivenessStep& row) {
    steps += row.executable == executable && row.space == space ? 1 : 0;
  }));
  std::vector<Bytes> change(static_cast<std::size_t>(steps) + 1);
  PIPESCOPE_TRY(forEachRow<model::LifeInterval>(source, [&](const model::LifeInterval& row) {
    if (!on.variables.contains(row.variable.value) || row.firstStep < 0 || row.firstStep >= row.endStep ||
        row.firstStep >= steps)
      return;
    const Bytes bytes = on.bytes.at(row.variable.value);
    change[static_cast<std::size_t>(row.firstStep)] += bytes;
    change[static_cast<std::size_t>(std::min<std::int64_t>(row.endStep, steps))] -= bytes;
  }));
  for (const auto& [id, variable] : on.variables) {
    if (variable.alwaysLive) result.alwaysLive += on.bytes.at(id);
  }
  Bytes now;
  for (std::int64_t step = 0; step < steps; ++step) {
    now += change[static_cast<std::size_t>(step)];
    result.notAlwaysLive.push_back(now);
    if (result.peakStep < 0 || now > result.notAlwaysLive[static_cast<std::size_t>(result.peakStep)])
      result.peakStep = step;
  }
  return result;
}

Result<std::vector<UnitVariable>> variablesOnUnit(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable, model::MemorySpaceId space,
                                                  std::int64_t unit, StepRange steps) {
  PIPESCOPE_ASSIGN(const OnUnit on, onUnit(source, executable, space, unit));
  std::vector<std::int64_t> live;
  for (const auto& [id, variable] : on.variables) {
    if (variable.alwaysLive) live.push_back(id);
  }
  PIPESCOPE_TRY(forEachRow<model::LifeInterval>(source, [&](const model::LifeInterval& row) {
    const auto found = on.variables.find(row.variable.value);
    if (found != on.variables.end() && !found->second.alwaysLive && steps.meets(row.firstStep, row.endStep))
      live.push_back(row.variable.value);
  }));
  std::ranges::sort(live);
  live.erase(std::unique(live.begin(), live.end()), live.end());  // their intervals may overlap
  return described(on, live, catalog);
}

Result<std::vector<UnitVariable>> variablesOfUnit(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable, model::MemorySpaceId space,
                                                  std::int64_t unit) {
  PIPESCOPE_ASSIGN(const OnUnit on, onUnit(source, executable, space, unit));
  std::vector<std::int64_t> all;
  for (const auto& entry : on.variables) all.push_back(entry.first);
  std::ranges::sort(all);
  return described(on, all, catalog);
}

}  // namespace pipescope::analysis

#include "views/pages/parts/data/liveness_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/memory/lifetimes.h"
#include "profiler/analysis/step_mean.h"
#include "profiler/sections/frame/reports.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using sections::Format;

/// A variable that is live in some of the steps.
struct LiveRow {
  std::string name, category, shape;
  std::int64_t bytes = 0, mostOnUnit = -1;  ///< −1: not known
  bool always = false;
  std::string steps;  ///< in which it is live
};

base::Result<std::vector<LiveRow>> liveRows(const sections::Context& context, const LivenessSpace& space,
                                            std::int64_t unit, analysis::StepRange steps) {
  std::vector<LiveRow> rows;
  if (unit >= 0) {
    PIPESCOPE_ASSIGN(const auto variables,
                     analysis::variablesOnUnit(context.source, context.catalog, context.executable, space.id,
                                               unit, steps));
    for (const analysis::UnitVariable& v : variables)
      rows.push_back({v.name, v.category, v.shape, v.bytes.count, -1, v.alwaysLive, {}});
    return rows;
  }
  PIPESCOPE_ASSIGN(const auto variables, analysis::liveVariables(context.source, context.catalog,
                                                                 context.executable, space.id, steps, true));
  for (const analysis::LiveVariable& v : variables) {
    rows.push_back({v.name, v.category, v.shape, v.bytes.count, v.maxUnitBytes.count, v.alwaysLive,
                    v.firstStep + 1 == v.endStep ? fmt::format("{}", v.firstStep)
                                                 : fmt::format("{}–{}", v.firstStep, v.endStep - 1)});
  }
  return rows;
}

/// The rows that are always live, or those that are not.
sections::SectionTable liveTable(const std::vector<LiveRow>& rows, const LivenessSpace& space,
                                 std::int64_t unit, bool always, std::int64_t& all) {
  const bool ofSpace = unit < 0, units = ofSpace && !space.unitName.empty();
  sections::SectionTable table{always ? "always_live" : "live_now",
                               always ? "Always live" : "Not always live",
                               {},
                               {{"name", "Variable", Format::plain, "name path"},
                                {"bytes", "Bytes", Format::bytes, ""},
                                {"share", "Share", Format::fraction, "of the bytes of this table"}},
                               {}};
  // The largest part of each row may lie on another unit, so a group has no sum of them.
  if (units) {
    table.columns.push_back({"max_unit", "Most on a " + space.unitName, Format::bytes,
                             "on the " + space.unitName + " that holds most of it"});
  }
  table.columns.push_back({"category", "Category", Format::plain, ""});
  table.columns.push_back({"shape", "Shape", Format::plain, ""});
  if (ofSpace && !always) table.columns.push_back({"live", "Live in steps", Format::plain, ""});
  all = 0;
  for (const LiveRow& row : rows) all += row.always == always ? row.bytes : 0;
  for (const LiveRow& row : rows) {
    if (row.always != always) continue;
    std::vector<sections::Cell> cells = {
        row.name, row.bytes, all > 0 ? static_cast<double>(row.bytes) / static_cast<double>(all) : 0.0};
    if (units) cells.push_back(row.mostOnUnit);
    cells.push_back(memoryWords(row.category).toStdString());
    cells.push_back(row.shape);
    if (ofSpace && !always) cells.push_back(row.steps);
    table.rows.push_back(std::move(cells));
  }
  table.basis = fmt::format("{} in all{}", formatCell(all, Format::bytes),
                            unit >= 0 ? fmt::format(" on {} {}", space.unitName, unit)
                            : units   ? fmt::format(", sum over {}s", space.unitName)
                                      : std::string());
  return table;
}

/// Rows whose category begins with "vertex", without the columns that vertices do not have.
void addLiveVertices(sections::SectionTable& vertices, const sections::SectionTable& table) {
  const auto column = [&](const sections::SectionTable& of, const char* key) {
    return static_cast<std::size_t>(std::ranges::find(of.columns, key, &sections::SectionColumn::key) -
                                    of.columns.begin());
  };
  const std::size_t category = column(table, "category");
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[category]).rfind("vertex", 0) != 0) continue;
    std::vector<sections::Cell> cells;
    for (const sections::SectionColumn& wanted : vertices.columns)
      cells.push_back(row[column(table, wanted.key.c_str())]);
    vertices.rows.push_back(std::move(cells));
  }
}

}  // namespace

std::optional<double> livenessLimit(const LivenessSpace& space, bool single, std::int64_t most) {
  constexpr double kFarLimit = 10;
  const double units = single ? 1.0 : static_cast<double>(space.units);
  const double limit = static_cast<double>(space.bytesPerUnit) * units;
  return static_cast<double>(most) * kFarLimit >= limit ? std::optional(limit) : std::nullopt;
}

base::Result<LivenessData> collectLiveness(const sections::Context& context, const LivenessChoice& choice) {
  LivenessData content;
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  for (const analysis::DeviceMemory& device : memory->devices) {
    if (device.peakStep < 0) continue;
    const model::DeviceId id(device.index);
    const model::Device* row = context.catalog.device(id);
    content.spaces.push_back({device.space, id, text(device.name),
                              row != nullptr && device.units > 1 ? row->unitName : std::string(),
                              device.units, device.bytesPerUnit.count, device.worstUnit,
                              device.bytesPerUnit.count > 0
                                  ? static_cast<double>(device.maxUnitIncludingGaps.count) /
                                        static_cast<double>(device.bytesPerUnit.count)
                                  : 0.0});
  }
  if (content.spaces.empty()) return content;
  const auto found = std::find_if(content.spaces.begin(), content.spaces.end(),
                                  [&](const LivenessSpace& space) { return space.id == choice.space; });
  content.shown = found != content.spaces.end()
                      ? *found
                      : *std::ranges::max_element(content.spaces, {}, &LivenessSpace::fullness);
  PIPESCOPE_ASSIGN(content.liveness,
                   analysis::liveness(context.source, context.catalog, context.executable, content.shown.id));
  for (const analysis::LivenessPoint& step : content.liveness.steps) {
    content.names.push_back(text(context.catalog.programPath(step.program)));
  }
  if (!choice.single || content.shown.units <= 1) return content;
  content.unit = choice.unit.value_or(content.shown.fullestUnit);
  if (content.unit < 0 || content.unit >= content.shown.units) {
    return base::badInput(fmt::format("{} has {}s 0 to {}; there is no {} {}.",
                                      content.shown.name.toStdString(), content.shown.unitName,
                                      content.shown.units - 1, content.shown.unitName, content.unit));
  }
  PIPESCOPE_ASSIGN(content.ofUnit, analysis::unitLiveness(context.source, context.catalog, context.executable,
                                                          content.shown.id, content.unit));
  return content;
}

base::Result<LiveTables> liveTables(const sections::Context& context, const LivenessSpace& space,
                                    std::int64_t unit, analysis::StepRange steps) {
  PIPESCOPE_ASSIGN(const std::vector<LiveRow> rows, liveRows(context, space, unit, steps));
  LiveTables made;
  const sections::SectionTable now = liveTable(rows, space, unit, false, made.bytesNow),
                               always = liveTable(rows, space, unit, true, made.bytesAlways);
  made.vertices = {"vertices",
                   "Live vertices",
                   now.basis.substr(now.basis.find(" in all") + 7),
                   {{"name", "Variable", Format::plain, "name path"},
                    {"bytes", "Bytes", Format::bytes, ""},
                    {"category", "Category", Format::plain, ""}},
                   {}};
  for (const auto* table : {&now, &always}) addLiveVertices(made.vertices, *table);
  made.now = treeOfPaths(now);
  made.always = treeOfPaths(always);
  for (TreeRows* tree : {&made.now, &made.always}) tree->shape = shapeOf(*tree);
  return made;
}

base::Result<LifeRows> lifeRows(const sections::Context& context, const LivenessSpace& space,
                                base::Progress& progress) {
  constexpr std::size_t kMostLives = 300;
  PIPESCOPE_ASSIGN(analysis::Lifetimes lives,
                   analysis::lifetimes(context.source, context.catalog, context.executable, space.id,
                                       kMostLives, progress));
  LifeRows made;
  made.all = lives.all;
  for (analysis::VariableLife& life : lives.variables) {
    geometry::LifeRow row{
        life.name, formatCell(life.bytes.count, Format::bytes), roleOfCategory(life.category), {}};
    for (const auto& [from, to] : life.spans) row.spans.emplace_back(from, to);
    made.rows.push_back(std::move(row));
    made.categories.push_back(std::move(life.category));
  }
  return made;
}

sections::SectionTable cyclesTable(const std::optional<analysis::ProgramPlace>& place,
                                   const LivenessSpace& space, const geometry::TimeScale& scale) {
  const bool cycles = scale.unit == geometry::TimeUnit::cycles;
  sections::SectionTable table{
      "cycles",
      cycles ? "Cycles of the step" : "Time of the step",
      "estimated by the device model, per execution",
      {{"figure", "Figure", Format::plain, ""}, {"value", "Value", Format::plain, ""}},
      {}};
  if (!place || !place->found) {
    table.basis = "this program step takes no time on the trace, or steps were not recorded";
    return table;
  }
  const model::Step& step = place->step;
  const auto count = [](std::int64_t value) { return geometry::groupedNumber(value); };
  const auto time = [&](std::int64_t ticks) {
    return cycles ? count(ticks) : formatDuration(base::Ticks(ticks), scale);
  };
  table.rows = {
      {"Program", place->kind}, {"Kind", model::toString(step.kind)}, {"Length", time(step.ticks.count)}};
  if (!space.unitName.empty()) {
    table.rows.push_back({"Active " + space.unitName + "s", count(step.activeUnits)});
    table.rows.push_back({"Fastest active " + space.unitName, time(step.minTicks.count)});
    table.rows.push_back({"Mean over active " + space.unitName + "s",
                          time(std::llround(analysis::meanOfActive(step, space.units)))});
    table.rows.push_back({"Slowest active " + space.unitName, time(step.maxTicks.count)});
  }
  table.rows.push_back({"Received", formatCell(step.bytesIn.count, Format::bytes)});
  table.rows.push_back({"Sent", formatCell(step.bytesOut.count, Format::bytes)});
  return table;
}

}  // namespace pipescope::pages

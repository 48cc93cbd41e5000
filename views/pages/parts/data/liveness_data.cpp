#include "views/pages/parts/data/liveness_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/step_mean.h"
#include "profiler/sections/frame/reports.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using sections::Format;

sections::SectionTable emptyTable(const std::string& basis, const char* most) {
  sections::SectionTable table{
      "variables",
      "Live variables",
      basis,
      {{"name", "Variable", Format::plain, "name path"}, {"bytes", "Bytes", Format::bytes, ""}},
      {}};
  if (most != nullptr) table.columns.push_back({"max_unit", most, Format::bytes, ""});
  table.columns.push_back({"category", "Category", Format::plain, ""});
  table.columns.push_back({"shape", "Shape", Format::plain, ""});
  return table;
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
                              device.maxUnitIncludingGaps.count - device.bytesPerUnit.count});
  }
  if (content.spaces.empty()) return content;
  const auto found = std::find_if(content.spaces.begin(), content.spaces.end(),
                                  [&](const LivenessSpace& space) { return space.id == choice.space; });
  const auto lack = [](const LivenessSpace& space) { return std::max<std::int64_t>(0, space.tooMuch); };
  content.shown =
      found != content.spaces.end() ? *found : *std::ranges::max_element(content.spaces, {}, lack);
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

base::Result<sections::SectionTable> liveVariableTable(const sections::Context& context,
                                                       const LivenessSpace& space, std::int64_t unit,
                                                       std::int32_t step, bool withAlwaysLive) {
  if (unit >= 0) {
    PIPESCOPE_ASSIGN(
        const auto variables,
        analysis::variablesOnUnit(context.source, context.catalog, context.executable, space.id, unit, step));
    sections::SectionTable table = emptyTable(fmt::format("on {} {}", space.unitName, unit), nullptr);
    table.columns.push_back({"live", "Live", Format::plain, ""});
    for (const analysis::UnitVariable& v : variables) {
      if (!v.alwaysLive || withAlwaysLive)
        table.rows.push_back({v.name, v.bytes.count, memoryWords(v.category).toStdString(), v.shape,
                              std::string(v.alwaysLive ? "always" : "now")});
    }
    return table;
  }
  PIPESCOPE_ASSIGN(const auto variables,
                   analysis::liveVariables(context.source, context.catalog, context.executable, space.id,
                                           step, withAlwaysLive));
  const bool units = !space.unitName.empty();
  const std::string most = "Most on a " + space.unitName;
  sections::SectionTable table =
      emptyTable(units ? "sum over the device's " + space.unitName + "s" : std::string(),
                 units ? most.c_str() : nullptr);
  table.columns.push_back({"live", "Live in steps", Format::plain, ""});
  for (const analysis::LiveVariable& v : variables) {
    std::vector<sections::Cell> row = {v.name, v.bytes.count};
    if (units) row.push_back(v.maxUnitBytes.count);
    row.push_back(memoryWords(v.category).toStdString());
    row.push_back(v.shape);
    row.push_back(v.alwaysLive                   ? std::string("always")
                  : v.firstStep + 1 == v.endStep ? fmt::format("{}", v.firstStep)
                                                 : fmt::format("{}–{}", v.firstStep, v.endStep - 1));
    table.rows.push_back(std::move(row));
  }
  return table;
}

sections::SectionTable liveVertices(const sections::SectionTable& variables) {
  sections::SectionTable vertices = variables;
  vertices.key = "vertices";
  vertices.title = "Live vertices";
  const auto category = static_cast<std::size_t>(
      std::find_if(vertices.columns.begin(), vertices.columns.end(),
                   [](const sections::SectionColumn& column) { return column.key == "category"; }) -
      vertices.columns.begin());
  std::erase_if(vertices.rows, [&](const std::vector<sections::Cell>& row) {
    return std::get<std::string>(row[category]).rfind("vertex", 0) != 0;
  });
  return vertices;
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

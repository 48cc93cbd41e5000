#include "profiler/analysis/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace pipescope::analysis {
namespace {

template <class Row>
base::Status load(const model::ProfileSource& source, std::vector<Row>& into) {
  const Result<model::Rows<Row>> rows = source.rows<Row>();
  if (!rows.ok()) return rows.error();  // The sentence names the table.
  into = **rows;
  return {};
}

template <class Id, class Row>
base::Status load(const model::ProfileSource& source, base::IdVector<Id, Row>& into) {
  std::vector<Row> rows;
  PIPESCOPE_TRY(load(source, rows));
  into = std::move(rows);
  return {};
}

template <class Id, class Row>
base::Status loadLazily(const model::ProfileSource& source, LazyTable<Id, Row>& into) {
  return into.load(source);
}

/// The number that a property states; 1 where there is none.
std::int64_t statedCount(const std::string& text) {
  std::int64_t count = 1;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return std::clamp<std::int64_t>(count, 1, 1024);
}

}  // namespace

Result<std::shared_ptr<const Catalog>> loadCatalog(const model::ProfileSource& source) {
  auto catalog = std::make_shared<Catalog>();
  catalog->revision = source.revision();
  PIPESCOPE_ASSIGN(catalog->state, source.state());
  std::vector<model::Target> targets;
  PIPESCOPE_TRY(load(source, catalog->properties));
  PIPESCOPE_TRY(load(source, catalog->configuration));
  PIPESCOPE_TRY(load(source, targets));
  PIPESCOPE_TRY(load(source, catalog->devices));
  PIPESCOPE_TRY(load(source, catalog->links));
  PIPESCOPE_TRY(load(source, catalog->lanes));
  PIPESCOPE_TRY(load(source, catalog->memorySpaces));
  PIPESCOPE_TRY(load(source, catalog->executables));
  PIPESCOPE_TRY(load(source, catalog->stages));
  PIPESCOPE_TRY(load(source, catalog->boundaries));
  PIPESCOPE_TRY(loadLazily(source, catalog->debugContexts));
  PIPESCOPE_TRY(loadLazily(source, catalog->operators));
  PIPESCOPE_TRY(loadLazily(source, catalog->programs));
  PIPESCOPE_TRY(load(source, catalog->segments));
  PIPESCOPE_TRY(load(source, catalog->runs));
  PIPESCOPE_TRY(load(source, catalog->outcomes));
  PIPESCOPE_TRY(load(source, catalog->counters));
  PIPESCOPE_TRY(load(source, catalog->diagnostics));
  if (!targets.empty()) catalog->target = targets.front();
  return std::shared_ptr<const Catalog>(std::move(catalog));
}

std::string Catalog::namePath(model::DebugContextId id) const {
  constexpr std::size_t kDeepest = 64;
  std::vector<std::string> names;  // from the end of the path to its beginning; a damaged row has none
  for (std::size_t depth = 0; depth < kDeepest && debugContexts.contains(id); ++depth) {
    model::DebugContextId parent;
    std::string& name = names.emplace_back();
    debugContexts.visit(id, [&](const model::DebugContext& context) {
      name = context.name;
      parent = context.parent;
    });
    if (names.size() == 1 && name.empty()) names.pop_back();
    id = parent;
  }
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (name != names.rbegin()) path += '/';
    path += *name;
  }
  return path;
}

std::string Catalog::property(std::string_view key) const {
  for (const model::Property& row : properties) {
    if (row.key == key) return row.value;
  }
  return {};
}

std::int64_t Catalog::plannedCalls(model::ExecutableId id) const {
  const std::string value = property(model::plannedCallsProperty(id, 0).key);
  std::int64_t calls = 0;
  std::from_chars(value.data(), value.data() + value.size(), calls);
  return calls;
}

const model::Executable* Catalog::executable(model::ExecutableId id) const {
  return executables.find(id);
}
std::int64_t Catalog::pipesOf(model::ExecutableId id) const {
  return statedCount(property("pipes." + std::to_string(id.value)));
}
std::int64_t Catalog::microBatchesOfStage(model::ExecutableId id) const {
  const model::Executable* known = executable(id);
  return known == nullptr ? 0 : std::max<std::int64_t>(known->microBatches, 0) / pipesOf(id);
}
std::int64_t Catalog::widthOf(model::ExecutableId id) const {
  return statedCount(property("width." + std::to_string(id.value)));
}
std::int64_t Catalog::placeStrideOf(model::ExecutableId id) const {
  return std::max(widthOf(id), statedCount(property("place_stride." + std::to_string(id.value))));
}
std::string Catalog::divisionOf(model::ExecutableId id) const {
  const std::int64_t width = widthOf(id);
  if (width == 1) return {};
  std::set<model::DeviceId> places;
  for (const model::Stage* stage : stagesOf(id)) places.insert(stage->device);
  const std::string axes = property("axes." + std::to_string(id.value));
  const model::Executable* row = executable(id);
  return fmt::format("dp {} × pp {} × {}", row == nullptr ? 1 : row->replicas, places.size(),
                     axes.empty() ? "tp " + std::to_string(width) : axes);
}
const model::Device* Catalog::device(model::DeviceId id) const {
  return devices.find(id);
}

model::DeviceId Catalog::deviceOf(model::LaneId lane) const {
  const model::Lane* row = lanes.find(lane);
  return row == nullptr ? model::DeviceId() : row->device;
}

model::LaneRole Catalog::roleOf(model::LaneId lane) const {
  const model::Lane* row = lanes.find(lane);
  return row == nullptr ? model::LaneRole::compute : row->role;
}

std::string Catalog::laneTitle(model::LaneRole role) const {
  std::string title = property(model::laneTitleProperty(role, {}).key);
  return title.empty() ? model::toString(role) : title;
}

std::string Catalog::programPath(model::ProgramId id) const {
  return programs.contains(id) ? namePath(programs[id].debugContext) : std::string();
}

base::Timebase Catalog::timebase(model::DeviceId id) const {
  const model::Device* row = device(id);
  if (row == nullptr && !devices.empty()) row = &devices.front();
  return row != nullptr && row->ticksPerSecond > 0 ? base::Timebase{row->ticksPerSecond} : base::Timebase{};
}

Ticks Catalog::toAxis(model::DeviceId device, Ticks ticks) const {
  return base::convertRoundUp(ticks, timebase(device), timebase(model::DeviceId(0)));
}

Result<const model::Executable*> Catalog::findExecutable(std::string_view name) const {
  if (executables.empty())
    return base::badInput("The profile has no executable: its run ended before anything was compiled.");
  if (name.empty()) return &executables.front();
  std::string known;
  for (const model::Executable& row : executables) {
    if (row.name == name) return &row;
    known += (known.empty() ? "" : ", ") + row.name;
  }
  return base::badInput(fmt::format("The profile has no executable \"{}\"; it has {}.", name, known));
}

std::vector<const model::Stage*> Catalog::stagesOf(model::ExecutableId id) const {
  std::vector<const model::Stage*> found;
  for (const model::Stage& stage : stages) {
    if (stage.executable == id) found.push_back(&stage);
  }
  return found;
}

std::vector<const model::Run*> Catalog::runsOf(model::ExecutableId id) const {
  std::vector<const model::Run*> found;
  for (const model::Run& run : runs) {
    if (run.executable == id) found.push_back(&run);
  }
  return found;
}

std::int64_t Catalog::callNumber(model::RunId id) const {
  if (!runs.contains(id)) return 0;
  std::int64_t number = 0;
  for (const model::Run* run : runsOf(runs[id].executable)) {
    ++number;
    if (run->id == id) return number;
  }
  return 0;
}

const model::Run* Catalog::lastRunOf(model::ExecutableId id) const {
  const std::vector<const model::Run*> all = runsOf(id);
  return all.empty() ? nullptr : all.back();
}

Result<const model::Run*> Catalog::findCall(const model::Executable& executable, std::int64_t number) const {
  const std::vector<const model::Run*> all = runsOf(executable.id);
  const auto calls = static_cast<std::int64_t>(all.size());
  if (number >= 1 && number <= calls) return all[static_cast<std::size_t>(number - 1)];
  if (calls == 0) return base::badInput(fmt::format("{} was never called.", executable.name));
  return base::badInput(
      fmt::format("{} has no call {}; its calls are 1 to {}.", executable.name, number, calls));
}

std::optional<double> Catalog::outcome(model::ExecutableId id, std::string_view name) const {
  for (const model::Outcome& row : outcomes) {
    if (row.executable == id && row.name == name) return row.value;
  }
  return std::nullopt;
}

}  // namespace pipescope::analysis

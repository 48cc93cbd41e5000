#include "profiler/sections/frame/words.h"

#include <algorithm>

#include "profiler/analysis/device_places.h"

namespace pipescope::sections {
namespace {

/// The lanes that copy data on devices whose engines work in parallel: "DMA, NIC" of a Gaudi. Empty for other
/// devices.
std::string copyEngines(const analysis::Catalog& catalog) {
  std::string names;
  for (const model::LaneRole role : {model::LaneRole::copy, model::LaneRole::network}) {
    const bool has = std::any_of(catalog.lanes.begin(), catalog.lanes.end(),
                                 [&](const model::Lane& lane) { return lane.role == role; });
    if (has) names += (names.empty() ? "" : ", ") + catalog.laneTitle(role);
  }
  return names;
}

template <class Enum>
PartNames namesUpTo(Enum last) {
  PartNames names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.push_back(model::toString(static_cast<Enum>(i)));
  return names;
}

}  // namespace

PartNames waitCauseNames() {
  return namesUpTo(model::WaitCause::update);
}
PartNames stepKindNames() {
  return namesUpTo(model::StepKind::remoteCopy);
}
PartNames laneNames() {
  PartNames names;
  for (int i = 0; i <= static_cast<int>(model::LaneRole::network); ++i)
    names.push_back(model::laneKey(static_cast<model::LaneRole>(i)));
  return names;
}

Cell deviceIndexCell(model::DeviceId id) {
  return id.valid() ? Cell(id.value) : Cell();
}

Cell deviceNameCell(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

ShownTime shownTime(model::TickMeaning meaning, std::int64_t ticksPerSecond) {
  switch (meaning) {
    case model::TickMeaning::cost:
      return {static_cast<double>(ticksPerSecond), "cost units"};
    case model::TickMeaning::time:
      return {static_cast<double>(ticksPerSecond) * 1e-6, "µs"};
    case model::TickMeaning::clockCycle:
      break;
  }
  return figures::shownCycles(static_cast<double>(ticksPerSecond));
}

std::string Words::basis(const std::string& what) const {
  if (time.isCycles()) return what;
  return (what.empty() ? "times in " : what + "; times in ") + time.unit;
}

std::string Words::overTiles(const std::string& before) const {
  if (!tiles) return before;
  return before.empty() ? "sum over tiles" : before + ", sum over tiles";
}

bool hostTakesTime(const analysis::Catalog& catalog) {
  return std::any_of(catalog.configuration.begin(), catalog.configuration.end(), [](const auto& row) {
    const bool states = row.path == "data.loader_rate" || row.path.starts_with("host.seconds_per_");
    return states && row.value != "0.0" && row.value != "0";
  });
}

Cell hostCell(const analysis::Catalog& catalog, model::ExecutableKind kind) {
  if (catalog.measured() || catalog.target.tickMeaning == model::TickMeaning::cost) return {};
  const auto named = [&](const char* path) {
    for (const model::ConfigurationEntry& row : catalog.configuration) {
      if (row.path == path && row.value.size() > 2) return row.value.substr(1, row.value.size() - 2);
    }
    return std::string();
  };
  std::string host = named("host.name");
  if (const std::string own = named("inference.host");
      !own.empty() && kind != model::ExecutableKind::training)
    host = own;
  if (host == "none") return "no host stated";
  if (!host.empty()) return host;
  return hostTakesTime(catalog) ? "stated by keys" : "no host stated";
}

Words wordsFor(const ShownTime& time) {
  Words words;
  words.time = time;
  return words;
}

Words wordsOf(const analysis::Catalog& catalog) {
  Words words;
  words.time = shownTime(catalog.target.tickMeaning, catalog.timebase({}).ticksPerSecond);
  words.bytes = catalog.target.tickMeaning != model::TickMeaning::cost;
  words.tiles = std::any_of(catalog.devices.begin(), catalog.devices.end(),
                            [](const model::Device& device) { return device.units > 1; });
  if (const std::string engines = copyEngines(catalog); !engines.empty()) words.exchange = engines;
  return words;
}

}  // namespace pipescope::sections

#include "profiler/analysis/waits.h"

#include <fmt/format.h>

#include <map>

#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

std::string deviceName(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

Table waitTable(const analysis::Catalog& catalog, const std::vector<analysis::WaitGroup>& groups) {
  Table table{"waits", "Waits", "cycles per iteration; share of the call", {}, {}};
  table.columns = {{"device", "Device", Format::plain, ""},
                   {"waits_for", "Waits for", Format::plain, ""},
                   {"stage", "Stage", Format::plain, "stage waited for"},
                   {"cause", "Cause", Format::plain, ""},
                   {"cycles", "Cycles", Format::ticks, ""},
                   {"count", "Count", Format::plain, "waits per iteration"},
                   {"share", "Share", Format::fraction, "of the call's time"}};
  for (const analysis::WaitGroup& g : groups) {
    table.rows.push_back({deviceName(catalog, g.device), deviceName(catalog, g.waitedForDevice),
                          g.waitedForStage < 0 ? Cell() : Cell(static_cast<std::int64_t>(g.waitedForStage)),
                          model::toString(g.cause), g.ticksPerIteration, g.countPerIteration, g.share});
  }
  return table;
}

/// The critical path summed by what it consists of.
Table pathTable(const std::vector<analysis::CriticalLink>& path) {
  Table table{"critical_path", "Critical path", "last call; adds up to its length", {}, {}};
  table.columns = {{"what", "What", Format::plain, ""},
                   {"stage", "Stage", Format::plain, ""},
                   {"cycles", "Cycles", Format::ticks, ""},
                   {"links", "Links", Format::plain, ""}};
  std::map<std::pair<std::string, int>, std::pair<std::int64_t, std::int64_t>> sums;
  for (const analysis::CriticalLink& link : path) {
    std::string what = link.kind == analysis::CriticalLink::Kind::call ? "host call" : "exchange";
    if (link.kind == analysis::CriticalLink::Kind::placement) what = model::toString(link.pass);
    auto& [ticks, count] =
        sums[{what, link.kind == analysis::CriticalLink::Kind::placement ? link.stage : -1}];
    ticks += (link.end - link.start).count;
    ++count;
  }
  for (const auto& [key, sum] : sums) {
    table.rows.push_back({key.first, key.second < 0 ? Cell() : Cell(static_cast<std::int64_t>(key.second)),
                          sum.first, sum.second});
  }
  return table;
}

base::Result<Section> makeWaits(const Context& context) {
  PIPESCOPE_ASSIGN(const auto groups,
                   analysis::waitGroups(context.source, context.catalog, context.executable));
  Section section{"waits", "Waits", {}, {waitTable(context.catalog, groups)}, {}};
  const model::Run* run = context.catalog.lastRunOf(context.executable);
  if (run == nullptr) {
    section.remarks.push_back("Nothing has run.");
    return section;
  }
  PIPESCOPE_ASSIGN(const auto path, analysis::criticalPath(context.source, context.catalog, run->id));
  std::int64_t sum = 0;
  for (const analysis::CriticalLink& link : path) sum += (link.end - link.start).count;
  section.facts.push_back({"critical_path_cycles", "Critical path", sum, Format::ticks,
                           "Sum of its links: the length of the last call."});
  section.tables.push_back(pathTable(path));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(waits) {
  registry.add({"waits", "Waits", "Who waits for whom and why; the critical path", 40, makeWaits});
}

}  // namespace pipescope::sections

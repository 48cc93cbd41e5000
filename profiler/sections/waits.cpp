#include "profiler/analysis/pipeline/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "profiler/sections/section.h"
#include "profiler/sections/wording.h"

namespace pipescope::sections {
namespace {

std::string deviceName(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

/// "412 k": three significant digits and a thousand's prefix.
std::string shortCount(double value) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

/// Whether the host prepares samples at a rate that may hold devices up.
bool hasLoader(const analysis::Catalog& catalog) {
  return std::any_of(catalog.configuration.begin(), catalog.configuration.end(), [](const auto& row) {
    return row.path == "data.loader_rate" && row.value != "0.0" && row.value != "0";
  });
}

/// What is waited for, and why: "stage 3: slower stage".
std::string reason(const analysis::Catalog& catalog, const analysis::WaitGroup& g) {
  const std::string stage = g.waitedForStage < 0 ? "" : fmt::format("stage {}", g.waitedForStage);
  switch (g.cause) {
    case model::WaitCause::fill:
      return stage.empty() ? "its first micro-batch: fill"
                           : fmt::format("its first micro-batch from {}: fill", stage);
    case model::WaitCause::drain:
      return stage.empty() ? "the end of the step: drain" : fmt::format("{} to end the step: drain", stage);
    case model::WaitCause::slowerStage:
      return fmt::format("{}: slower stage", stage.empty() ? "another device" : stage);
    case model::WaitCause::exchange:
      return g.device == g.waitedForDevice || stage.empty() ? "copies between devices: exchange"
                                                            : fmt::format("data of {}: exchange", stage);
    case model::WaitCause::collective:
      return "the other replicas: collective";
    case model::WaitCause::host:
      return hasLoader(catalog) ? "the host: call, input pipeline" : "the host: call";
    case model::WaitCause::update:
      return stage.empty() ? "another device's weight update" : fmt::format("the weight update of {}", stage);
  }
  return model::toString(g.cause);
}

std::string sentence(const Context& context, const analysis::WaitGroup& g) {
  const TickUnit unit = tickUnitOf(context.catalog);
  return fmt::format("{} waits {} {} per step for {}.", deviceName(context.catalog, g.device),
                     shortCount(g.ticksPerIteration / unit.ticks), unit.word, reason(context.catalog, g));
}

/// The longest waits in words.
void remarkLongest(const Context& context, const std::vector<analysis::WaitGroup>& groups, Section& section) {
  constexpr std::size_t kMostSentences = 5;
  constexpr double kLeastShare = 0.01;
  for (const analysis::WaitGroup& g : groups) {
    if (section.remarks.size() == kMostSentences || g.share < kLeastShare) return;
    section.remarks.push_back(sentence(context, g));
  }
}

Table waitTable(const Context& context, const std::vector<analysis::WaitGroup>& groups) {
  const analysis::Catalog& catalog = context.catalog;
  Table table{"waits", "Waits", "cycles per iteration; share of the call", {}, {}};
  table.columns = {{"device", "Device", Format::plain, ""},
                   {"waits_for", "Waits for", Format::plain, ""},
                   {"stage", "Stage", Format::plain, "stage waited for"},
                   {"cause", "Cause", Format::plain, ""},
                   {"cycles", "Cycles", Format::ticks, ""},
                   {"count", "Count", Format::plain, "waits per iteration"},
                   {"share", "Share", Format::fraction, "of the call's time"},
                   {"sentence", "In words", Format::plain, "", false}};
  for (const analysis::WaitGroup& g : groups) {
    // Of a collective only the device's own part is recorded.
    const bool replicas = g.cause == model::WaitCause::collective && g.waitedForDevice == g.device;
    table.rows.push_back(
        {deviceName(catalog, g.device), replicas ? "other replicas" : deviceName(catalog, g.waitedForDevice),
         g.waitedForStage < 0 ? Cell() : Cell(static_cast<std::int64_t>(g.waitedForStage)),
         model::toString(g.cause), g.ticksPerIteration, g.countPerIteration, g.share, sentence(context, g)});
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
  Section section{"waits", "Waits", {}, {waitTable(context, groups)}, {}};
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
  remarkLongest(context, groups, section);
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(waits) {
  registry.add({"waits", "Waits", "Who waits for whom and why; the critical path", 40, makeWaits});
}

}  // namespace pipescope::sections

#include "profiler/analysis/pipeline/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

std::string deviceName(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

/// The reason of waits in messages with a rank whose trace is missing.
constexpr const char* kUnknownSide = "other side not recorded";

/// The end of the sentence "IPU2 waits 281,000 cycles per iteration …".
std::string reason(const analysis::Catalog& catalog, const analysis::WaitGroup& g) {
  const bool known = g.waitedForStage >= 0;
  const std::string stage = fmt::format("stage {}", g.waitedForStage);
  switch (g.cause) {
    case model::WaitCause::fill:
      return known ? fmt::format("for its first micro-batch from {} (fill)", stage)
                   : "for its first micro-batch (fill)";
    case model::WaitCause::drain:
      return known ? fmt::format("until {} ends the flush (drain)", stage)
                   : "for the end of the flush (drain)";
    case model::WaitCause::slowerStage:
      if (g.reason == "late receiver")
        return fmt::format("because {} computes and does not receive yet (late receiver)",
                           known ? stage : "another device");
      return fmt::format("because {} is slower", known ? stage : "another device");
    case model::WaitCause::exchange:
      if (g.device == g.waitedForDevice)
        return "until the copies of the other devices end, because all begin the next pipeline cycle "
               "together "
               "(exchange)";
      if (known) return fmt::format("for data from {} (exchange)", stage);
      return g.reason == kUnknownSide ? "for messages whose other side is not in the trace: it was late, or "
                                        "the transfer took as long"
                                      : "for copies between devices (exchange)";
    case model::WaitCause::collective:
      if (g.sharedLinks)
        return fmt::format("because its {}collectives share links with what others send (collective)",
                           g.axis ? model::toString(*g.axis) + " " : "");
      return g.axis == model::MeshAxis::pipe
                 ? fmt::format("for {}, whose device adds up the gradients of the same weight (collective)",
                               stage)
                 : "for the other replicas (collective)";
    case model::WaitCause::host:
      if (g.waitedForDevice == g.device && g.device.valid())
        return "while others compute on the cores that it shares with them";
      if (catalog.measured())
        return g.reason == "input pipeline"
                   ? "for the next batch or the host (input pipeline)"
                   : "for the host, which has not started the next pass (host launch)";
      return hostTakesTime(catalog) ? "for the host: its calls, its own work or its input pipeline"
                                    : "for the host's call";
    case model::WaitCause::update:
      return known ? fmt::format("for the weight update of {}", stage) : "for another device's weight update";
  }
  return "for " + model::toString(g.cause);
}

/// Names the thing that a device waits for if the wait names the device itself: its own part is done, and
/// that of others is not. Empty if the wait names something else.
const char* othersPart(const analysis::WaitGroup& g) {
  if (g.reason == kUnknownSide) return "not recorded";
  if (g.waitedForDevice != g.device) return "";
  if (g.cause == model::WaitCause::collective) return g.sharedLinks ? "shared links" : "other replicas";
  return g.cause == model::WaitCause::exchange ? "copies of others" : "";
}

std::string sentence(const Context& context, const analysis::WaitGroup& g) {
  const ShownTime time = wordsOf(context.catalog).time;
  const std::string text = fmt::format("{} waits {} per iteration {}.", deviceName(context.catalog, g.device),
                                       timeText(g.ticksPerIteration, time), reason(context.catalog, g));
  if (g.blockedPerIteration < 0.01 * g.ticksPerIteration || g.blockedPerIteration <= 0) return text;
  return text +
         fmt::format(
             " During {} of it the receive blocks work behind it in the same communication queue whose "
             "input is ready.",
             timeText(g.blockedPerIteration, time));
}

/// Describes the longest waits in words.
void remarkLongest(const Context& context, const std::vector<analysis::WaitGroup>& groups, Section& section) {
  constexpr std::size_t kMostSentences = 5;
  constexpr double kLeastShare = 0.01;
  for (const analysis::WaitGroup& g : groups) {
    if (section.remarks.size() == kMostSentences || g.share < kLeastShare) return;
    section.remarks.push_back(sentence(context, g));
  }
}

SectionTable waitTable(const Context& context, const std::vector<analysis::WaitGroup>& groups) {
  const analysis::Catalog& catalog = context.catalog;
  const Words words = wordsOf(catalog);
  SectionTable table{"waits", "Waits", words.per("iteration; share of the call"), {}, {}};
  table.columns = {
      {"device", "Index", Format::index, "Device index", false},
      {"device_name", "Device", Format::plain, ""},
      {"waits_for", "Waits for", Format::plain,
       "a device, the host, other replicas, or copies between other devices"},
      {"waits_for_device", "Index", Format::index, "Device index", false},
      {"stage", "Stage", Format::index, "stage waited for"},
      {"cause", "Cause", Format::plain, ""},
      {"axis", "Axis", Format::plain, "of the mesh, along which the collective runs"},
      {"cycles", words.cycles(), Format::ticks, ""},
      {"count", "Count", Format::amount, "waits per iteration"},
      {"share", "Share", Format::fraction, "of the call's time"},
      {"reason", "Reason", Format::plain, "of a recorded run", catalog.measured()},
      {"blocked_cycles", "Blocks ready work", Format::ticks,
       "part during which a later pass, whose receive stands behind the one that is waited for, had "
       "its input; of a recorded run",
       catalog.measured()},
      {"sentence", "In words", Format::plain, "", false}};
  for (const analysis::WaitGroup& g : groups) {
    const std::string others = othersPart(g);
    table.rows.push_back({deviceIndexCell(g.device), deviceName(catalog, g.device),
                          others.empty() ? deviceName(catalog, g.waitedForDevice) : others,
                          others.empty() ? deviceIndexCell(g.waitedForDevice) : Cell(),
                          g.waitedForStage < 0 ? Cell() : Cell(static_cast<std::int64_t>(g.waitedForStage)),
                          model::toString(g.cause), g.axis ? Cell(model::toString(*g.axis)) : Cell(),
                          g.ticksPerIteration, g.countPerIteration, g.share,
                          catalog.measured() ? Cell(g.reason) : Cell(),
                          catalog.measured() ? Cell(g.blockedPerIteration) : Cell(), sentence(context, g)});
  }
  hideUnused(table, {"axis"});
  return table;
}

/// The table of the critical path, summed by pass, exchange and call.
SectionTable pathTable(const std::vector<analysis::CriticalLink>& path, const Words& words) {
  constexpr std::size_t kPathCycles = 2;
  SectionTable table{"critical_path",
                     "Critical path",
                     words.basis("last call; adds up to its length, largest first"),
                     {},
                     {}};
  table.columns = {{"what", "What", Format::plain, ""},
                   {"stage", "Stage", Format::index, ""},
                   {"cycles", words.cycles(), Format::ticks, ""},
                   {"links", "Links", Format::index, ""}};
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
  std::ranges::stable_sort(table.rows, [](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[kPathCycles]) > std::get<std::int64_t>(b[kPathCycles]);
  });
  return table;
}

/// Adds the length of the critical path and its parts.
void addPath(const std::vector<analysis::CriticalLink>& path, const model::Run* run, bool known,
             Section& section) {
  const analysis::PathSums parts =
      run == nullptr ? analysis::PathSums() : analysis::pathSums(path, run->start, run->end);
  const auto add = [&](const char* key, const char* label, base::Ticks ticks, const char* doc) {
    section.facts.push_back({key, label, known ? Cell(ticks.count) : Cell(), Format::ticks, doc});
  };
  add("critical_path_cycles", "Critical path", parts.total(),
      "Sum of the path's parts; equals the length of the last call.");
  add("critical_path_compute_cycles", "  compute", parts.compute,
      "Forward, recompute, backward and weight-gradient passes on the path.");
  add("critical_path_exchange_cycles", "  exchange", parts.exchange,
      "Transfers, sync and collectives on the path.");
  add("critical_path_update_cycles", "  update", parts.update, "Weight updates on the path.");
  add("critical_path_memory_cycles", "  remote memory", parts.memory,
      "Loads and stores of remote buffers on the path.");
  add("critical_path_host_cycles", "  host", parts.host,
      "Host copies, the overhead of the call and waits for the host on the path.");
}

}  // namespace

base::Result<Section> waitsWithoutPath(const Context& context) {
  PIPESCOPE_ASSIGN(const auto groups, waitsOf(context));
  Section section{"waits", "Waits", {}, {waitTable(context, *groups)}, {}};
  showTimesIn(wordsOf(context.catalog).time, section);
  remarkLongest(context, *groups, section);
  return section;
}

namespace {

base::Result<Section> makeWaits(const Context& context) {
  PIPESCOPE_TRY(readWaitsAndPath(context));
  PIPESCOPE_ASSIGN(Section section, waitsWithoutPath(context));
  const model::Run* run = context.catalog.lastRunOf(context.executable);
  const Words words = wordsOf(context.catalog);
  PIPESCOPE_ASSIGN(const auto path, criticalPathOf(context));
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  PIPESCOPE_ASSIGN(const auto stages, stagesOf(context));
  const bool whole = stages->missing.empty();
  const bool unrecognised =
      context.catalog.measured() && std::ranges::none_of(*path, [](const analysis::CriticalLink& link) {
        return link.kind == analysis::CriticalLink::Kind::placement && model::isComputePass(link.pass) &&
               link.stage >= 0;
      });
  const bool known = !unrecognised && whole;
  addPath(*path, run, recorded.placements && known, section);
  section.tables.push_back(pathTable(known ? *path : std::vector<analysis::CriticalLink>(), words));
  if (recorded.placements && !unrecognised && !whole)
    section.remarks.push_back(
        fmt::format("The trace holds no passes of stage{} {} of replica 0, so there is no critical path.",
                    stages->missing.size() == 1 ? "" : "s", numberRanges(stages->missing)));
  if (!recorded.placements) {
    lack(section, run == nullptr ? kNothingRan : nothingPlaced(context.catalog));
  } else if (unrecognised) {
    lack(section,
         "No passes of stages were recognised in the trace, so there are no waits between stages and no "
         "critical "
         "path. The section kernels (page Recorded) shows why accelerators are idle; import --rules names "
         "passes.");
  }
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(waits) {
  registry.add(
      {"waits", "Waits", "Which device waits for which and why, and the critical path", 40, makeWaits});
}

}  // namespace pipescope::sections

#include "profiler/analysis/pipeline/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/pipeline/device_sums.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/frame/collective_table.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/kernel_names.h"

namespace pipescope::sections {
namespace {

using analysis::AcceleratorReport;
using analysis::AcceleratorTimes;

Cell spanShare(base::Ticks part, base::Ticks whole) {
  if (whole.count <= 0) return {};
  return static_cast<double>(part.count) / static_cast<double>(whole.count);
}

/// Times of communication and copies, where kernels communicate and copy.
Cell communicationCell(const AcceleratorTimes& times, base::Ticks time) {
  return times.isProcess ? Cell() : Cell(time.count);
}

SectionTable deviceTable(const AcceleratorReport& report, const analysis::Catalog& catalog,
                         const Words& words) {
  SectionTable table{"devices",
                     "Devices",
                     words.basis("from the first start to the last end of kernels and copies"),
                     {},
                     {}};
  table.columns = {
      {"device", "Index", Format::index, "Device index", false},
      {"device_name", "Device", Format::plain, ""},
      {"span_cycles", "Span", Format::ticks, ""},
      {"busy_cycles", "Works", Format::ticks, "at least one kernel or copy runs"},
      {"idle_cycles", "Idle", Format::ticks, "the rest"},
      {"host_idle_cycles", "  for the host", Format::ticks,
       "idle before the host began to launch what ran next"},
      {"device_idle_cycles", "  of the device", Format::ticks,
       "idle although what ran next was being launched or was in the queue"},
      {"unknown_idle_cycles", "  unknown", Format::ticks, "idle before work whose launch is not known"},
      {"compute_cycles", "Computing", Format::ticks, "a kernel runs that does not communicate"},
      {"communication_cycles", "Communicating", Format::ticks, "a kernel communicates"},
      {"exposed_communication_cycles", "  exposed", Format::ticks, "and no other kernel computes"},
      {"copy_cycles", "Only copying", Format::ticks, "a copy runs, and no kernel"},
      {"idle_share", "Idle share", Format::fraction, "of the span"},
      {"kernels", "Kernels, copies", Format::count, ""},
      {"launches_found", "Launches", Format::count, "kernels and copies whose launch is known"},
      {"launch_delay_cycles", "Launch delay", Format::ticks,
       "from the launch's start to the kernel's start, mean"},
      {"longest_queue", "Queue", Format::count, "most that were launched and had not started"}};
  for (const AcceleratorTimes& times : report.devices) {
    const base::Ticks span = times.end - times.start;
    const bool launched = times.launched > 0;
    table.rows.push_back(
        {deviceIndexCell(times.device), deviceNameCell(catalog, times.device), span.count, times.busy.count,
         times.idle.count, launched ? Cell(times.hostIdle.count) : Cell(),
         launched ? Cell((times.idle - times.hostIdle - times.unknownIdle).count) : Cell(),
         times.unknownIdle.count, times.compute.count, communicationCell(times, times.communication),
         communicationCell(times, times.exposedCommunication),
         communicationCell(times, times.busy - times.compute - times.exposedCommunication),
         spanShare(times.idle, span), times.count, times.launched,
         launched ? Cell(times.meanLaunchDelay) : Cell(), launched ? Cell(times.longestQueue) : Cell()});
  }
  return table;
}

/// Training steps that the host marks, such as ProfilerStep#12, with what the accelerator did meanwhile.
SectionTable markedStepTable(const AcceleratorReport& report, const analysis::Catalog& catalog,
                             const Words& words) {
  SectionTable table{"steps",
                     "Training steps",
                     words.basis("a step lasts from its mark on the host, or the end of the step before, "
                                 "until the mark and the work "
                                 "that was launched within it have ended"),
                     {},
                     {}};
  table.columns = {
      {"device", "Index", Format::index, "Device index", false},
      {"device_name", "Device", Format::plain, ""},
      {"step", "Step", Format::index, "number that the trace states"},
      {"start_cycles", "Start", Format::ticks,
       "of the mark on the host, or the end of the step before if that is later"},
      {"cycles", "Length", Format::ticks, "until the mark and the step's own work have ended"},
      {"busy_cycles", "Busy", Format::ticks, "at least one kernel or copy runs"},
      {"compute_cycles", "Computing", Format::ticks, "a kernel runs that does not communicate"},
      {"communication_cycles", "Communicating", Format::ticks, "a kernel communicates"},
      {"exposed_communication_cycles", "  exposed", Format::ticks, "and no other kernel computes"},
      {"idle_share", "Idle share", Format::fraction, "of the length"}};
  for (const AcceleratorTimes& times : report.devices)
    for (const analysis::MarkedStep& step : times.steps) {
      const base::Ticks length = step.end - step.start;
      table.rows.push_back({deviceIndexCell(times.device), deviceNameCell(catalog, times.device), step.number,
                            step.start.count, length.count, step.busy.count, step.compute.count,
                            communicationCell(times, step.communication),
                            communicationCell(times, step.exposedCommunication),
                            spanShare(length - step.busy, length)});
    }
  table.mostInText = 16;
  return table;
}

SectionTable kernelCategoryTable(const AcceleratorReport& report, const analysis::Catalog& catalog,
                                 const Words& words) {
  SectionTable table{"categories", "Categories", words.basis(""), {}, {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"category", "Category", Format::plain, "as the trace names it; operation: it names none"},
                   {"count", "Count", Format::count, ""},
                   {"cycles", words.cycles(), Format::ticks, "sum of the lengths"},
                   {"active_cycles", "Active", Format::ticks, "at least one of them runs"}};
  for (const AcceleratorTimes& times : report.devices)
    for (const auto& [category, sum] : times.categories)
      table.rows.push_back({deviceIndexCell(times.device), deviceNameCell(catalog, times.device), category,
                            sum.count, sum.sum.count, sum.active.count});
  return table;
}

SectionTable kernelTable(const AcceleratorReport& report, const Words& words) {
  SectionTable table{"kernels", "Kernels", words.basis("all devices"), {}, {}};
  table.columns = {{"name", "Full name", Format::plain, "", false},
                   {"short_name", "Kernel", Format::plain, "without arguments"},
                   {"category", "Category", Format::plain, ""},
                   {"count", "Count", Format::count, ""},
                   {"cycles", words.cycles(), Format::ticks, "sum of the lengths"},
                   {"mean_cycles", "Mean", Format::ticks, ""}};
  for (const analysis::KernelSum& kernel : report.kernels)
    table.rows.push_back(
        {kernel.name, shortKernel(kernel.name), kernel.category, kernel.work.count, kernel.work.sum.count,
         static_cast<double>(kernel.work.sum.count) / static_cast<double>(kernel.work.count)});
  table.mostInText = 15;
  return table;
}

/// Table of the counters of the trace, such as memory, and of the launches that wait. The page trace draws
/// their curves.
base::Result<SectionTable> counterTable(const Context& context, const Words& words) {
  SectionTable table{"counters", "Counters over time", words.basis("the trace shows them as curves"), {}, {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"name", "Counter", Format::plain, ""},
                   {"unit", "Unit", Format::plain, "unit of the values; none: the trace states none"},
                   {"samples", "Samples", Format::count, ""},
                   {"smallest", "Smallest", Format::ofRow, ""},
                   {"largest", "Largest", Format::ofRow, ""},
                   {"last", "Last", Format::ofRow, ""}};
  table.mostInText = 20;
  if (!context.catalog.measured()) return table;
  constexpr std::size_t kFewPoints = 16;
  analysis::CounterRequest request;
  request.executable = context.executable;
  request.mostPoints = kFewPoints;
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(std::vector<analysis::CounterSeries> all,
                   analysis::counterSeries(context.source, context.catalog, request, progress));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.counter.device < b.counter.device; });
  for (const analysis::CounterSeries& series : all) {
    const std::string& unit = series.counter.unit;
    table.rows.push_back({deviceIndexCell(series.counter.device),
                          deviceNameCell(context.catalog, series.counter.device), series.counter.name,
                          unit.empty() ? Cell() : Cell(unit), series.samples, series.smallest, series.largest,
                          series.points.back().last});
    table.rowFormats.push_back(unit == "B" ? Format::bytes : Format::number);
  }
  return table;
}

/// True if the sections about passes count a device as idle in which a communication kernel of this report
/// waits.
bool countsWaitingKernels(const AcceleratorReport& report, const Context& context) {
  const auto counted = analysis::countedOf(context.catalog, context.executable);
  return std::ranges::any_of(report.devices, [&](const AcceleratorTimes& times) {
    return times.communication.count > 0 && counted[times.device] == analysis::Counted::passes;
  });
}

base::Result<Section> makeKernels(const Context& context) {
  PIPESCOPE_ASSIGN(const auto shared, acceleratorsOf(context));
  const AcceleratorReport& report = *shared;
  const Words words = wordsOf(context.catalog);
  PIPESCOPE_ASSIGN(SectionTable counters, counterTable(context, words));
  const bool any = !report.devices.empty();
  std::int64_t count = 0, launchable = 0, launched = 0, steps = 0;
  double inSteps = 0;
  for (const AcceleratorTimes& times : report.devices) {
    steps += static_cast<std::int64_t>(times.steps.size());
    for (const analysis::MarkedStep& step : times.steps)
      inSteps += static_cast<double>((step.end - step.start).count);
    count += times.count;
    launchable += times.launchable;
    launched += times.launched;
  }
  Section section{"kernels", "Kernels", {}, {}, {}};
  section.facts = {{"kernels_and_copies", "Kernels and copies", any ? Cell(count) : Cell(), Format::count,
                    "Of all devices."},
                   {"launches_found", "  with a known launch", any ? Cell(launched) : Cell(), Format::count,
                    "Kernels and copies for which the trace states the launch on the host."},
                   {"mean_marked_step_cycles", "Training step",
                    steps > 0 ? Cell(inSteps / static_cast<double>(steps)) : Cell(), Format::ticks,
                    "Mean over the steps that the host marks, of all devices."}};
  section.tables = {
      deviceTable(report, context.catalog, words), markedStepTable(report, context.catalog, words),
      kernelCategoryTable(report, context.catalog, words), kernelTable(report, words), std::move(counters)};
  if (!any)
    lack(section, context.catalog.measured() ? "The trace holds no kernels or copies of an accelerator."
                                             : "Kernels are those of a recorded trace; the report of the "
                                               "operations has those of an emulated run.");
  if (countsWaitingKernels(report, context))
    section.remarks.push_back(
        "A communication kernel counts here from its start to its end. Stages, execution and engines count "
        "the "
        "time in which it waits for another rank as idle.");
  if (launched < launchable)
    section.remarks.push_back(
        fmt::format("The launch is known for {} of {} kernels and copies; delays, queues and waits for the "
                    "host count only these.",
                    base::groupedText(launched), base::groupedText(launchable)));
  return section;
}

SectionTable collectiveTable(const AcceleratorReport& report, const analysis::Catalog& catalog,
                             const Words& words) {
  SectionTable table{"collectives", "Collectives", words.basis("matched over ranks by their order"), {}, {}};
  const bool anyGroup =
      std::ranges::any_of(report.collectives, [](const auto& match) { return !match.group.empty(); });
  const auto groupCell = [](const std::string& group) { return group.empty() ? Cell() : Cell(group); };
  table.columns = {
      {"name", "Full name", Format::plain, "", false},
      {"short_name", "Kernel", Format::plain, "without arguments"},
      {"process_group", "Group", Format::plain, "process group and operation, if the trace states them",
       anyGroup},
      {"number", "No.", Format::index, "among those of this group, or of this name"},
      {"ranks", "Ranks", Format::count, ""},
      {"start_cycles", "Start", Format::ticks, "first rank"},
      {"spread_cycles", "Spread", Format::ticks, "from the first to the last start"},
      {"together_cycles", "Together", Format::ticks, "from the last start to the last end"},
      {"waited_cycles", "Waited", Format::ticks, "for the last start, sum over ranks"},
      {"straggler", "Index", Format::index, "device that started last", false},
      {"straggler_name", "Last", Format::plain, "rank that started last: the others waited for it"}};
  for (const analysis::MatchedCollective& match : report.collectives)
    table.rows.push_back({match.name, shortKernel(match.name), groupCell(match.group), match.number,
                          match.ranks, match.start.count, (match.lastStart - match.start).count,
                          (match.end - match.lastStart).count, match.waited.count,
                          deviceIndexCell(match.last), deviceNameCell(catalog, match.last)});
  table.mostInText = 20;
  return table;
}

base::Result<Section> makeCollectives(const Context& context) {
  PIPESCOPE_ASSIGN(const auto shared, acceleratorsOf(context));
  const AcceleratorReport& report = *shared;
  const Words words = wordsOf(context.catalog);
  const bool any = report.communicationKernels > 0;
  base::Ticks waited;
  for (const analysis::MatchedCollective& match : report.collectives) waited += match.waited;
  Section section{"collectives", "Collectives", {}, {}, {}};
  section.facts = {
      {"communication_kernels", "Communication kernels", any ? Cell(report.communicationKernels) : Cell(),
       Format::count,
       "Recognised by the rules, over all devices. Without accelerators: collectives of hosts, "
       "as with gloo."},
      {"matched_kernels", "  matched over ranks", any ? Cell(report.matched) : Cell(), Format::count,
       "Kernels whose counterparts on all other ranks were found."},
      {"waited_cycles", "Waits for the last rank", report.matched > 0 ? Cell(waited.count) : Cell(),
       Format::ticks, "Sum over matched collectives and ranks."}};
  PIPESCOPE_ASSIGN(const std::vector<analysis::CollectiveUse> uses,
                   analysis::collectiveUses(context.source, context.catalog, context.executable));
  SectionTable executed = executedCollectives(context, uses);
  executed.key = "executed";
  executed.title = "Collectives of an emulated run";
  section.tables = {collectiveTable(report, context.catalog, words), std::move(executed)};
  if (!context.catalog.measured()) {
    for (Fact& fact : section.facts) fact.inText = false;
    showTimesIn(words.time, section);
    if (uses.empty())
      lack(section, "No collective ran: each stage is on one chip, and there is one replica.");
    return section;
  }
  if (!any) lack(section, report.noVerdictOnCollectives());
  if (any && report.matched == 0) section.remarks.push_back(report.noVerdictOnCollectives());
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(kernels) {
  registry.add({"kernels", "Kernels", "Kernels, copies and idle time of the accelerators of a recorded trace",
                67, makeKernels, true});
  registry.add({"collectives", "Collectives",
                "Collectives of a recorded trace, matched over ranks, with the rank that the others waited "
                "for, or those "
                "of an emulated run",
                68, makeCollectives, true});
}

}  // namespace pipescope::sections

#include "profiler/sections/diff/diff_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "profiler/sections/diff/diff_axes.h"
#include "profiler/sections/diff/diff_kernels.h"
#include "profiler/sections/diff/diff_parts.h"
#include "profiler/sections/diff/diff_stages.h"
#include "profiler/sections/diff/diff_step.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/out_of_memory.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

Cell textCell(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

std::vector<Fact> diffFacts(const analysis::Diff& diff) {
  const bool per = diff.perSample();
  const auto either = [](bool known, auto value) { return known ? Cell(value) : Cell(); };
  const bool before = diff.before > 0, after = diff.after > 0, both = before && after;
  const bool samplesBefore = diff.samplesBefore > 0, samplesAfter = diff.samplesAfter > 0;
  const double perBefore = diff.secondsPerSampleBefore(diff.before),
               perAfter = diff.secondsPerSampleAfter(diff.after);
  const auto rate = [](double seconds) { return seconds > 0 ? Cell(1 / seconds) : Cell(); };
  return {
      {"clock_hz", "Ticks per second", diff.ticksPerSecond, Format::count, "timebase of all times below",
       false},
      {"before_cycles", "Call before", either(before, diff.before), Format::ticks, "length of the last call"},
      {"after_cycles", "Call after", either(after, diff.after), Format::ticks, "length of the last call"},
      {"delta_cycles", "Change", either(both, diff.after - diff.before), Format::ticks, "after − before",
       !per},
      {"before_samples", "Samples of the call before", either(samplesBefore, diff.samplesBefore),
       Format::count, "all replicas", per},
      {"after_samples", "Samples of the call after", either(samplesAfter, diff.samplesAfter), Format::count,
       "all replicas", per},
      {"before_devices", "Devices before", either(before, diff.devicesBefore), Format::count,
       "that hold a stage", per || diff.devicesBefore != diff.devicesAfter},
      {"after_devices", "Devices after", either(after, diff.devicesAfter), Format::count, "that hold a stage",
       per || diff.devicesBefore != diff.devicesAfter},
      {"before_samples_per_second", "Rate before", rate(perBefore), Format::rate, "samples ÷ call", per},
      {"after_samples_per_second", "Rate after", rate(perAfter), Format::rate, "samples ÷ call", per},
      {"before_seconds_per_sample", "Time per sample before", either(samplesBefore && before, perBefore),
       Format::seconds, "call ÷ samples", per},
      {"after_seconds_per_sample", "Time per sample after", either(samplesAfter && after, perAfter),
       Format::seconds, "call ÷ samples", per},
      {"delta_seconds_per_sample", "Change per sample",
       either(samplesBefore && samplesAfter && both, perAfter - perBefore), Format::seconds, "after − before",
       per}};
}

/// The reports of one profile, which live as long as this object.
struct SideReports {
  analysis::Execution call;  ///< times of the call, without devices
  std::shared_ptr<const analysis::StagesReport> stages;
  std::shared_ptr<const analysis::Memory> memory;
  const analysis::Catalog* catalog = nullptr;
  model::ExecutableId executable;
  bool placed = false;
  double scale = 1;
  std::vector<analysis::AxisCommunication> axes;

  ComparedSide side() const {
    return {{catalog, executable, &call, stages.get(), memory.get(), placed}, scale, axes};
  }
};

base::Result<SideReports> sideReports(const Context& context, std::int64_t ticksPerSecond) {
  SideReports reports;
  reports.catalog = &context.catalog;
  reports.executable = context.executable;
  reports.call = analysis::callTotals(context.catalog, context.executable);
  PIPESCOPE_ASSIGN(reports.stages, stagesOf(context));
  PIPESCOPE_ASSIGN(reports.memory, memoryOf(context));
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  reports.placed = recorded.placements;
  PIPESCOPE_ASSIGN(const auto uses,
                   analysis::collectiveUses(context.source, context.catalog, context.executable));
  for (const analysis::AxisCommunication& axis : analysis::communicationByAxis(uses))
    if (axis.stage == reports.stages->limitingStage) reports.axes.push_back(axis);
  reports.scale =
      static_cast<double>(ticksPerSecond) / static_cast<double>(context.catalog.timebase({}).ticksPerSecond);
  return reports;
}

bool statesCosts(const Context& context) {
  return wordsOf(context.catalog).time.isCosts();
}

std::string notComparable(bool firstStatesCosts) {
  return fmt::format(
      "The times of the two profiles say nothing about each other, because the configuration of the {} one "
      "states its costs. A cost unit is shown as a second.",
      firstStatesCosts ? "first" : "second");
}

/// Text leaves out tables that say little about these profiles.
void addDiffTables(const analysis::Diff& diff, const Words& shown, const DiffChoice& choice,
                   Section& section) {
  if (choice.all || diff.perSample() || diff.families) section.tables.push_back(diffPassTable(diff, shown));
  section.tables.push_back(diffTimeTable(diff, shown, choice.mostRows));
  // Micro-batches of calls with different numbers of samples do not correspond to each other.
  if (choice.all || !diff.perSample())
    section.tables.push_back(diffMicroBatchTable(diff, shown, choice.mostRows));
  if (choice.all || diff.families) section.tables.push_back(diffCategoryTable(diff));
  if (choice.all || !diff.families) section.tables.push_back(diffMemoryTable(diff, choice.mostRows));
}

void addDiffRemarks(const analysis::Diff& diff, Section& section) {
  if (diff.families) {
    section.remarks.push_back(
        "The devices are of different families. Parts are therefore matched by the model's operators, "
        "whatever stage and device they are on. Each family has its own categories of memory: variables of "
        "an IPU are weights, activations and optimizer state together.");
  }
  if (diff.splits && !diff.families) {
    section.remarks.push_back(
        "The splits into stages differ, so parts of the critical path are matched wherever they run.");
  }
  if (diff.perSample()) {
    section.remarks.push_back(
        "The calls have different numbers of samples, so the times on the critical path are divided by "
        "them.");
  }
  section.remarks.push_back(
      "A pipeline's critical path goes through one stage at a time: its parts say what limits the call, not "
      "what all devices do.");
  if (diff.versions.empty() && diff.options.empty()) section.remarks.push_back("The options are the same.");
  if (diff.time.empty()) section.remarks.push_back("No part of the time differs.");
}

}  // namespace

std::vector<SectionTable> changedOptionTables(const analysis::Catalog& before,
                                              const analysis::Catalog& after) {
  return {changedOptionTable("versions", "Versions", analysis::changedVersions(before, after)),
          changedOptionTable("options", "Options", analysis::changedOptions(before, after))};
}

namespace {

/// The tables of the stages.
void addDiffStages(const ComparedSide& one, const ComparedSide& other, const Words& shown,
                   const DiffChoice& choice, Section& section) {
  SectionTable split = diffSplitTable(one, other);
  const bool sameSplit = std::all_of(split.rows.begin(), split.rows.end(), [](const std::vector<Cell>& row) {
    return row[1] == row[2] && row[3] == row[4];
  });
  if (choice.all || !sameSplit) section.tables.push_back(std::move(split));
  for (SectionTable& table :
       choice.all ? diffStageTables(one, other, shown) : diffStageTexts(one, other, shown))
    section.tables.push_back(std::move(table));
}

/// The section's beginning, which needs no more than the reports of the stages.
Section diffHead(const Context& before, const Context& after, const analysis::Diff& diff,
                 const ComparedSide& one, const ComparedSide& other, const Words& shown,
                 const DiffChoice& choice) {
  Section section{"diff", "Difference", {}, {}, {}};
  showTimesIn(shown.time, section);
  section.facts = diffFacts(diff);
  const std::string inShort = statesCosts(before) == statesCosts(after) ? diffInShort(one, other, shown)
                                                                        : notComparable(statesCosts(before));
  section.facts.insert(section.facts.begin(), {"in_short", "In short", textCell(inShort), Format::plain,
                                               "the change of the step in words", !inShort.empty()});
  for (Fact& fact : diffIntervalFacts(one, other, shown)) section.facts.push_back(std::move(fact));
  const figures::Figure& hypothetical = figures::figure("hypothetical");
  for (const auto& [when, label, side] :
       {std::tuple("before", "Hypothetical before", &one), std::tuple("after", "Hypothetical after", &other)})
    section.facts.push_back({std::string(when) + "_" + hypothetical.key, label,
                             hypothetical.value(side->analyses), hypothetical.format, hypothetical.doc,
                             false});
  section.tables = {changedOptionTable("versions", "Versions", diff.versions),
                    changedOptionTable("options", "Options", diff.options), diffStepTable(one, other, shown)};
  SectionTable axes = diffAxisTable(one, other, shown);
  if (choice.all || !axes.rows.empty()) section.tables.push_back(std::move(axes));
  addDiffStages(one, other, shown, choice, section);
  return section;
}

/// The words for the times of a comparison. Profiles with different timebases are compared in picoseconds.
Words diffWords(const Context& after, const analysis::Diff& diff) {
  const bool converted = diff.ticksPerSecond != after.catalog.timebase({}).ticksPerSecond;
  return wordsFor(shownTime(converted ? model::TickMeaning::time : after.catalog.target.tickMeaning,
                            diff.ticksPerSecond));
}

}  // namespace

base::Result<Section> diffFigures(const Context& before, const Context& after) {
  PIPESCOPE_ASSIGN(const analysis::Diff diff,
                   analysis::diffOfCalls({before.source, before.catalog, before.executable},
                                         {after.source, after.catalog, after.executable}));
  PIPESCOPE_ASSIGN(const SideReports one, sideReports(before, diff.ticksPerSecond));
  PIPESCOPE_ASSIGN(const SideReports other, sideReports(after, diff.ticksPerSecond));
  return diffHead(before, after, diff, one.side(), other.side(), diffWords(after, diff), {});
}

base::Result<Section> diffSection(const Context& before, const Context& after, const analysis::Diff& diff,
                                  const DiffChoice& choice) {
  PIPESCOPE_ASSIGN(const SideReports one, sideReports(before, diff.ticksPerSecond));
  PIPESCOPE_ASSIGN(const SideReports other, sideReports(after, diff.ticksPerSecond));
  const Words shown = diffWords(after, diff);
  Section section = diffHead(before, after, diff, one.side(), other.side(), shown, choice);
  PIPESCOPE_ASSIGN(SectionTable operations, diffOperationTable(before, after, diff, shown, choice.mostRows));
  section.tables.push_back(std::move(operations));
  addDiffTables(diff, shown, choice, section);
  PIPESCOPE_ASSIGN(std::vector<SectionTable> kernels,
                   diffKernelTables(before, after, diff, shown, choice.mostRows));
  for (SectionTable& table : kernels)
    if (choice.all || !table.rows.empty()) section.tables.push_back(std::move(table));
  addDiffRemarks(diff, section);
  for (const SideReports* side : {&one, &other}) {
    const std::vector<int>& missing = side->stages->missing;
    if (missing.empty()) continue;
    section.remarks.push_back(fmt::format(
        "The {} profile holds no passes of stage{} {} of replica 0, so changes along its critical path say "
        "little.",
        side == &one ? "first" : "second", missing.size() == 1 ? "" : "s", numberRanges(missing)));
  }
  if (!figures::fitsInMemory(*one.memory) || !figures::fitsInMemory(*other.memory))
    section.remarks.push_back(fmt::format(
        "{} in memory, so times and rates are hypothetical: no real device could run it like this.",
        figures::fitsInMemory(*one.memory)     ? "The second model does not fit"
        : figures::fitsInMemory(*other.memory) ? "The first model does not fit"
                                               : "Neither model fits"));
  return section;
}

}  // namespace pipescope::sections

#include <fmt/format.h>

#include <algorithm>

#include "profiler/figures/step_interval.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/figure_facts.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/replays.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

using replay::WhatIf;

std::vector<Fact> stepFacts(const WhatIf& answer) {
  const bool ran = answer.before.stepTicks > 0;
  const auto of = [&](double value) { return ran ? Cell(value) : Cell(); };
  std::vector<Fact> facts;
  const auto add = [&](std::string_view key, const Cell& before, const Cell& after, bool inText = true) {
    for (Fact& fact : replayedFacts(key, before, after)) {
      fact.inText = inText;
      facts.push_back(std::move(fact));
    }
  };
  // A pipeline of each side, without the analyses that a replay does not make.
  figures::Analyses before, after;
  before.stages = &answer.stagesBefore;
  after.stages = &answer.stagesAfter;
  const auto addFigure = [&](std::string_view key) {
    const figures::Figure& figure = figures::figure(key);
    add(key, figure.value(before), figure.value(after));
  };
  add("step_cycles", of(answer.before.stepTicks), of(answer.after.stepTicks));
  facts.push_back({"gain_fraction", "Faster by", of(answer.gain()), Format::fraction,
                   "Micro-batches per time with the changes ÷ those recorded − 1."});
  add("samples_per_second", figures::cellOf(answer.before.samplesPerSecond),
      figures::cellOf(answer.after.samplesPerSecond), answer.before.samplesPerSecond.has_value());
  const auto count = [&](std::int64_t microBatches) { return ran ? Cell(microBatches) : Cell(); };
  add("micro_batches", count(answer.before.microBatches), count(answer.after.microBatches),
      answer.before.microBatches != answer.after.microBatches);
  addFigure("imbalance");
  addFigure("bubble_fraction");
  return facts;
}

/// Adds the interval of the replayed step behind the step. A replay changes little of what a device model
/// gets wrong, so that the new step is as far off as the recorded one.
void addInterval(const std::optional<figures::FigureInterval>& interval, const WhatIf& answer,
                 const ShownTime& time, std::vector<Fact>& facts) {
  const auto end = [&](double factor) { return interval ? Cell(answer.after.stepTicks * factor) : Cell(); };
  std::vector<Fact> added;
  for (const auto& [key, value] :
       {std::pair<const char*, Cell>{"step_least_cycles", end(interval ? interval->factors.least : 1)},
        {"step_most_cycles", end(interval ? interval->factors.most : 1)},
        {"step_interval_basis", interval ? Cell(interval->basis) : Cell()}}) {
    const figures::Figure& figure = figures::figure(key);
    added.push_back(
        {std::string("after_") + key, std::string("  ") + figure.part, value, figure.format, figure.doc});
  }
  showAsRange(added, time);
  const auto after = std::ranges::find(facts, "after_step_cycles", &Fact::key);
  facts.insert(after + 1, std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

/// Lists the steps from the recorded step time to the new one. The rows add up.
SectionTable waterfall(const WhatIf& answer, const Words& words) {
  SectionTable table{"waterfall",
                     "From the recorded step time to the new one",
                     words.per("iteration; the rows add up"),
                     {},
                     {}};
  table.columns = {
      {"part", "Part", Format::plain, "recorded, a change, interaction or replayed"},
      {"change", "Change", Format::plain, "as given", false},
      {"cycles", words.cycles(), Format::ticks,
       "Step time, or difference that the change makes by itself. The interaction is what remains."}};
  const auto add = [&](const std::string& part, Cell change, Cell ticks) {
    table.rows.push_back({part, std::move(change), std::move(ticks)});
  };
  if (answer.before.stepTicks <= 0) return table;
  add("recorded", {}, answer.before.stepTicks);
  for (const replay::WhatIfPart& part : answer.parts)
    add(part.change, part.change, figures::cellOf(part.ticks));
  if (answer.parts.size() > 1) add("interaction", {}, answer.interaction);
  add("replayed", {}, answer.after.stepTicks);
  return table;
}

Breakdown waitBreakdown(const analysis::StageReport& stage) {
  Breakdown parts;
  for (int i = 0; i <= static_cast<int>(model::WaitCause::update); ++i) {
    const auto found = stage.waits.find(static_cast<model::WaitCause>(i));
    parts.emplace_back(model::toString(static_cast<model::WaitCause>(i)),
                       found == stage.waits.end() ? 0.0 : found->second);
  }
  return parts;
}

SectionTable whatIfStageTable(const WhatIf& answer, const Words& words) {
  SectionTable table{"stages", "Stages", words.per("micro-batch; update and waits per iteration"), {}, {}};
  const std::string busy = figures::busyLabel(figures::hasRecompute(answer.stagesBefore) ||
                                              figures::hasRecompute(answer.stagesAfter));
  table.columns = {{"index", "Stage", Format::index, ""},
                   {"blocks", "Blocks", Format::list, "with the changes"},
                   {"before_busy_cycles", busy + " before", Format::ticks, "per micro-batch"},
                   columnOf("forward_cycles"),
                   columnOf("recompute_cycles"),
                   columnOf("backward_cycles"),
                   {"busy_cycles", busy, Format::ticks, "per micro-batch"},
                   columnOf("update_cycles"),
                   {"limits", "Limits", Format::truth, "occupied longest, or within 1 % of it"},
                   {"waits", "Waits", Format::ticks, "per iteration, by cause", true, waitCauseNames()}};
  for (std::size_t s = 0; s < answer.stagesAfter.stages.size(); ++s) {
    const analysis::StageReport& stage = answer.stagesAfter.stages[s];
    const bool known = s < answer.stagesBefore.stages.size();
    table.rows.push_back({static_cast<std::int64_t>(stage.index), stage.blocks,
                          known ? Cell(answer.stagesBefore.stages[s].busy) : Cell(), stage.forward,
                          stage.recompute, stage.backward + stage.weightGradient, stage.busy, stage.update,
                          stage.limits, waitBreakdown(stage)});
  }
  hideUnused(table, {"recompute_cycles", "backward_cycles", "update_cycles"});
  const auto column = [&](const char* key) -> SectionColumn& {
    return *std::ranges::find(table.columns, key, &SectionColumn::key);
  };
  if (!column("update_cycles").inText) table.basis = words.per("micro-batch; waits per iteration");
  if (!column("recompute_cycles").inText && !column("backward_cycles").inText) {
    // The sum of the passes would repeat the only one.
    column("busy_cycles").inText = false;
    column("before_busy_cycles").heading = "Forward before";
  }
  return table;
}

SectionTable stashTable(const WhatIf& answer) {
  SectionTable table{"memory", "Stash", "of the stage's device, one replica", {}, {}};
  table.columns = {{"index", "Stage", Format::index, ""},
                   {"before_stash_entries", "Entries before", Format::index, "micro-batches"},
                   {"stash_entries", "Entries", Format::index, "micro-batches"},
                   {"added_bytes", "Added", Format::bytes, "on the device, sum over units"},
                   {"fits", "Fits", Format::truth, "empty: the recording does not tell"}};
  const auto entries = [](const std::optional<std::int64_t>& count) { return count ? Cell(*count) : Cell(); };
  for (const replay::StageFit& fit : answer.memory)
    table.rows.push_back({static_cast<std::int64_t>(fit.stage), entries(fit.stashBefore),
                          entries(fit.stashAfter), fit.fits ? Cell(fit.added.count) : Cell(),
                          fit.fits ? Cell(*fit.fits) : Cell()});
  hideUnused(table, {"before_stash_entries", "stash_entries"});
  return table;
}

/// The stages that do not fit with the changes.
std::vector<int> tooLargeStages(const WhatIf& answer) {
  std::vector<int> stages;
  for (const replay::StageFit& fit : answer.memory) {
    if (!fit.fits.value_or(true)) stages.push_back(fit.stage);
  }
  return stages;
}

figures::Analyses analysesOf(const Context& context, const analysis::StagesReport& stages) {
  figures::Analyses from;
  from.catalog = &context.catalog;
  from.executable = context.executable;
  from.stages = &stages;
  return from;
}

std::string hypotheticalRemark(const std::vector<int>& stages) {
  const bool one = stages.size() == 1;
  return fmt::format(
      "{} {} into the memory of {}, so times and rates are hypothetical: no real device could run it like "
      "this.",
      (one ? "Stage " : "Stages ") + numberRanges(stages), one ? "does not fit" : "do not fit",
      one ? "its device" : "their devices");
}

}  // namespace

std::optional<figures::FigureInterval> stepIntervalOf(const Context& context) {
  const auto stages = stagesOf(context);
  return stages.ok() ? figures::stepInterval(analysesOf(context, **stages)) : std::nullopt;
}

std::string keptIntervalOf(const Context& context) {
  const auto stages = stagesOf(context);
  return stages.ok() ? figures::keptInterval(analysesOf(context, **stages)) : std::string();
}

Section whatIfSection(const analysis::Catalog& catalog,
                      const std::optional<figures::FigureInterval>& interval, const WhatIf& answer) {
  const Words words = wordsOf(catalog);
  Section section{"what-if", "What if", stepFacts(answer), {}, {}};
  addInterval(interval, answer, words.time, section.facts);
  section.tables = {waterfall(answer, words), whatIfStageTable(answer, words), stashTable(answer)};
  section.remarks = answer.remarks;
  const std::vector<int> tooLarge = tooLargeStages(answer);
  const bool known = std::ranges::any_of(answer.memory, [](const auto& fit) { return fit.fits.has_value(); });
  section.facts.push_back({"hypothetical", "Hypothetical", known ? Cell(!tooLarge.empty()) : Cell(),
                           Format::truth,
                           "True if a stage does not fit with the changes: no real device could run it like "
                           "this. Empty: the recording does not tell.",
                           false});
  if (!tooLarge.empty()) section.remarks.push_back(hypotheticalRemark(tooLarge));
  showTimesIn(words.time, section);
  if (!answer.recording.explained)
    section.remarks.push_back(
        "The rules of the schedule do not explain all recorded times; what they do not explain is kept as it "
        "was "
        "recorded.");
  return section;
}

}  // namespace pipescope::sections

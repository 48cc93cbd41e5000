#include <fmt/format.h>

#include <algorithm>

#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/replays.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

using replay::WhatIf;

Cell optionalNumber(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell();
}

std::vector<Fact> stepFacts(const WhatIf& answer) {
  const bool ran = answer.before.stepTicks > 0;
  const auto of = [&](double value) { return ran ? Cell(value) : Cell(); };
  const auto& before = answer.stagesBefore;
  const auto& after = answer.stagesAfter;
  return {
      {"before_step_cycles", "Step time, recorded", of(answer.before.stepTicks), Format::ticks,
       "Length of the recorded call ÷ its iterations."},
      {"after_step_cycles", "Step time, replayed", of(answer.after.stepTicks), Format::ticks,
       "The same with the changes."},
      {"gain_fraction", "Faster by", of(answer.gain()), Format::fraction,
       "Micro-batches per time with the changes ÷ those recorded − 1."},
      {"before_samples_per_second", "Samples per second, recorded",
       optionalNumber(answer.before.samplesPerSecond), Format::rate,
       "Samples of the recorded call ÷ its length; all replicas.",
       answer.before.samplesPerSecond.has_value()},
      {"after_samples_per_second", "Samples per second, replayed",
       optionalNumber(answer.after.samplesPerSecond), Format::rate, "The same with the changes.",
       answer.after.samplesPerSecond.has_value()},
      {"before_micro_batches", "Micro-batches, recorded",
       ran ? Cell(std::int64_t{answer.before.microBatches}) : Cell(), Format::count, "of a weight update",
       answer.before.microBatches != answer.after.microBatches},
      {"after_micro_batches", "Micro-batches, replayed",
       ran ? Cell(std::int64_t{answer.after.microBatches}) : Cell(), Format::count, "of a weight update",
       answer.before.microBatches != answer.after.microBatches},
      {"before_imbalance", "Imbalance, recorded", optionalNumber(before.imbalance), Format::ratio,
       "Largest ÷ mean of forward + recompute + backward, over the devices that hold a stage."},
      {"after_imbalance", "Imbalance, replayed", optionalNumber(after.imbalance), Format::ratio,
       "The same with the changes."},
      {"before_bubble_fraction", "Bubble, recorded", of(before.bubble.fraction()), Format::fraction,
       "1 − busy ÷ (devices with a stage × flush), mean over iterations."},
      {"after_bubble_fraction", "Bubble, replayed", of(after.bubble.fraction()), Format::fraction,
       "The same with the changes."},
  };
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
    add(part.change, part.change, optionalNumber(part.ticks));
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
  const std::string busy = busyHeading(hasRecompute(answer.stagesBefore) || hasRecompute(answer.stagesAfter));
  table.columns = {
      {"index", "Stage", Format::index, ""},
      {"blocks", "Blocks", Format::list, "with the changes"},
      {"before_busy_cycles", busy + " before", Format::ticks, "per micro-batch"},
      {"forward_cycles", "Forward", Format::ticks, "per micro-batch"},
      {"recompute_cycles", "Recompute", Format::ticks, "per micro-batch"},
      {"backward_cycles", "Backward", Format::ticks, "per micro-batch, weight gradients included"},
      {"busy_cycles", busy, Format::ticks, "per micro-batch"},
      {"update_cycles", "Update", Format::ticks, "per iteration"},
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

std::string hypotheticalRemark(const std::vector<int>& stages) {
  const bool one = stages.size() == 1;
  return fmt::format(
      "{} {} into the memory of {}, so times and rates are hypothetical: no real device could run it like "
      "this.",
      (one ? "Stage " : "Stages ") + numberRanges(stages), one ? "does not fit" : "do not fit",
      one ? "its device" : "their devices");
}

}  // namespace

Section whatIfSection(const analysis::Catalog& catalog, const WhatIf& answer) {
  const Words words = wordsOf(catalog);
  Section section{"what-if", "What if", stepFacts(answer), {}, {}};
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

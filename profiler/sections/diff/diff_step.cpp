#include "profiler/sections/diff/diff_step.h"

#include <fmt/format.h>

#include <cmath>

#include "profiler/sections/frame/column_text.h"

namespace pipescope::sections {
namespace {

using analysis::StagesReport;

Wanted positive(double value) {
  return value > 0 ? Wanted(value) : Wanted();
}

/// False if nothing has run, or if the run recorded no placements.
bool hasStageTimes(const ComparedSide& side) {
  return side.ran && side.stages.limiting() != nullptr;
}

/// A part of the step time in ticks of the comparison.
auto lostTime(double analysis::LostTime::*part) {
  return [part](const ComparedSide& side) {
    const bool known =
        hasStageTimes(side) && (part == &analysis::LostTime::step || side.stages.lost.replayed);
    return known ? Wanted(side.stages.lost.*part * side.scale) : Wanted();
  };
}

/// Samples of one iteration, on average.
Wanted samplesOfStep(const ComparedSide& side) {
  const auto total = static_cast<double>(side.execution.total.count);
  if (!hasStageTimes(side) || side.execution.samples <= 0 || total <= 0) return {};
  return static_cast<double>(side.execution.samples) * side.stages.lost.step / total;
}

Wanted microBatchesOfStep(const ComparedSide& side) {
  return hasStageTimes(side) ? positive(static_cast<double>(side.stages.microBatches)) : Wanted();
}

/// The step time by micro-batch, with its part of the update and the host's time.
Wanted timeOfMicroBatch(const ComparedSide& side) {
  const Wanted count = microBatchesOfStep(side);
  return count ? Wanted(side.stages.lost.step * side.scale / *count) : Wanted();
}

Wanted memoryOfAll(const ComparedSide& side, base::Bytes analysis::Memory::*part) {
  if (side.memory.devices.empty()) return {};
  return static_cast<double>((side.memory.*part).count);
}

constexpr std::pair<double analysis::LostTime::*, const char*> kLost[] = {
    {&analysis::LostTime::useful, "useful"},
    {&analysis::LostTime::fillAndDrain, "lost to fill and drain"},
    {&analysis::LostTime::imbalance, "lost to imbalance"},
    {&analysis::LostTime::exchangeUpdateHost, "lost to exchange, update, host"}};

void addRow(SectionTable& table, const char* key, const std::string& name, Format format,
            const Compared& row) {
  // A percentage of a percentage would be read as a difference of the two.
  const Cell relative = format == Format::fraction ? Cell() : row.relative();
  addRowIf(table, {key, name, comparedCell(row.before), comparedCell(row.after), row.delta(), relative},
           row.before || row.after);
  table.rowFormats.push_back(format);
}

void addStepRows(SectionTable& table, const ComparedSide& before, const ComparedSide& after) {
  constexpr const char* kKeys[] = {"useful_cycles", "lost_fill_and_drain_cycles", "lost_imbalance_cycles",
                                   "lost_exchange_update_host_cycles"};
  addRow(table, "step_cycles", "Step time", Format::ticks,
         compared(before, after, lostTime(&analysis::LostTime::step)));
  for (std::size_t i = 0; i < std::size(kLost); ++i)
    addRow(table, kKeys[i], std::string("of which ") + kLost[i].second, Format::ticks,
           compared(before, after, lostTime(kLost[i].first)));
  addRow(table, "micro_batches", "Micro-batches of an iteration", Format::count,
         compared(before, after, microBatchesOfStep));
  addRow(table, "cycles_per_micro_batch", "Step time ÷ micro-batches", Format::ticks,
         compared(before, after, timeOfMicroBatch));
  addRow(table, "samples_per_step", "Samples of an iteration", Format::count,
         compared(before, after, samplesOfStep));
  addRow(table, "samples_per_second", "Samples per second", Format::rate,
         compared(before, after, [](const ComparedSide& side) {
           return side.execution.samples > 0 ? positive(side.execution.samplesPerSecond) : Wanted();
         }));
}

void addPipelineRows(SectionTable& table, const ComparedSide& before, const ComparedSide& after) {
  const auto add = [&](const char* key, const char* name, std::optional<double> StagesReport::*part,
                       Format format) {
    addRow(table, key, name, format,
           compared(before, after, [part](const ComparedSide& side) { return Wanted(side.stages.*part); }));
  };
  const auto addBubble = [&](const char* key, const char* name, auto share) {
    addRow(table, key, name, Format::fraction, compared(before, after, [share](const ComparedSide& side) {
             return hasStageTimes(side) ? Wanted(share(side.stages.bubble)) : Wanted();
           }));
  };
  add("imbalance", "Imbalance", &StagesReport::imbalance, Format::ratio);
  add("imbalance_forward", "Imbalance of forward passes", &StagesReport::imbalanceForward, Format::ratio);
  add("imbalance_backward", "Imbalance of recompute and backward", &StagesReport::imbalanceBackward,
      Format::ratio);
  addBubble("bubble_fraction", "Bubble", [](const analysis::Bubble& bubble) { return bubble.fraction(); });
  addBubble("bubble_exchange", "Bubble in exchange",
            [](const analysis::Bubble& bubble) { return bubble.exchange; });
}

void addMemoryRows(SectionTable& table, const ComparedSide& before, const ComparedSide& after) {
  const auto add = [&](const char* key, const char* name, base::Bytes analysis::Memory::*part) {
    addRow(table, key, name, Format::bytes,
           compared(before, after, [part](const ComparedSide& side) { return memoryOfAll(side, part); }));
  };
  add("total_bytes", "Memory of all devices", &analysis::Memory::total);
  add("always_live_bytes", "Always live memory", &analysis::Memory::alwaysLive);
  add("not_always_live_peak_bytes", "Peak of not always live memory", &analysis::Memory::notAlwaysLivePeak);
  add("max_tile_bytes", "Fullest tile or device", &analysis::Memory::maxUnit);
}

}  // namespace

std::string diffInShort(const ComparedSide& before, const ComparedSide& after, const Words& words) {
  const Compared step = compared(before, after, lostTime(&analysis::LostTime::step));
  if (!step.before || !step.after || *step.before <= 0) return {};
  const auto shown = [&](double ticks) { return exactTimeText(ticks, words.time); };
  const double change = *step.after - *step.before;
  if (change == 0) return fmt::format("An iteration takes {}, as before.", shown(*step.after));
  const char* largest = "";
  double most = 0;
  for (const auto& [part, name] : kLost) {
    const Compared row = compared(before, after, lostTime(part));
    if (!row.before || !row.after) continue;
    const double delta = *row.after - *row.before;
    if (std::fabs(delta) <= std::fabs(most)) continue;
    most = delta;
    largest = name;
  }
  constexpr double kManyTimes = 10;  // large percentages are hard to read
  const double ratio = *step.after / *step.before;
  const std::string howMuch =
      ratio >= kManyTimes
          ? formatCell(ratio, Format::count) + " times as long"
          : fmt::format("{:.1f} % {}", std::fabs(change) / *step.before * 100, change < 0 ? "less" : "more");
  std::string text = fmt::format("An iteration takes {} instead of {}: {}.", shown(*step.after),
                                 shown(*step.before), howMuch);
  if (most != 0)
    text += fmt::format(" The largest change is in the time that is {}: {}{}.", largest, most > 0 ? "+" : "",
                        shown(most));
  const Compared samples = compared(before, after, samplesOfStep);
  if (samples.before && samples.after && std::fabs(*samples.after - *samples.before) > 0.5)
    text +=
        fmt::format(" An iteration has {} samples instead of {}, so compare the samples per second.",
                    formatCell(*samples.after, Format::count), formatCell(*samples.before, Format::count));
  const Compared count = compared(before, after, microBatchesOfStep),
                 each = compared(before, after, timeOfMicroBatch);
  if (!samples.before && count.before && count.after && *count.before != *count.after) {
    const double less = 1 - *each.after / *each.before;
    text += fmt::format(
        " An iteration has {} micro-batches instead of {}, so compare the step time for each micro-batch: {} "
        "instead of {}, {:.1f} % {}.",
        formatCell(*count.after, Format::count), formatCell(*count.before, Format::count), shown(*each.after),
        shown(*each.before), std::fabs(less) * 100, less > 0 ? "less" : "more");
  }
  return text;
}

SectionTable diffStepTable(const ComparedSide& before, const ComparedSide& after, const Words& words) {
  SectionTable table{
      "step", "The iteration", words.basis("mean of the last call's iterations, one replica"), {}, {}};
  table.columns = {{"quantity", "Key", Format::plain, "", false},
                   {"name", "What", Format::plain, ""},
                   {"before", "Before", Format::ofRow, ""},
                   {"after", "After", Format::ofRow, ""},
                   {"delta", "Change", Format::ofRow, "after − before; of percentages in percentage points"},
                   {"relative", "In percent", Format::fraction, "change ÷ before"}};
  addStepRows(table, before, after);
  addPipelineRows(table, before, after);
  addMemoryRows(table, before, after);
  return table;
}

}  // namespace pipescope::sections

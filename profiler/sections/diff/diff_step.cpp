#include "profiler/sections/diff/diff_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/memory/memory.h"
#include "profiler/figures/step_interval.h"
#include "profiler/sections/diff/diff_axes.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/figure_facts.h"

namespace pipescope::sections {
namespace {

/// The rows of the table. Parts of the step time stand below it.
constexpr const char* kRows[] = {"step_cycles",
                                 "useful_cycles",
                                 "lost_fill_and_drain_cycles",
                                 "lost_imbalance_cycles",
                                 "lost_exchange_update_host_cycles",
                                 "micro_batches",
                                 "cycles_per_micro_batch",
                                 "samples_per_step",
                                 "samples_per_second",
                                 "imbalance",
                                 "imbalance_forward",
                                 "imbalance_backward",
                                 "bubble_fraction",
                                 "bubble_exchange",
                                 "total_bytes",
                                 "always_live_bytes",
                                 "not_always_live_peak_bytes",
                                 "max_tile_bytes"};

/// A figure of both sides; its times in ticks of the comparison.
Compared comparedFigure(const ComparedSide& before, const ComparedSide& after, std::string_view key) {
  const figures::Figure& figure = figures::figure(key);
  return compared(before, after, [&](const ComparedSide& side) -> Wanted {
    const Wanted value = figures::numberIn(figure.value(side.analyses));
    if (!value || figure.format != Format::ticks) return value;
    return *value * side.scale;
  });
}

void addRow(SectionTable& table, const figures::Figure& figure, const Compared& row) {
  const bool isPart =
      std::ranges::find(figures::kStepParts, std::string_view(figure.key)) != std::end(figures::kStepParts);
  // A percentage of a percentage would be read as a difference of the two.
  const Cell relative = figure.format == Format::fraction ? Cell() : row.relative();
  addRowIf(table,
           {figure.key, isPart ? std::string("of which ") + figure.part : std::string(figure.label),
            comparedCell(row.before), comparedCell(row.after), row.delta(), relative},
           row.before || row.after);
  table.rowFormats.push_back(figure.format);
}

/// The error of a step time, and whether something is known of it. A recorded step has none.
std::optional<figures::PartError> stepError(const figures::Analyses& from) {
  if (from.catalog->measured()) return figures::PartError{1, 0, 0};
  const auto interval = figures::stepInterval(from);
  return interval ? std::optional(figures::errorOf(interval->factors)) : std::nullopt;
}

/// The probability that the step afterwards is truly shorter.
std::optional<double> shorterShare(const ComparedSide& before, const ComparedSide& after) {
  if (before.analyses.catalog == nullptr || after.analyses.catalog == nullptr) return std::nullopt;
  const auto own = stepError(after.analyses), other = stepError(before.analyses);
  const Compared step = comparedFigure(before, after, "step_cycles");
  if (!own || !other || !step.before || !step.after || !(*step.before > 0) || !(*step.after > 0))
    return std::nullopt;
  if (own->spread == 0 && other->spread == 0) return std::nullopt;  // both are recorded
  double ratio = *step.before / *step.after;
  const Compared samples = comparedFigure(before, after, "samples_per_step");
  if (samples.before && samples.after) ratio *= *samples.after / *samples.before;
  const std::string model = before.analyses.catalog->property("device_model");
  const bool isSame = !model.empty() && model == after.analyses.catalog->property("device_model");
  return figures::shareAhead(ratio, *own, *other, isSame ? figures::kModelCorrelation : 0);
}

}  // namespace

std::string diffInShort(const ComparedSide& before, const ComparedSide& after, const Words& words) {
  const Compared step = comparedFigure(before, after, "step_cycles");
  if (!step.before || !step.after || *step.before <= 0) return {};
  const auto shown = [&](double ticks) { return timeText(ticks, words.time, TimeStyle::exact); };
  const double change = *step.after - *step.before;
  if (change == 0) return fmt::format("An iteration takes {}, as before.", shown(*step.after));
  const char* largest = "";
  double most = 0;
  for (const char* part : figures::kStepParts) {
    const Compared row = comparedFigure(before, after, part);
    if (!row.before || !row.after) continue;
    const double delta = *row.after - *row.before;
    if (std::fabs(delta) <= std::fabs(most)) continue;
    most = delta;
    largest = figures::figure(part).part;
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
  text += diffAxesInShort(before, after, words, change);
  const Compared samples = comparedFigure(before, after, "samples_per_step");
  if (samples.before && samples.after && std::fabs(*samples.after - *samples.before) > 0.5)
    text +=
        fmt::format(" An iteration has {} samples instead of {}, so compare the samples per second.",
                    formatCell(*samples.after, Format::count), formatCell(*samples.before, Format::count));
  const Compared count = comparedFigure(before, after, "micro_batches"),
                 each = comparedFigure(before, after, "cycles_per_micro_batch");
  if (!samples.before && count.before && count.after && *count.before != *count.after) {
    const double less = 1 - *each.after / *each.before;
    text += fmt::format(
        " An iteration has {} micro-batches instead of {}, so compare the step time for each micro-batch: {} "
        "instead of {}, {:.1f} % {}.",
        formatCell(*count.after, Format::count), formatCell(*count.before, Format::count), shown(*each.after),
        shown(*each.before), std::fabs(less) * 100, less > 0 ? "less" : "more");
  }
  if (const auto share = shorterShare(before, after))
    text += fmt::format(" By the errors of the models, it is truly shorter{} with a probability of {:.0f} %.",
                        samples.before && samples.after ? " per sample" : "", *share * 100);
  return text;
}

std::vector<Fact> diffIntervalFacts(const ComparedSide& before, const ComparedSide& after,
                                    const Words& words) {
  std::vector<Fact> facts;
  for (const auto& [side, when] : {std::pair(&before, "before"), std::pair(&after, "after")}) {
    std::vector<Fact> own;
    for (const char* key : {"step_least_cycles", "step_most_cycles", "step_interval_basis"}) {
      const figures::Figure& figure = figures::figure(key);
      const Cell value = figure.value(side->analyses);
      const Wanted number = figures::numberIn(value);
      own.push_back({std::string(when) + "_" + key, std::string("Step ") + when + ", " + figure.part,
                     number ? Cell(*number * side->scale) : value, figure.format, figure.doc});
    }
    showAsRange(own, words.time);
    own.back().inText = false;  // the summary of each profile says it
    for (Fact& fact : own) facts.push_back(std::move(fact));
  }
  for (const auto& [side, when] : {std::pair(&before, "before"), std::pair(&after, "after")}) {
    std::vector<Fact> own = memoryIntervalFacts(side->analyses);
    const analysis::Memory* memory = side->analyses.memory;
    const bool tiles = memory != nullptr && std::ranges::any_of(memory->devices, [](const auto& device) {
                         return device.units > 1;
                       });
    for (Fact& fact : own) {
      fact.label = std::string(tiles ? "Fullest tile " : "Memory ") + when + "," + fact.label.substr(1);
      fact.key = std::string(when) + "_" + fact.key;
    }
    own.back().inText = false;  // section memory of each profile says it
    for (Fact& fact : own) facts.push_back(std::move(fact));
  }
  facts.push_back({"shorter_share", "Probably shorter", figures::cellOf(shorterShare(before, after)),
                   Format::fraction,
                   "Probability that the step afterwards is truly shorter (per sample, where samples are "
                   "known), by the errors of what was compared with measurements. The errors of two steps "
                   "have a correlation of 0.5 on one device model and of 0 on two.",
                   false});
  return facts;
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
  for (const char* key : kRows) addRow(table, figures::figure(key), comparedFigure(before, after, key));
  return table;
}

}  // namespace pipescope::sections

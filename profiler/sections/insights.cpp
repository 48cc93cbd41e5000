// The section on findings: what costs time or memory, what to change, and what that would gain as a replay of
// the recorded call says.
#include "profiler/analysis/insights/insight_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/figures/figure.h"
#include "profiler/replay/best_move.h"
#include "profiler/replay/trial.h"
#include "profiler/sections/frame/insight_words.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/out_of_memory.h"
#include "profiler/sections/replays.h"

namespace pipescope::sections {
namespace {

using analysis::InsightChange;
using analysis::InsightChanges;
using analysis::PredictedGain;
using analysis::RankedInsight;

/// The options of `pipescope run` that make all of the changes.
std::string settingsText(const InsightChanges& changes) {
  std::string text;
  for (const InsightChange& change : changes)
    text += fmt::format("{}--set {}={}", text.empty() ? "" : " ", change.key, change.value);
  return text;
}

std::string changesText(const InsightChanges& changes) {
  std::string text;
  for (const InsightChange& change : changes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", change.key, change.value);
  return text;
}

/// Replays the recorded call with the changes of findings.
class GainReplay {
 public:
  GainReplay(const Context& context, bool fits)
      : changes_{context.source, context.catalog, knownSchedules()}, fits_(fits) {
    if (const std::string reason = noTrialsReason(context); !reason.empty()) {
      recording_ = base::badInput(reason);
      return;
    }
    recording_ = replay::recordingForTrials(changes_, context.executable);
    if (recording_.ok()) before_ = replay::replayedCall(changes_, *recording_);
  }

  /// Another split of the blocks, as a search by replay finds it.
  InsightChanges replanned() const {
    InsightChanges changes;
    if (!recording_.ok()) return changes;
    for (const replay::Change& move : replay::replannedSplit(changes_, *recording_))
      changes.push_back({move.key, move.value});
    return changes;
  }

  PredictedGain gainOf(const InsightChanges& wanted) const {
    std::vector<replay::Change> changes;
    PredictedGain gain;
    for (const InsightChange& change : wanted) {
      if (const std::optional<replay::Change> replayed = replayedAs(change)) {
        changes.push_back(*replayed);
      } else if (changes_.catalog.measured()) {  // There is no configuration whose keys could be changed.
        return {std::nullopt,
                fmt::format("A recording of real hardware does not tell what {} does.", change.key), false};
      } else if (gain.reason.empty()) {
        gain.reason = fmt::format("A recording does not tell what {} does; emulate it with {}.", change.key,
                                  settingsText(wanted));
      }
    }
    if (!recording_.ok()) return {std::nullopt, recording_.error().message};
    if (!before_.ok()) return {std::nullopt, before_.error().message};
    const base::Result<replay::Trial> trial = replay::tryChanges(changes_, *recording_, *before_, changes);
    if (!trial.ok()) {
      const bool possible = !isAskedOfSchedule(changes);
      // The message names a value that the run does not have, but would have with the changes.
      return {std::nullopt,
              possible ? trial.error().message
                       : fmt::format("A run with {} would be refused: {}", changesText(wanted),
                                     trial.error().message),
              possible};
    }
    if (!gain.reason.empty()) return gain;
    if (trial->fits == false)
      return {std::nullopt, fits_ ? "With it, the model would not fit in memory."
                                  : "With it, the model would still not fit in memory."};
    return {trial->gain, trial->remarks.empty() ? "" : trial->remarks.front()};
  }

 private:
  /// True if a schedule judges one of the changes. A change that a schedule refuses in a replay is also
  /// refused in a run; other errors of a replay say what the recording lacks.
  static bool isAskedOfSchedule(const std::vector<replay::Change>& changes) {
    return std::ranges::any_of(changes, [](const replay::Change& change) {
      return change.key == replay::kAccumulationKey || change.key == replay::kScheduleKey;
    });
  }

  /// The change as a replay takes it. None: only a new compilation can tell.
  static std::optional<replay::Change> replayedAs(const InsightChange& change) {
    for (const replay::ChangeKind& kind : replay::changeKinds())
      if (kind.key == change.key) return replay::Change{change.key, change.value};
    return std::nullopt;
  }

  replay::ChangeContext changes_;
  bool fits_;  ///< the recorded run fits
  base::Result<replay::Recording> recording_ = base::badInput("Nothing was replayed.");
  base::Result<replay::ReplayedCall> before_ = base::badInput("Nothing was replayed.");
};

/// True for a finding of which every change that was replayed makes the run slower. None of them is advised,
/// unless it is for memory, which costs time.
bool onlyLoses(const RankedInsight& ranked) {
  const bool forMemory = ranked.insight.severe || ranked.insight.freesMemory;
  return ranked.gain.gain && *ranked.gain.gain < 0 && !forMemory;
}

/// Says why the gain is not known, or what it assumes.
std::string gainReason(const RankedInsight& ranked) {
  if (!onlyLoses(ranked)) return ranked.gain.reason;
  return fmt::format("{}{}, makes the run {}.", kOnlyLosing, changesText(ranked.changes),
                     analysis::fasterText(*ranked.gain.gain));
}

/// Writes "What is the matter. What to do. Setting a=b would make it 12 % faster."
std::string insightSentence(const RankedInsight& ranked) {
  std::string text = ranked.insight.what + " " + ranked.insight.advice;
  const std::string changes = changesText(ranked.changes);
  const double gain = ranked.gain.gain.value_or(0);
  if (gain >= analysis::kWorthwhileGain) {
    text += fmt::format(" A replay with {} is {:.1f} % faster.", changes, 100 * gain);
  } else if (ranked.insight.severe && gain < 0 && !changes.empty()) {
    text += fmt::format(" A replay with {} is {:.1f} % slower.", changes, -100 * gain);
  } else if (ranked.gain.gain && !changes.empty()) {
    text += fmt::format(" It was {}.", changes);
  } else if (!changes.empty()) {
    text += fmt::format(" Try {}.", changes);
  }
  if (ranked.insight.bound > 0)
    text += fmt::format(" The run would be up to {} {}.", analysis::fasterText(ranked.insight.bound),
                        ranked.insight.boundText);
  return text;
}

Cell numberOr(int number) {
  return number < 0 ? Cell() : Cell(static_cast<std::int64_t>(number));
}
Cell insightText(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

SectionTable insightTable(const std::vector<RankedInsight>& all, const analysis::InsightInput& input,
                          const Words& words) {
  SectionTable table{"insights", "Findings", words.basis("last call, one replica"), {}, {}};
  table.columns = {
      {"rank", "Rank", Format::index, ""},
      {"rule", "Rule", Format::term, "name of the rule"},
      {"what", "Finding", Format::plain, "a sentence", false},
      {"figure", "Figure", Format::ratio, "what the rule measures; figure_meaning says what it is"},
      {"threshold", "Threshold", Format::ratio, "figure from which on the rule reports something"},
      {"figure_meaning", "Meaning of the figure", Format::plain, "with its denominator", false},
      {"step_share", "Share of step", Format::fraction, "part of the step time that the finding is about"},
      {"gain_fraction", "Gain", Format::fraction,
       "rate with the changes ÷ recorded rate − 1, as a replay of the recorded call says"},
      {"gain_bound_fraction", "At most", Format::fraction,
       "rate without what the finding is about ÷ recorded rate − 1: no change gains more"},
      {"gain_reason", "About the gain", Format::plain, "why it is not known, or what it assumes", false},
      {"changes", "Change", Format::plain,
       "keys of the configuration; move=BLOCK:STAGE sends a block to the neighbouring stage"},
      {"advice", "What to do", Format::plain, "a sentence", false},
      {"severe", "Severe", Format::truth, "the run cannot be done like this, or its result is worthless",
       false},
      {"page", "Seen in", Format::plain, "section of the report, and page of the window"},
      {"stage", "Stage", Format::index, ""},
      {"device", "Device", Format::index, ""},
      {"lane", "Lane", Format::plain, "of the device", false},
      {"from_cycles", "From", Format::ticks, "start of the call in which it is seen", false},
      {"to_cycles", "To", Format::ticks, "end of this call", false}};
  for (const RankedInsight& ranked : all) {
    const analysis::Insight& insight = ranked.insight;
    const bool ran = input.callEnd > input.callStart;
    table.rows.push_back(
        {static_cast<std::int64_t>(table.rows.size() + 1), insight.rule, insight.what, insight.figure,
         ranked.rule->threshold, ranked.rule->figure, insight.share > 0 ? Cell(insight.share) : Cell(),
         ranked.gain.gain && !onlyLoses(ranked) ? Cell(*ranked.gain.gain) : Cell(),
         insight.bound > 0 ? Cell(insight.bound) : Cell(), insightText(gainReason(ranked)),
         onlyLoses(ranked) ? Cell() : insightText(changesText(ranked.changes)), insight.advice,
         insight.severe, insight.page, numberOr(insight.stage), numberOr(insight.device),
         insightText(insight.lane), ran ? Cell(input.callStart.count) : Cell(),
         ran ? Cell(input.callEnd.count) : Cell()});
  }
  return table;
}

/// The best single move of the stages section.
std::optional<analysis::TriedChange> bestChangeOf(const Context& context) {
  const auto best = bestMoveOf(context);
  if (!best.ok() || !(*best)->move) return std::nullopt;
  const replay::BestMove& move = *(*best)->move;
  return analysis::TriedChange{{move.change.key, move.change.value}, move.gain, (*best)->tried};
}

base::Result<Section> makeInsights(const Context& context) {
  PIPESCOPE_ASSIGN(const auto execution, executionOf(context));
  PIPESCOPE_ASSIGN(const auto stages, stagesOf(context));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  PIPESCOPE_ASSIGN(const auto recorded, acceleratorsOf(context));
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(analysis::InsightInput input,
                   analysis::insightInput(context.source, context.catalog, context.executable, *execution,
                                          *stages, *memory, *recorded, progress));
  const GainReplay replay(context, figures::fitsInMemory(*memory));
  const analysis::InsightRule* imbalance = analysis::insightRegistry().find("imbalance");
  if (imbalance != nullptr && stages->imbalance && imbalance->exceeds(*stages->imbalance))
    input.replanned = replay.replanned();
  input.bestChange = bestChangeOf(context);
  const std::vector<RankedInsight> all =
      analysis::findInsights(input, [&](const InsightChanges& changes) { return replay.gainOf(changes); });
  Section section{"insights", "Insights", {}, {insightTable(all, input, wordsOf(context.catalog))}, {}};
  const RankedInsight* best = nullptr;
  for (const RankedInsight& ranked : all) {
    const double gain = ranked.gain.gain.value_or(-1);
    if (gain >= 0 && (best == nullptr || gain > *best->gain.gain)) best = &ranked;
    section.remarks.push_back(fmt::format("{}. {}", section.remarks.size() + 1, insightSentence(ranked)));
  }
  section.facts = {
      {"findings", "Findings", static_cast<std::int64_t>(all.size()), Format::count,
       fmt::format("Rules of {} that report something.", analysis::insightRegistry().all().size())},
      {"largest_gain_fraction", "Largest gain", best != nullptr ? Cell(*best->gain.gain) : Cell(),
       Format::fraction,
       "The largest of the gains that are known: rate with the changes of one finding ÷ recorded rate − 1."},
      {"largest_gain_changes", "It is that of", best != nullptr ? Cell(changesText(best->changes)) : Cell(),
       Format::plain, "The changes that gain most.", best != nullptr}};
  if (context.catalog.lastRunOf(context.executable) == nullptr) lack(section, kNothingRan);
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(insights) {
  registry.add({"insights", "Insights",
                "What costs time or memory, what to change, and what a replay says that it would gain", 14,
                makeInsights});
}

}  // namespace pipescope::sections

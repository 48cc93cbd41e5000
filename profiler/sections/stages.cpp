#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/pipeline/pass_medians.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/replays.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

using analysis::StagesReport;

constexpr const char* kNotReplayed =
    "Nobody can say where this iteration loses time: the recognised passes cannot be replayed within the "
    "recorded step. Some are missing, or stages, micro-batches or clocks were not recognised rightly; the "
    "section coverage shows what was recognised.";

constexpr const char* kStepsUnknown =
    "No pass lies within a known training step, so that nothing can be said of steps: bubble, flush, step "
    "time, lost "
    "times, waits. Rules of the import can name the steps.";
constexpr const char* kMicroBatchesUnknown =
    "Passes do not state their micro-batch, so that nothing can be said of what a stage takes for one. Rules "
    "of the "
    "import can name it.";

Cell optionalFigure(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell();
}

/// A figure that only a run gives.
Cell figureOfRun(const StagesReport& r, double value) {
  return r.limiting() == nullptr ? Cell() : Cell(value);
}

Cell stageCell(int stage) {
  return stage < 0 ? Cell() : Cell(static_cast<std::int64_t>(stage));
}

std::vector<Fact> stagesFacts(const StagesReport& r) {
  const auto run = [&](double value) { return r.stepsKnown ? figureOfRun(r, value) : Cell(); };
  const auto part = [&](double value) { return r.lost.replayed ? run(value) : Cell(); };
  return {
      {"limiting_stage", "Limiting stage", stageCell(r.limitingStage), Format::stage,
       "Stage whose forward + recompute + backward with its host copies and exchange take longest. The "
       "others wait for it."},
      {"slowest_stage", "Computes longest", stageCell(r.slowestStage), Format::stage,
       "Stage with the largest forward + recompute + backward."},
      {"imbalance", "Imbalance", optionalFigure(r.imbalance), Format::ratio,
       "Largest ÷ mean of forward + recompute + backward, over the devices that hold a stage."},
      {"imbalance_forward", "  forward", optionalFigure(r.imbalanceForward), Format::ratio,
       "The same for forward passes alone.", r.imbalanceBackward.has_value() || !r.imbalanceForward},
      {"imbalance_backward", "  recompute + backward", optionalFigure(r.imbalanceBackward), Format::ratio,
       "The same for recompute and backward passes; empty without backward passes.",
       r.imbalanceBackward.has_value() || !r.imbalanceForward},
      {"bubble_fraction", "Bubble", run(r.bubble.fraction()), Format::fraction,
       "1 − busy ÷ (devices with a stage × flush), mean over iterations."},
      {"bubble_ramp_up", "  ramp-up", run(r.bubble.rampUp), Format::fraction,
       "Part of the bubble in the ramp-up, before the first pipeline cycle in which all stages do all their "
       "passes (in a schedule without cycles: until the last stage begins)."},
      {"bubble_steady", "  steady", run(r.bubble.steady), Format::fraction,
       "Part of the bubble while all stages work."},
      {"bubble_ramp_down", "  ramp-down", run(r.bubble.rampDown), Format::fraction,
       "Part of the bubble in the ramp-down, after the last such cycle (without cycles: after the first "
       "stage "
       "has finished)."},
      {"bubble_exchange", "  of which exchange", run(r.bubble.exchange), Format::fraction,
       "Part of the bubble during which devices exchange data or synchronise."},
      {"flush_cycles", "Flush", run(r.flush), Format::ticks,
       "From the first forward's start to the last backward's end (inference: the last forward's), mean over "
       "iterations."},
      {"step_cycles", "Step time", run(r.lost.step), Format::ticks,
       "Length of one iteration: a flush with its update, host copies and waits. Length of the last call ÷ "
       "its iterations; of a recorded run, the time from its first pass to its last one ÷ its iterations."},
      {"useful_cycles", "  useful", part(r.lost.useful), Format::ticks,
       "Micro-batches × mean of forward + recompute + backward."},
      {"lost_fill_and_drain_cycles", "  lost to fill and drain", part(r.lost.fillAndDrain), Format::ticks,
       "Time if every stage took the mean and nothing were exchanged, minus the useful time."},
      {"lost_imbalance_cycles", "  lost to imbalance", part(r.lost.imbalance), Format::ticks,
       "Time with the actual stages minus time if every stage took the mean, both without exchange."},
      {"lost_exchange_update_host_cycles", "  lost to exchange, update, host",
       part(r.lost.exchangeUpdateHost), Format::ticks,
       "The rest of the step time: exchange, sync, update, stream copies and host."},
  };
}

/// Adds the estimated bubble with more micro-batches. Text shows it if the profile contains it.
void addForecast(const Context& context, std::vector<Fact>& all) {
  const auto add = [&](const char* outcome, const char* key, const char* label, const char* doc) {
    const auto value = context.catalog.outcome(context.executable, outcome);
    const auto place =
        std::find_if(all.begin(), all.end(), [](const Fact& f) { return f.key == "flush_cycles"; });
    all.insert(place, {key, label, value ? Cell(*value) : Cell(), Format::fraction, doc, value.has_value()});
  };
  add("bubble_fraction_2g", "bubble_fraction_2g", "  with 2 × micro-batches",
      "What the bubble would be with twice the micro-batches in an iteration, all else equal.");
  add("bubble_fraction_4g", "bubble_fraction_4g", "  with 4 × micro-batches",
      "What it would be with four times the micro-batches.");
  add("bubble_fraction_limit", "bubble_fraction_limit", "  with ever more micro-batches",
      "What it would approach with ever more micro-batches: the cost of imbalance and exchange alone.");
}

/// The waits for every cause. Without a call they have no value.
Breakdown waitParts(const analysis::StageReport& stage, bool ran) {
  Breakdown parts;
  for (int i = 0; i <= static_cast<int>(model::WaitCause::update); ++i) {
    const auto cause = static_cast<model::WaitCause>(i);
    const auto found = stage.waits.find(cause);
    const double ticks = found == stage.waits.end() ? 0 : found->second;
    parts.emplace_back(model::toString(cause), ran ? Amount(ticks) : Amount());
  }
  return parts;
}

using Medians = std::map<int, analysis::PassMedians>;

/// Text shows medians of recorded runs, where outliers make means long.
SectionTable stageTable(const StagesReport& r, const Medians& medians, bool recorded, const Words& words,
                        bool ran) {
  SectionTable table{"stages", "Stages", words.per("micro-batch; update and waits per iteration"), {}, {}};
  const std::string busy = busyHeading(hasRecompute(r));
  table.columns = {
      {"index", "Stage", Format::index, ""},
      {"device", "Device", Format::index, "Device index"},
      {"device_name", "Name", Format::plain, "", false},
      {"blocks", "Blocks", Format::list, ""},
      {"forward_cycles", "Forward", Format::ticks, "per micro-batch"},
      {"recompute_cycles", "Recompute", Format::ticks, "per micro-batch"},
      {"backward_cycles", "Backward", Format::ticks, "per micro-batch, weight gradients included"},
      {"busy_cycles", busy, Format::ticks, "per micro-batch"},
      {"host_in_cycles", "Host in", Format::ticks, "per micro-batch"},
      {"host_out_cycles", "Host out", Format::ticks, "per micro-batch, mean"},
      {"remote_cycles", "Remote", Format::ticks, "loads and stores of remote buffers, per micro-batch"},
      {"collective_cycles", "Collectives", Format::ticks,
       "collectives within passes, such as gathers of divided weights, per micro-batch"},
      {"exchange_cycles", "Exchange", Format::ticks,
       "per micro-batch, transfers of its device that keep it from computing"},
      {"occupied_cycles", "Occupied", Format::ticks,
       busy + " with host copies, remote buffers, collectives and exchange, per micro-batch"},
      {"limits", "Limits", Format::truth, "occupied is the largest, or within 1 % of it", false},
      {"update_cycles", "Update", Format::ticks, "per iteration"},
      {"share", "Share", Format::fraction, "of all stages' " + busy},
      {"ratio_to_slowest", "÷ longest", Format::ratio, busy + " ÷ that of the stage that computes longest"},
      {"forward_median_cycles", "Median F", Format::ticks, "of forward passes, over all micro-batches",
       recorded},
      {"backward_median_cycles", "Median B", Format::ticks,
       "of backward passes with weight gradients, over all micro-batches", recorded},
      {"waits", "Waits", Format::ticks, "per iteration, by cause", true, waitCauseNames()}};
  const auto ifRan = [&](double value) { return ran ? Cell(value) : Cell(); };
  const auto ofMicroBatch = [&](double value) { return r.microBatchesKnown ? ifRan(value) : Cell(); };
  for (const analysis::StageReport& s : r.stages) {
    if (!s.recorded) {
      table.rows.emplace_back(table.columns.size());
      table.rows.back()[0] = static_cast<std::int64_t>(s.index);
      continue;
    }
    std::vector<Cell> row = {static_cast<std::int64_t>(s.index), static_cast<std::int64_t>(s.device),
                             s.deviceName, s.blocks};
    for (const double ticks : {s.forward, s.recompute, s.backward + s.weightGradient, s.busy, s.hostIn,
                               s.hostOut, s.remote, s.collective, s.exchange, s.occupied})
      row.push_back(ofMicroBatch(ticks));
    row.push_back(ran && r.missing.empty() ? Cell(s.limits) : Cell());
    row.push_back(r.stepsKnown ? ifRan(s.update) : Cell());
    for (const double ticks : {s.share, s.ratioToSlowest}) row.push_back(ifRan(ticks));
    const auto median = medians.find(s.index);
    const analysis::PassMedians own = median == medians.end() ? analysis::PassMedians() : median->second;
    row.push_back(r.microBatchesKnown ? optionalFigure(own.forward) : Cell());
    row.push_back(r.microBatchesKnown ? optionalFigure(own.backward) : Cell());
    row.emplace_back(waitParts(s, ran && r.stepsKnown));
    table.rows.push_back(std::move(row));
  }
  hideUnused(table, {"remote_cycles", "collective_cycles"});
  if (!ran) return table;
  hideUnused(table, {"recompute_cycles", "backward_cycles", "host_in_cycles", "host_out_cycles",
                     "exchange_cycles", "update_cycles"});
  const auto hidden = [&](const char* key) {
    return !std::ranges::find(table.columns, key, &SectionColumn::key)->inText;
  };
  // The sum of the passes would repeat the only one.
  if (hidden("recompute_cycles") && hidden("backward_cycles"))
    std::ranges::find(table.columns, "busy_cycles", &SectionColumn::key)->inText = false;
  if (hidden("update_cycles")) table.basis = words.per("micro-batch; waits per iteration");
  return table;
}

SectionTable memoryTable(const StagesReport& r, const Words& words) {
  SectionTable table{"memory", "Memory per stage", "of the stage's device, one replica", {}, {}};
  table.columns = {
      {"index", "Stage", Format::index, ""},
      {"always_live_bytes", "Always live", Format::bytes, "sum over units"},
      {"not_always_live_peak_bytes", "Peak not always live", Format::bytes,
       "largest over program steps, sum over units"},
      {"stash_entries", "Stash entries", Format::index, "micro-batches"},
      {"stash_bytes", "Stash", Format::bytes, "part of always live"},
      {"worst_tile", "Fullest tile", Format::index, "", words.tiles},
      {"worst_tile_bytes", words.tiles ? "Used on it" : "Used", Format::bytes, "without gaps"},
      {"free_bytes", words.tiles ? "Free on it" : "Free", Format::bytes, "capacity minus used bytes"},
      {"largest_span_bytes", words.tiles ? "Largest address span" : "Address span", Format::bytes,
       "bytes with the gaps between variables; decides whether it fits"}};
  // A recorded trace does not say what stages hold.
  const bool known = std::ranges::any_of(
      r.stages, [](const analysis::StageReport& s) { return s.memory || s.stashEntries > 0; });
  if (!known) return table;
  for (const analysis::StageReport& s : r.stages) {
    if (!s.memory) {
      table.rows.push_back({static_cast<std::int64_t>(s.index), {}, {}, s.stashEntries, {}, {}, {}, {}, {}});
      continue;
    }
    table.rows.push_back({static_cast<std::int64_t>(s.index), s.memory->alwaysLive.count,
                          s.memory->peakNotAlwaysLive.count, s.stashEntries, s.memory->stash.count,
                          words.tiles ? Cell(s.memory->worstUnit) : Cell(), s.memory->worstUnitBytes.count,
                          s.memory->freeBytes.count, s.memory->worstSpan.count});
  }
  hideUnused(table, {"always_live_bytes", "not_always_live_peak_bytes", "stash_entries", "stash_bytes",
                     "worst_tile_bytes", "free_bytes", "largest_span_bytes"});
  return table;
}

SectionTable boundaryTable(const StagesReport& r, const Words& words) {
  SectionTable table{"boundaries", "Boundaries", words.basis("per micro-batch"), {}, {}};
  table.columns = {{"from_stage", "From", Format::index, ""},
                   {"to_stage", "To", Format::index, ""},
                   {"direction", "Direction", Format::plain, ""},
                   {"tensor", "Tensor", Format::plain, ""},
                   {"shape", "Shape", Format::plain, ""},
                   {"bytes", "Bytes", Format::bytes, ""},
                   {"cycles", words.cycles(), Format::ticks, "of its copy when nothing else uses the link"}};
  for (const analysis::BoundaryReport& b : r.boundaries) {
    table.rows.push_back({static_cast<std::int64_t>(b.fromStage), static_cast<std::int64_t>(b.toStage),
                          model::toString(b.kind), b.tensor, words.bytes ? Cell(b.shape) : Cell(),
                          words.bytes || b.bytes.count > 0 ? Cell(b.bytes.count) : Cell(), b.ticks.count});
  }
  hideUnused(table, {"shape", "bytes"});
  return table;
}

base::Result<Section> makeStages(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, stagesOf(context));
  const StagesReport& report = *made;
  const Words words = wordsOf(context.catalog);
  const bool called = context.catalog.lastRunOf(context.executable) != nullptr;
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  const bool ran = called && recorded.placements;
  Section section{"stages", "Stages", stagesFacts(report), {}, {}};
  PIPESCOPE_ASSIGN(const Medians medians,
                   analysis::passMedians(context.source, context.catalog, context.executable));
  section.tables = {
      stageTable(report, medians, context.catalog.measured(), words, ran), memoryTable(report, words),
      stageOperationTable(report, report.missing.empty() ? report.limitingStage : report.slowestStage, words),
      boundaryTable(report, words)};
  addForecast(context, section.facts);
  PIPESCOPE_ASSIGN(const auto best, bestMoveOf(context));
  for (Fact& fact : bestMoveFacts(*best)) section.facts.push_back(std::move(fact));
  section.remarks = limitingRemarks(report, words.time);
  if (report.slowReplica) section.remarks.push_back(slowReplicaText(*report.slowReplica));
  if (best->move) section.remarks.push_back(bestMoveText(*best));
  if (!report.lost.replayed) section.remarks.push_back(kNotReplayed);
  if (!report.stepsKnown) section.remarks.push_back(kStepsUnknown);
  if (!report.microBatchesKnown) section.remarks.push_back(kMicroBatchesUnknown);
  if (!ran)
    lack(section, called ? nothingPlaced(context.catalog) : kNothingRan);
  else if (context.catalog.measured() && report.stages.empty())
    lack(section, kNoPassesRecognised);
  else if (!report.missing.empty())
    section.remarks.insert(section.remarks.begin(), missingStagesText(report));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(stages) {
  registry.add({"stages", "Stages",
                "Cost per stage and pass, imbalance, bubble, lost times, memory, boundaries", 30,
                makeStages});
}

}  // namespace pipescope::sections

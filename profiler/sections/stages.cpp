#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/analysis/pipeline/pass_medians.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/figure_facts.h"
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

std::vector<Fact> stagesFacts(const figures::Analyses& from) {
  std::vector<Fact> facts = {factOf("limiting_stage", from), factOf("slowest_stage", from),
                             factOf("imbalance", from)};
  // The imbalance of the forward passes would repeat that of all passes if nothing is trained.
  const StagesReport& r = *from.stages;
  for (const char* key : {"imbalance_forward", "imbalance_backward"}) {
    facts.push_back(partOf(key, from));
    if (r.imbalanceForward && !r.imbalanceBackward) facts.back().inText = false;
  }
  facts.push_back(factOf("bubble_fraction", from));
  for (const char* key : {"bubble_ramp_up", "bubble_steady", "bubble_ramp_down", "bubble_exchange"})
    facts.push_back(partOf(key, from));
  for (const char* key : {"flush_cycles", "step_cycles"}) facts.push_back(factOf(key, from));
  for (Fact& fact : stepIntervalFacts(from)) facts.push_back(std::move(fact));
  for (const char* key : figures::kStepParts) facts.push_back(partOf(key, from));
  return facts;
}

/// Adds the estimated bubble with more micro-batches. Text shows it if the profile contains it.
void addForecast(const Context& context, bool oneStage, std::vector<Fact>& all) {
  const auto add = [&](const char* outcome, const char* key, const char* label, const char* doc) {
    const auto value = context.catalog.outcome(context.executable, outcome);
    const auto place =
        std::find_if(all.begin(), all.end(), [](const Fact& f) { return f.key == "flush_cycles"; });
    all.insert(place, {key, label, value ? Cell(*value) : Cell(), Format::fraction, doc,
                       value.has_value() && !oneStage});
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

constexpr const char* kTimesOfMicroBatch[] = {
    "forward_cycles",  "recompute_cycles", "backward_cycles",   "busy_cycles",     "host_in_cycles",
    "host_out_cycles", "remote_cycles",    "collective_cycles", "exchange_cycles", "occupied_cycles"};

/// Text shows medians of recorded runs, where outliers make means long.
SectionTable stageTable(const StagesReport& r, const Medians& medians, bool recorded, const Words& words,
                        bool ran) {
  SectionTable table{"stages", "Stages", words.per("micro-batch; update and waits per iteration"), {}, {}};
  const std::string busy = figures::busyLabel(figures::hasRecompute(r));
  table.columns = {{"index", "Stage", Format::index, ""},
                   {"device", "Device", Format::index, "Device index"},
                   {"device_name", "Name", Format::plain, "", false},
                   {"blocks", "Blocks", Format::list, ""}};
  for (const char* key : kTimesOfMicroBatch) table.columns.push_back(columnOf(key));
  std::ranges::find(table.columns, "busy_cycles", &SectionColumn::key)->heading = busy;
  const std::vector<SectionColumn> others = {
      {"limits", "Limits", Format::truth, "occupied is the largest, or within 1 % of it", false},
      columnOf("update_cycles"),
      {"share", "Share", Format::fraction, "of all stages' " + busy},
      {"ratio_to_slowest", "÷ longest", Format::ratio, busy + " ÷ that of the stage that computes longest"},
      {"forward_median_cycles", "Median F", Format::ticks, "of forward passes, over all micro-batches",
       recorded},
      {"backward_median_cycles", "Median B", Format::ticks,
       "of backward passes with weight gradients, over all micro-batches", recorded},
      {"waits", "Waits", Format::ticks, "per iteration, by cause", true, waitCauseNames()}};
  table.columns.insert(table.columns.end(), others.begin(), others.end());
  const auto ifRan = [&](double value) { return ran ? Cell(value) : Cell(); };
  for (const analysis::StageReport& s : r.stages) {
    if (!s.recorded) {
      table.rows.emplace_back(table.columns.size());
      table.rows.back()[0] = static_cast<std::int64_t>(s.index);
      continue;
    }
    std::vector<Cell> row = {static_cast<std::int64_t>(s.index), static_cast<std::int64_t>(s.device),
                             s.deviceName, s.blocks};
    for (const char* key : kTimesOfMicroBatch)
      row.push_back(ran && r.microBatchesKnown ? figures::stageFigure(key).value(s) : Cell());
    row.push_back(ran && r.missing.empty() ? Cell(s.limits) : Cell());
    row.push_back(r.stepsKnown ? ifRan(s.update) : Cell());
    for (const double ticks : {s.share, s.ratioToSlowest}) row.push_back(ifRan(ticks));
    const auto median = medians.find(s.index);
    const analysis::PassMedians own = median == medians.end() ? analysis::PassMedians() : median->second;
    row.push_back(r.microBatchesKnown ? figures::cellOf(own.forward) : Cell());
    row.push_back(r.microBatchesKnown ? figures::cellOf(own.backward) : Cell());
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
  const auto named = [&](const char* key) {
    SectionColumn column = columnOf(key);
    column.heading = forUnits(column.heading, words.tiles);
    return column;
  };
  table.columns = {{"index", "Stage", Format::index, ""},
                   named("always_live_bytes"),
                   named("not_always_live_peak_bytes"),
                   {"stash_entries", "Stash entries", Format::index, "micro-batches"},
                   named("stash_bytes"),
                   {"worst_tile", "Tile", Format::index, "the fullest", words.tiles},
                   named("worst_tile_bytes"),
                   named("free_bytes"),
                   named("largest_span_bytes")};
  // A recorded trace does not say what stages hold.
  const bool known = std::ranges::any_of(
      r.stages, [](const analysis::StageReport& s) { return s.memory || s.stashEntries > 0; });
  if (!known) return table;
  for (const analysis::StageReport& s : r.stages) {
    const auto of = [&](const char* key) { return figures::stageFigure(key).value(s); };
    table.rows.push_back({static_cast<std::int64_t>(s.index), of("always_live_bytes"),
                          of("not_always_live_peak_bytes"), s.stashEntries, of("stash_bytes"),
                          words.tiles && s.memory ? Cell(s.memory->worstUnit) : Cell(),
                          of("worst_tile_bytes"), of("free_bytes"), of("largest_span_bytes")});
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

/// The table of what stages send along each axis of the mesh.
SectionTable communicationTable(const std::vector<analysis::AxisCommunication>& axes, const Words& words) {
  SectionTable table{
      "communication", "Communication by axis", words.per("iteration, on one chip of the stage"), {}, {}};
  table.columns = {
      {"stage", "Stage", Format::index, ""},
      {"axis", "Axis", Format::plain, "Axis of the mesh along which the chips lie."},
      {"ranks", "Chips", Format::count, "The most chips that take part."},
      {"count", "Collectives", Format::amount, ""},
      {"sent_bytes", "Sent", Format::bytes, "That the chip sends, if tensors go round a ring."},
      {"cycles", words.cycles(), Format::ticks, "Length of all collectives."},
      {"exposed_cycles", "Exposed", Format::ticks, "Part during which no other engine of the chip works."},
      {"hidden_cycles", "Hidden", Format::ticks, "Part during which another engine works."},
      {"share", "Share", Format::fraction, "Length of all collectives ÷ length of an iteration."}};
  for (const analysis::AxisCommunication& a : axes)
    table.rows.push_back({static_cast<std::int64_t>(a.stage), model::toString(a.axis), a.ranks, a.count,
                          a.sent, a.ticks, a.exposed, a.ticks - a.exposed, a.share});
  return table;
}

base::Result<Section> makeStages(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, stagesOf(context));
  const StagesReport& report = *made;
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  const figures::Analyses analyses{.catalog = &context.catalog,
                                   .executable = context.executable,
                                   .stages = made.get(),
                                   .placed = recorded.placements};
  const Words words = wordsOf(context.catalog);
  const bool called = context.catalog.lastRunOf(context.executable) != nullptr;
  const bool ran = called && analyses.placed;
  Section section{"stages", "Stages", stagesFacts(analyses), {}, {}};
  PIPESCOPE_ASSIGN(const Medians medians,
                   analysis::passMedians(context.source, context.catalog, context.executable));
  section.tables = {
      stageTable(report, medians, context.catalog.measured(), words, ran), memoryTable(report, words),
      stageOperationTable(report, report.missing.empty() ? report.limitingStage : report.slowestStage, words),
      boundaryTable(report, words)};
  PIPESCOPE_ASSIGN(const auto collectives,
                   analysis::collectiveUses(context.source, context.catalog, context.executable));
  section.tables.push_back(communicationTable(analysis::communicationByAxis(collectives), words));
  addForecast(context, figures::hasOneStage(analyses), section.facts);
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

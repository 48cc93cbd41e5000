#include "profiler/analysis/pipeline/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/sections/section.h"
#include "profiler/sections/wording.h"

namespace pipescope::sections {
namespace {

using analysis::StagesReport;

std::vector<Fact> stagesFacts(const StagesReport& r) {
  const auto ticks = [](double value) { return Cell(value); };
  return {
      {"imbalance", "Imbalance", r.imbalance, Format::ratio,
       "Largest ÷ mean of forward + recompute + backward over devices that hold a stage."},
      {"imbalance_forward", "  forward", r.imbalanceForward, Format::ratio, "Over forward passes."},
      {"imbalance_backward", "  recompute + backward", r.imbalanceBackward, Format::ratio,
       "Over recompute and backward passes."},
      {"slowest_stage", "Slowest stage", static_cast<std::int64_t>(r.slowestStage), Format::plain,
       "Stage with the largest forward + recompute + backward."},
      {"bubble_fraction", "Bubble", r.bubbleFraction, Format::fraction,
       "1 − busy ÷ (devices with a stage × time from first forward to last backward), mean over iterations."},
      {"bubble_ramp_up", "  ramp-up", r.bubbleRampUp, Format::fraction,
       "Part of the bubble before the first full cycle."},
      {"bubble_steady", "  steady", r.bubbleSteady, Format::fraction,
       "Part of the bubble while all stages work."},
      {"bubble_ramp_down", "  ramp-down", r.bubbleRampDown, Format::fraction,
       "Part of the bubble after the last full cycle."},
      {"bubble_exchange", "  of it exchange", r.exchangeShareOfBubble, Format::fraction,
       "Part of the bubble in which inter-device exchange or sync goes on."},
      {"step_cycles", "Step", ticks(r.lost.step), Format::ticks,
       "One iteration: all micro-batches and the weight update; a share of the call's overhead."},
      {"useful_cycles", "  useful", ticks(r.lost.useful), Format::ticks,
       "Micro-batches × mean of forward + recompute + backward."},
      {"lost_fill_and_drain_cycles", "  lost to fill and drain", ticks(r.lost.fillAndDrain), Format::ticks,
       "With every stage at the mean, without exchange, minus useful."},
      {"lost_imbalance_cycles", "  lost to imbalance", ticks(r.lost.imbalance), Format::ticks,
       "With actual stages minus with every stage at the mean, both without exchange."},
      {"lost_exchange_update_host_cycles", "  lost to exchange, update, host",
       ticks(r.lost.exchangeUpdateHost), Format::ticks,
       "The rest: exchange, sync, update, stream copies, host."},
  };
}

/// What the bubble would be with more micro-batches, where the run says so.
void addForecast(const Context& context, std::vector<Fact>& all) {
  const auto add = [&](const char* outcome, const char* key, const char* label, const char* doc) {
    if (const auto value = context.catalog.outcome(context.executable, outcome)) {
      const auto place =
          std::find_if(all.begin(), all.end(), [](const Fact& f) { return f.key == "step_cycles"; });
      all.insert(place, {key, label, *value, Format::fraction, doc});
    }
  };
  add("bubble_fraction_2g", "bubble_fraction_2g", "  with 2 × micro-batches",
      "What the bubble would be with twice the micro-batches in an iteration, all else equal.");
  add("bubble_fraction_4g", "bubble_fraction_4g", "  with 4 × micro-batches",
      "Likewise with four times as many.");
  add("bubble_fraction_limit", "bubble_fraction_limit", "  with ever more",
      "Likewise in the limit: what imbalance and exchange alone cost.");
}

double occupied(const analysis::StageReport& stage) {
  return stage.busy + stage.hostIn + stage.hostOut;
}

/// Says so where stream copies, not computing, make a stage the one that all wait for.
void remarkLimitingStage(const StagesReport& r, const TickUnit& unit, Section& section) {
  const auto limiting = std::max_element(r.stages.begin(), r.stages.end(), [](const auto& a, const auto& b) {
    return occupied(a) < occupied(b);
  });
  // Where nothing has run no stage is slowest; a damaged file may also name one that is not there.
  if (limiting == r.stages.end() || static_cast<std::size_t>(r.slowestStage) >= r.stages.size()) return;
  section.facts.push_back(
      {"limiting_stage", "Longest with stream copies", static_cast<std::int64_t>(limiting->index),
       Format::plain,
       "Stage whose F+R+B and stream copies together take longest: it sets the length of a full cycle."});
  if (limiting->index == r.slowestStage) return;
  section.remarks.push_back(fmt::format(
      "Stage {} computes longest, but with its stream copies stage {} takes longer ({} against "
      "{} {} per micro-batch): the others wait for it.",
      r.slowestStage, limiting->index, formatCell(occupied(*limiting), Format::ticks, unit.ticks),
      formatCell(occupied(r.stages[static_cast<std::size_t>(r.slowestStage)]), Format::ticks, unit.ticks),
      unit.word));
}

Breakdown waitsOf(const analysis::StageReport& stage) {
  Breakdown parts;
  for (const auto& [cause, ticks] : stage.waits) {
    if (ticks > 0) parts.emplace_back(model::toString(cause), ticks);
  }
  return parts;
}

Table stageTable(const StagesReport& r) {
  Table table{"stages", "Stages", "cycles per micro-batch; update and waits per iteration", {}, {}};
  table.columns = {
      {"index", "Stage", Format::plain, ""},
      {"device", "Device", Format::plain, "Device index"},
      {"blocks", "Blocks", Format::list, ""},
      {"forward_cycles", "Forward", Format::ticks, "per micro-batch"},
      {"recompute_cycles", "Recompute", Format::ticks, "per micro-batch"},
      {"backward_cycles", "Backward", Format::ticks, "per micro-batch, weight gradients included"},
      {"busy_cycles", "F+R+B", Format::ticks, "per micro-batch"},
      {"occupied_cycles", "With copies", Format::ticks,
       "F+R+B and stream copies, per micro-batch: what the stage adds to a cycle"},
      {"update_cycles", "Update", Format::ticks, "per iteration"},
      {"host_in_cycles", "Host in", Format::ticks, "per micro-batch"},
      {"host_out_cycles", "Host out", Format::ticks, "per micro-batch, mean"},
      {"share", "Share", Format::fraction, "of all stages' F+R+B"},
      {"ratio_to_slowest", "÷ slowest", Format::ratio, ""},
      {"waits", "Waits", Format::ticks, "per iteration, by cause"}};
  for (const analysis::StageReport& s : r.stages) {
    table.rows.push_back({static_cast<std::int64_t>(s.index), static_cast<std::int64_t>(s.device), s.blocks,
                          s.forward, s.recompute, s.backward + s.weightGradient, s.busy, occupied(s),
                          s.update, s.hostIn, s.hostOut, s.share, s.ratioToSlowest, waitsOf(s)});
  }
  return table;
}

Table memoryTable(const StagesReport& r) {
  Table table{"memory", "Memory per stage", "of the stage's device, one replica", {}, {}};
  table.columns = {{"index", "Stage", Format::plain, ""},
                   {"always_live_bytes", "Always live", Format::bytes, "sum over units"},
                   {"not_always_live_peak_bytes", "Peak not always live", Format::bytes,
                    "largest over program steps, sum over units"},
                   {"stash_entries", "Stash entries", Format::plain, "micro-batches"},
                   {"stash_bytes", "Stash", Format::bytes, "part of always live"},
                   {"worst_tile", "Worst tile", Format::plain, "fullest unit"},
                   {"worst_tile_bytes", "Its bytes", Format::bytes, "including gaps"},
                   {"free_bytes", "Free on it", Format::bytes, "capacity minus its bytes"}};
  for (const analysis::StageReport& s : r.stages) {
    if (!s.memory) {
      table.rows.push_back({static_cast<std::int64_t>(s.index), {}, {}, s.stashEntries, {}, {}, {}, {}});
      continue;
    }
    table.rows.push_back({static_cast<std::int64_t>(s.index), s.memory->alwaysLive.count,
                          s.memory->peakNotAlwaysLive.count, s.stashEntries, s.memory->stash.count,
                          s.memory->worstUnit, s.memory->worstUnitBytes.count, s.memory->freeBytes.count});
  }
  return table;
}

Table operationTable(const StagesReport& r) {
  Table table{"slowest_operations",
              fmt::format("What makes stage {} slow", r.slowestStage),
              "cycles per micro-batch; share of the stage's F+R+B",
              {},
              {}};
  table.columns = {{"name", "Operation", Format::plain, ""},
                   {"kind", "Type", Format::plain, ""},
                   {"pass", "Pass", Format::plain, ""},
                   {"cycles", "Cycles", Format::ticks, ""},
                   {"share", "Share", Format::fraction, ""}};
  for (const analysis::StageOperation& op : r.slowestOperations) {
    table.rows.push_back({op.name, op.kind, model::toString(op.pass), op.ticksPerMicroBatch, op.share});
  }
  return table;
}

Table boundaryTable(const StagesReport& r) {
  Table table{"boundaries", "Boundaries", "per micro-batch", {}, {}};
  table.columns = {{"from_stage", "From", Format::plain, ""},
                   {"to_stage", "To", Format::plain, ""},
                   {"direction", "Direction", Format::plain, ""},
                   {"tensor", "Tensor", Format::plain, ""},
                   {"shape", "Shape", Format::plain, ""},
                   {"bytes", "Bytes", Format::bytes, ""},
                   {"cycles", "Cycles", Format::ticks, "of its copy alone on the link"}};
  for (const analysis::BoundaryReport& b : r.boundaries) {
    table.rows.push_back({static_cast<std::int64_t>(b.fromStage), static_cast<std::int64_t>(b.toStage),
                          model::toString(b.kind), b.tensor, b.shape, b.bytes.count, b.ticks.count});
  }
  return table;
}

base::Result<Section> makeStages(const Context& context) {
  PIPESCOPE_ASSIGN(const StagesReport report,
                   analysis::stagesReport(context.source, context.catalog, context.executable));
  Section section{"stages", "Stages", stagesFacts(report), {stageTable(report), memoryTable(report)}, {}};
  addForecast(context, section.facts);
  remarkLimitingStage(report, tickUnitOf(context.catalog), section);
  if (!report.slowestOperations.empty()) section.tables.push_back(operationTable(report));
  if (!report.boundaries.empty()) section.tables.push_back(boundaryTable(report));
  if (context.catalog.lastRunOf(context.executable) == nullptr)
    section.remarks.push_back("Nothing has run: times are missing.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(stages) {
  registry.add({"stages", "Stages",
                "Cost per stage and pass, imbalance, bubble, lost times, memory, boundaries", 30,
                makeStages});
}

}  // namespace pipescope::sections

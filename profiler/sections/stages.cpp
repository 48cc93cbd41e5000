#include <fmt/format.h>

#include <algorithm>

#include "profiler/sections/reports.h"
#include "profiler/sections/words.h"

namespace pipescope::sections {
namespace {

using analysis::StagesReport;

/// Stages without any time, as in a profile without a call, have no ratio.
Cell ratio(double value) {
  return value > 0 ? Cell(value) : Cell();
}

Cell stageCell(int stage) {
  return stage < 0 ? Cell() : Cell(static_cast<std::int64_t>(stage));
}

std::vector<Fact> stagesFacts(const StagesReport& r, const Words& words, bool ran) {
  const auto ifRan = [&](double value) { return ran ? Cell(value) : Cell(); };
  return {
      {"imbalance", "Imbalance", ratio(r.imbalance), Format::ratio,
       "Largest ÷ mean of forward + recompute + backward, over the devices that hold a stage."},
      {"imbalance_forward", "  forward", ratio(r.imbalanceForward), Format::ratio,
       "The same for forward passes alone."},
      {"imbalance_backward", "  recompute + backward", ratio(r.imbalanceBackward), Format::ratio,
       "The same for recompute and backward passes."},
      {"slowest_stage", "Slowest stage", stageCell(r.slowestStage), Format::stage,
       "Stage with the largest forward + recompute + backward."},
      {"bubble_fraction", "Bubble", ifRan(r.bubbleFraction), Format::fraction,
       "1 − busy ÷ (devices with a stage × time from first forward to last backward), mean over iterations."},
      {"bubble_ramp_up", "  ramp-up", ifRan(r.bubbleRampUp), Format::fraction,
       "Part of the bubble before the first full cycle."},
      {"bubble_steady", "  steady", ifRan(r.bubbleSteady), Format::fraction,
       "Part of the bubble while all stages work."},
      {"bubble_ramp_down", "  ramp-down", ifRan(r.bubbleRampDown), Format::fraction,
       "Part of the bubble after the last full cycle."},
      {"bubble_exchange", "  of it exchange", ifRan(r.exchangeShareOfBubble), Format::fraction,
       "Part of the bubble during which devices exchange data or synchronise."},
      {"step_cycles", words.timed("Step"), ifRan(r.lost.step), Format::ticks,
       "One iteration: all micro-batches, the weight update and its share of the call's overhead."},
      {"useful_cycles", words.timed("  useful"), ifRan(r.lost.useful), Format::ticks,
       "Micro-batches × mean of forward + recompute + backward."},
      {"lost_fill_and_drain_cycles", words.timed("  lost to fill and drain"), ifRan(r.lost.fillAndDrain),
       Format::ticks, "Time if every stage took the mean and nothing were exchanged, minus the useful time."},
      {"lost_imbalance_cycles", words.timed("  lost to imbalance"), ifRan(r.lost.imbalance), Format::ticks,
       "Time with the actual stages minus time if every stage took the mean, both without exchange."},
      {"lost_exchange_update_host_cycles", words.timed("  lost to exchange, update, host"),
       ifRan(r.lost.exchangeUpdateHost), Format::ticks,
       "The rest of the step: exchange, sync, update, stream copies and host."},
  };
}

/// Adds the estimated bubble with more micro-batches. Text shows it if the profile contains it.
void addForecast(const Context& context, std::vector<Fact>& all) {
  const auto add = [&](const char* outcome, const char* key, const char* label, const char* doc) {
    const auto value = context.catalog.outcome(context.executable, outcome);
    const auto place =
        std::find_if(all.begin(), all.end(), [](const Fact& f) { return f.key == "step_cycles"; });
    all.insert(place, {key, label, value ? Cell(*value) : Cell(), Format::fraction, doc, value.has_value()});
  };
  add("bubble_fraction_2g", "bubble_fraction_2g", "  with 2 × micro-batches",
      "What the bubble would be with twice the micro-batches in an iteration, all else equal.");
  add("bubble_fraction_4g", "bubble_fraction_4g", "  with 4 × micro-batches",
      "What it would be with four times the micro-batches.");
  add("bubble_fraction_limit", "bubble_fraction_limit", "  with ever more micro-batches",
      "What it would approach with ever more micro-batches: the cost of imbalance and exchange alone.");
}

/// Names the stage that the others wait for. Adds a remark if its stream copies are the reason.
void remarkLimitingStage(const StagesReport& r, const ShownTime& time, Section& section) {
  const analysis::StageReport *slowest = r.slowest(), *limiting = r.limiting();
  section.facts.push_back(
      {"limiting_stage", "Slowest stage including host copies", stageCell(r.limitingStage), Format::stage,
       "The stage whose passes and host copies together take longest. The others wait for it."});
  if (slowest == nullptr || limiting == nullptr || limiting->index == r.slowestStage) return;
  section.remarks.push_back(fmt::format(
      "Stage {} computes longest, but stage {} takes longer with its host copies: {} instead of {} {} per "
      "micro-batch. The other stages wait for it.",
      r.slowestStage, limiting->index, formatCell(limiting->occupied, Format::ticks, time.ticks),
      formatCell(slowest->occupied, Format::ticks, time.ticks), time.unit));
}

/// The waits for every cause. Without a call they have no value.
Breakdown waitsOf(const analysis::StageReport& stage, bool ran) {
  Breakdown parts;
  for (int i = 0; i <= static_cast<int>(model::WaitCause::update); ++i) {
    const auto cause = static_cast<model::WaitCause>(i);
    const auto found = stage.waits.find(cause);
    const double ticks = found == stage.waits.end() ? 0 : found->second;
    parts.emplace_back(model::toString(cause), ran ? Amount(ticks) : Amount());
  }
  return parts;
}

Table stageTable(const StagesReport& r, const Words& words, bool ran) {
  Table table{"stages", "Stages", words.per("micro-batch; update and waits per iteration"), {}, {}};
  table.columns = {
      {"index", "Stage", Format::index, ""},
      {"device", "Device", Format::index, "Device index"},
      {"device_name", "Name", Format::plain, "", false},
      {"blocks", "Blocks", Format::list, ""},
      {"forward_cycles", "Forward", Format::ticks, "per micro-batch"},
      {"recompute_cycles", "Recompute", Format::ticks, "per micro-batch"},
      {"backward_cycles", "Backward", Format::ticks, "per micro-batch, weight gradients included"},
      {"busy_cycles", "F+R+B", Format::ticks, "per micro-batch"},
      {"occupied_cycles", "With copies", Format::ticks, "F+R+B and host copies, per micro-batch"},
      {"update_cycles", "Update", Format::ticks, "per iteration"},
      {"host_in_cycles", "Host in", Format::ticks, "per micro-batch"},
      {"host_out_cycles", "Host out", Format::ticks, "per micro-batch, mean"},
      {"share", "Share", Format::fraction, "of all stages' F+R+B"},
      {"ratio_to_slowest", "÷ slowest", Format::ratio, ""},
      {"waits", "Waits", Format::ticks, "per iteration, by cause", true, waitCauseNames()}};
  const auto ifRan = [&](double value) { return ran ? Cell(value) : Cell(); };
  for (const analysis::StageReport& s : r.stages) {
    std::vector<Cell> row = {static_cast<std::int64_t>(s.index), static_cast<std::int64_t>(s.device),
                             s.deviceName, s.blocks};
    for (const double ticks : {s.forward, s.recompute, s.backward + s.weightGradient, s.busy, s.occupied,
                               s.update, s.hostIn, s.hostOut, s.share, s.ratioToSlowest})
      row.push_back(ifRan(ticks));
    row.emplace_back(waitsOf(s, ran));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table memoryTable(const StagesReport& r, const Words& words) {
  Table table{"memory", "Memory per stage", "of the stage's device, one replica", {}, {}};
  table.columns = {
      {"index", "Stage", Format::index, ""},
      {"always_live_bytes", "Always live", Format::bytes, "sum over units"},
      {"not_always_live_peak_bytes", "Peak not always live", Format::bytes,
       "largest over program steps, sum over units"},
      {"stash_entries", "Stash entries", Format::index, "micro-batches"},
      {"stash_bytes", "Stash", Format::bytes, "part of always live"},
      {"worst_tile", "Fullest tile", Format::index, "", words.tiles},
      {"worst_tile_bytes", words.tiles ? "Its bytes" : "With gaps", Format::bytes, "including gaps"},
      {"free_bytes", words.tiles ? "Free on it" : "Free", Format::bytes, "capacity minus its bytes"}};
  for (const analysis::StageReport& s : r.stages) {
    if (!s.memory) {
      table.rows.push_back({static_cast<std::int64_t>(s.index), {}, {}, s.stashEntries, {}, {}, {}, {}});
      continue;
    }
    table.rows.push_back({static_cast<std::int64_t>(s.index), s.memory->alwaysLive.count,
                          s.memory->peakNotAlwaysLive.count, s.stashEntries, s.memory->stash.count,
                          words.tiles ? Cell(s.memory->worstUnit) : Cell(), s.memory->worstUnitBytes.count,
                          s.memory->freeBytes.count});
  }
  return table;
}

Table operationTable(const StagesReport& r, const Words& words) {
  Table table{"slowest_operations",
              r.slowestStage < 0 ? "What makes a stage slow"
                                 : fmt::format("What makes stage {} slow", r.slowestStage),
              words.per("micro-batch; share of the stage's F+R+B"),
              {},
              {}};
  table.columns = {{"name", "Operation", Format::plain, ""},
                   {"kind", "Type", Format::plain, ""},
                   {"pass", "Pass", Format::plain, ""},
                   {"cycles", words.cycles(), Format::ticks, ""},
                   {"share", "Share", Format::fraction, ""}};
  for (const analysis::StageOperation& op : r.slowestOperations) {
    table.rows.push_back({op.name, op.kind, model::toString(op.pass), op.ticksPerMicroBatch, op.share});
  }
  return table;
}

Table boundaryTable(const StagesReport& r, const Words& words) {
  Table table{"boundaries", "Boundaries", words.basis("per micro-batch"), {}, {}};
  table.columns = {{"from_stage", "From", Format::index, ""},
                   {"to_stage", "To", Format::index, ""},
                   {"direction", "Direction", Format::plain, ""},
                   {"tensor", "Tensor", Format::plain, ""},
                   {"shape", "Shape", Format::plain, ""},
                   {"bytes", "Bytes", Format::bytes, ""},
                   {"cycles", words.cycles(), Format::ticks, "of its copy when nothing else uses the link"}};
  for (const analysis::BoundaryReport& b : r.boundaries) {
    table.rows.push_back({static_cast<std::int64_t>(b.fromStage), static_cast<std::int64_t>(b.toStage),
                          model::toString(b.kind), b.tensor, b.shape, b.bytes.count, b.ticks.count});
  }
  return table;
}

base::Result<Section> makeStages(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, stagesOf(context));
  const StagesReport& report = *made;
  const Words words = wordsOf(context.catalog);
  const bool ran = context.catalog.lastRunOf(context.executable) != nullptr;
  Section section{"stages", "Stages", stagesFacts(report, words, ran), {}, {}};
  section.tables = {stageTable(report, words, ran), memoryTable(report, words), operationTable(report, words),
                    boundaryTable(report, words)};
  addForecast(context, section.facts);
  remarkLimitingStage(report, words.time, section);
  if (!ran) lack(section, kNothingRan);
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(stages) {
  registry.add({"stages", "Stages",
                "Cost per stage and pass, imbalance, bubble, lost times, memory, boundaries", 30,
                makeStages});
}

}  // namespace pipescope::sections

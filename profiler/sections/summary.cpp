#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "profiler/analysis/model/flop_use.h"
#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/pipeline/memory_use.h"
#include "profiler/sections/frame/figure_facts.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/out_of_memory.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::sections {
namespace {

const PartNames kTimeShares = {"compute", "exchange", "stream",  "host",
                               "memory",  "pipeline", "control", "unknown"};

Breakdown timeParts(const analysis::Execution& execution, bool placed) {
  // The shares are those of the devices that hold a stage; a trace may name none.
  if (!placed || std::ranges::none_of(execution.devices, &analysis::DeviceExecution::holdsStage)) {
    Breakdown none;
    for (const std::string& name : kTimeShares) none.emplace_back(name, Amount());
    return none;
  }
  const analysis::TimeShares shares = analysis::timeShares(execution);
  return {{"compute", shares.compute}, {"exchange", shares.exchange}, {"stream", shares.stream},
          {"host", shares.host},       {"memory", shares.memory},     {"pipeline", shares.pipeline},
          {"control", shares.control}, {"unknown", shares.unknown}};
}

/// The name of the largest share. Nothing: no share has a value.
Cell largest(const Breakdown& shares) {
  const auto most = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return numberOf(a.second) < numberOf(b.second);
  });
  const bool none = most == shares.end() || std::holds_alternative<std::monostate>(most->second);
  return none ? Cell() : Cell(most->first);
}

/// Names the activity that takes most of the devices' time. Engines that compute may wait for their memory.
Cell boundBy(const Breakdown& shares, const analysis::MemoryUse& memory) {
  Cell most = largest(shares);
  return memory.holdsUp && most == Cell("compute") ? Cell(kMemoryBandwidth) : most;
}

/// The rate of samples, with what kind of rate it is.
Fact rateFact(const figures::Analyses& from, bool hypothetical) {
  Fact fact = factOf("samples_per_second", from);
  if (from.catalog->measured()) return fact;
  fact.label[0] = 's';
  fact.label = (hypothetical ? "Hypothetical " : "Emulated ") + fact.label;
  return fact;
}

/// Searches the outcomes of all executables, because the test accuracy belongs to the inference executable.
std::optional<double> anyOutcome(const analysis::Catalog& catalog, std::string_view name) {
  std::optional<double> found;
  for (const model::Outcome& row : catalog.outcomes) {
    if (row.name == name) found = row.value;
  }
  return found;
}

/// Time that the devices wait for the host in an iteration, and the step time. hostWait() returns nullopt if
/// the configuration states no time of the host.
struct HostWait {
  double waited = 0, step = 0;  ///< seconds
};
std::optional<HostWait> hostWait(const Context& context, const std::vector<analysis::WaitGroup>& waits,
                                 const analysis::StagesReport& stages) {
  const model::Run* run = context.catalog.lastRunOf(context.executable);
  const model::Executable* executable = context.catalog.executable(context.executable);
  if (!hostTakesTime(context.catalog) || run == nullptr || executable == nullptr) return std::nullopt;
  std::set<model::DeviceId> devices;
  for (const analysis::StageReport& stage : stages.stages) devices.insert(model::DeviceId(stage.device));
  double share = 0;
  for (const analysis::WaitGroup& wait : waits) {
    if (wait.cause == model::WaitCause::host && devices.contains(wait.device)) share += wait.share;
  }
  const bool training = executable->kind == model::ExecutableKind::training;
  const auto steps =
      static_cast<double>(training ? std::max<std::int64_t>(1, executable->deviceIterations) : 1);
  HostWait result;
  result.step = base::toSeconds(run->end - run->start, context.catalog.timebase(model::DeviceId(0))) / steps;
  if (!devices.empty()) result.waited = share / static_cast<double>(devices.size()) * result.step;
  return result;
}

std::string flopBasis(const analysis::FlopUse& use, const char* what) {
  if (use.peakPerDevice <= 0) return fmt::format("{}; the profile names no peak for this device.", what);
  const std::string of = use.peakName.empty() ? "for the types of these FLOP" : "at " + use.precision;
  return fmt::format("{} ÷ ({} device{} with a stage × {:.4g} TFLOP/s, the peak {} × the last call).", what,
                     use.devices, use.devices == 1 ? "" : "s", use.peakPerDevice / 1e12, of);
}

/// Forecasts say what the bubble would be; text leaves those of executables with one stage out.
SectionTable outcomeTable(const analysis::Catalog& catalog) {
  SectionTable table{"outcomes", "Outcomes", "", {}, {}};
  table.columns = {{"executable", "Executable", Format::plain, ""},
                   {"name", "Key", Format::plain, "", false},
                   {"label", "Name", Format::plain, "what it is called in the window"},
                   {"value", "Value", Format::ofRow, "in the unit"},
                   {"unit", "Unit", Format::plain, "", false},
                   {"kind", "Kind", Format::plain, "result, forecast or speed of the emulator"},
                   {"basis", "Over what", Format::plain, ""}};
  for (const model::Outcome& row : catalog.outcomes) {
    const model::Executable* executable = catalog.executable(row.executable);
    table.rows.push_back({executable ? Cell(executable->name) : Cell(), row.name, outcomeName(row), row.value,
                          row.unit, model::toString(row.kind), row.basis});
    table.rowsNotInText.push_back(row.kind == model::OutcomeKind::forecast && executable != nullptr &&
                                  executable->stages == 1);
    table.rowFormats.push_back(row.unit == "fraction" ? Format::fraction
                               : row.unit == "s"      ? Format::seconds
                               : row.unit.empty()     ? Format::number
                                                      : Format::count);
  }
  return table;
}

SectionTable executableTable(const analysis::Catalog& catalog) {
  SectionTable table{"executables", "Executables", "", {}, {}};
  table.columns = {{"name", "Name", Format::plain, ""},
                   {"strategy", "Strategy", Format::plain, ""},
                   {"schedule", "Schedule", Format::plain, ""},
                   {"recompute", "Recompute", Format::plain, ""},
                   {"stages", "Stages", Format::index, ""},
                   {"micro_batch_size", "Micro-batch", Format::count, "samples"},
                   {"micro_batches", "Micro-batches", Format::count, "of one flush"},
                   {"device_iterations", "Device iterations", Format::count, ""},
                   {"calls", "Calls", Format::count, "recorded"}};
  for (const model::Executable& e : catalog.executables) {
    // A trace states no size of micro-batches, and nothing of a pipeline if no passes were recognised.
    const auto stated = [&](std::int64_t n) { return n > 0 || !catalog.measured() ? Cell(n) : Cell(); };
    table.rows.push_back({e.name, e.strategy, e.schedule, e.recompute, stated(e.stages),
                          stated(e.microBatchSize), stated(e.microBatches), stated(e.deviceIterations),
                          static_cast<std::int64_t>(catalog.runsOf(e.id).size())});
  }
  return table;
}

model::ExecutableKind kindOf(const analysis::Catalog& catalog, model::ExecutableId id) {
  const auto found = std::ranges::find(catalog.executables, id, &model::Executable::id);
  return found == catalog.executables.end() ? model::ExecutableKind::training : found->kind;
}

base::Result<Section> makeSummary(const Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  PIPESCOPE_ASSIGN(const figures::Analyses analyses, analysesOf(context));
  const analysis::Execution& execution = *analyses.execution;
  const analysis::StagesReport& stages = *analyses.stages;
  PIPESCOPE_ASSIGN(const analysis::FlopUse flops,
                   analysis::flopUse(context.source, catalog, context.executable));
  PIPESCOPE_ASSIGN(const auto waits, waitsOf(context));
  const bool hypothetical = !figures::fitsInMemory(*analyses.memory);
  const bool ran = catalog.lastRunOf(context.executable) != nullptr;
  std::optional<double> loss = anyOutcome(catalog, "final_loss");
  if (!loss) {
    PIPESCOPE_ASSIGN(loss, analysis::lastValue(context.source, "loss"));
  }
  const Breakdown shares = timeParts(execution, analyses.placed);
  const analysis::MemoryUse traffic = analysis::memoryUse(catalog, execution, flops);
  Section section{"summary", "Summary", {}, {executableTable(catalog), outcomeTable(catalog)}, {}};
  section.facts = {
      factOf("fits", analyses),
      factOf("hypothetical", analyses),
      rateFact(analyses, hypothetical),
      ifKnown(factOf("tokens_per_second", analyses)),
      ifKnown(factOf("time_to_first_token_seconds", analyses)),
      ifKnown(factOf("time_per_token_seconds", analyses)),
      ifKnown(factOf("output_tokens_per_second", analyses)),
      ifKnown({"host", "  with host", hostCell(catalog, kindOf(catalog, context.executable)), Format::plain,
               "The host that may bound this rate. Where none is stated, the host takes no time, and a "
               "framework's program is slower; `pipescope devices` lists hosts for host.name."}),
      {"bound_by", "Bound by", boundBy(shares, traffic), Format::plain,
       "The part with the largest share of the devices' time. Where that is compute, it is memory bandwidth "
       "if "
       "the bytes that computing moves to and from the devices' memory need more than half of this time, and "
       "longer than the FLOP need at their peak."},
      {"time_shares", "Where the time goes", shares, Format::fraction,
       "Shares of the last call, over the devices that hold a stage; they add up to 1. Pipeline is waiting "
       "for fill, drain, slower stages and other devices' updates; control is time of a pass in which no "
       "engine computes or moves data.",
       true, kTimeShares},
      factOf("limiting_stage", analyses),
      factOf("slowest_stage", analyses),
      factOf("imbalance", analyses),
      factOf("bubble_fraction", analyses),
      {"model_flop_use", "Model FLOP use", figures::cellOf(flops.model), Format::fraction,
       flopBasis(flops, "FLOP of forward and backward passes without recompute")},
      {"flop_use_with_recompute", "  with recompute", figures::cellOf(flops.withRecompute), Format::fraction,
       flopBasis(flops, "FLOP of all passes, recompute included")},
      {"memory_bandwidth_use", "Memory bandwidth use", figures::cellOf(traffic.share), Format::fraction,
       "Bytes that computing moves to and from the devices' memory (HBM) ÷ (its peak bandwidth × time), over "
       "the devices that hold a stage; empty without a model of this memory.",
       traffic.share.has_value()},
      {"final_loss", "Final loss", figures::cellOf(loss), Format::number,
       "Mean over the rows that the last training call returned. Of a run that was stopped: of its last "
       "recorded call."},
      {"test_accuracy", "Test accuracy", figures::cellOf(anyOutcome(catalog, "test_accuracy")),
       Format::fraction, "Over the rows that inference returned."},
      {"host_samples_per_second", "Host samples per second",
       figures::cellOf(anyOutcome(catalog, "host_samples_per_second")), Format::rate,
       "How fast the emulator itself ran."},
      {"system", "System", catalog.target.name, Format::plain, catalog.target.description},
      {"state", "Profile", model::toString(catalog.state.state), Format::plain, catalog.state.reason},
      {"tool_version", "Written by", "pipescope " + catalog.property("tool_version"), Format::plain,
       catalog.measured() ? "Times are those of the trace that was imported."
                          : "Emulated: times come from device models."},
  };
  std::ranges::find(section.facts, "hypothetical", &Fact::key)->inText = false;
  Fact probability = ifKnown(partOf("fits_share", analyses));
  // The probability says nothing new if it is nearly 0 or 1.
  constexpr double kCertain = 0.999;
  const double share = figures::numberIn(probability.value).value_or(1);
  if (share > kCertain || share < 1 - kCertain) probability.inText = false;
  section.facts.insert(section.facts.begin() + 1, std::move(probability));
  std::vector<Fact> step = stepIntervalFacts(analyses);
  step.insert(step.begin(), factOf("step_cycles", analyses));
  step.front().inText = step[1].inText;
  section.facts.insert(std::ranges::find(section.facts, "bound_by", &Fact::key),
                       std::make_move_iterator(step.begin()), std::make_move_iterator(step.end()));
  const std::string division = catalog.divisionOf(context.executable);
  section.facts.push_back({"division", "Divided", division.empty() ? Cell() : Cell(division), Format::plain,
                           "Replicas, which take different samples (dp), places, which hold different stages "
                           "(pp), and ranks of a place, which share the tensors of a layer (tp), a sequence "
                           "(cp) or experts (ep); empty where each place is one chip.",
                           !division.empty()});
  if (!ran) lack(section, kNothingRan);
  if (ran && !analyses.placed) lack(section, nothingPlaced(context.catalog));
  if (hypothetical) section.remarks.push_back(kHypothetical);
  if (ran && catalog.measured() && stages.stages.empty()) section.remarks.push_back(kNoPassesRecognised);
  if (ran && !stages.missing.empty()) section.remarks.push_back(missingStagesText(stages));
  if (stages.slowReplica) section.remarks.push_back(slowReplicaText(*stages.slowReplica));
  if (const auto host = analyses.placed ? hostWait(context, *waits, stages) : std::nullopt) {
    section.facts.push_back({"host_wait_seconds", "Waits for the host", host->waited, Format::seconds,
                             "Per iteration, mean over the devices that hold a stage."});
    section.remarks.push_back(fmt::format("host-bound: {} of {} per iteration.",
                                          formatCell(host->waited, Format::seconds),
                                          formatCell(host->step, Format::seconds)));
  }
  if (!catalog.state.reason.empty()) section.remarks.push_back(catalog.state.reason);
  for (const model::Diagnostic& d : catalog.diagnostics)
    section.remarks.push_back(model::toString(d.severity) + ": " + d.text);
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(summary) {
  registry.add({"summary", "Summary", "Whether the model fits, how fast it runs, and what limits it", 10,
                makeSummary});
}

}  // namespace pipescope::sections

// Figures of speed: rates, step time, and the size of an iteration.
#include <string>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/base/number_text.h"
#include "profiler/figures/figure.h"
#include "profiler/figures/step_interval.h"

namespace pipescope::figures {
namespace {

/// Samples per second of the emulated or recorded system.
std::optional<double> sampleRate(const Analyses& from) {
  const analysis::Execution* e = from.execution;
  if (e == nullptr || e->samples <= 0 || e->samplesPerSecond <= 0) return std::nullopt;
  return e->samplesPerSecond;
}

/// Samples of one iteration, on average.
std::optional<double> samplesOfStep(const Analyses& from) {
  const auto* e = from.execution;
  if (!hasSteps(from) || e == nullptr || e->samples <= 0 || e->total.count <= 0) return std::nullopt;
  return static_cast<double>(e->samples) * from.stages->lost.step / static_cast<double>(e->total.count);
}

/// An outcome of a whole generation. It is the same for each of the executables.
auto ofGeneration(const char* outcome) {
  return [outcome](const Analyses& from) {
    if (from.catalog == nullptr) return Cell();
    for (const model::Outcome& row : from.catalog->outcomes) {
      if (row.name == outcome) return Cell(row.value);
    }
    return Cell();
  };
}

/// An end of the step's interval, in this unit for each tick.
Cell endOfStep(const Analyses& from, double IntervalFactors::*end, double perTick) {
  const auto interval = stepInterval(from);
  return interval ? Cell(from.stages->lost.step * (interval->factors.*end) * perTick) : Cell();
}

double microsecondsOfTick(const Analyses& from) {
  constexpr double kMicroseconds = 1e6;
  return from.catalog == nullptr
             ? 0
             : kMicroseconds / static_cast<double>(from.catalog->timebase({}).ticksPerSecond);
}

constexpr const char* kLeastDoc =
    "The true step time lies between this and the other end with 80 %, judged by the errors of what was "
    "compared with measurements; empty for recorded and given times.";

/// Tokens of a sample, padding included. Nothing: the samples are no sequences of tokens, or the profile does
/// not say how long they are.
std::optional<std::int64_t> tokensOfSample(const Analyses& from) {
  if (from.catalog == nullptr) return std::nullopt;
  return base::wholeNumberOf(
      from.catalog->property("tokens_per_sample." + std::to_string(from.executable.value)));
}

}  // namespace

PIPESCOPE_REGISTER_FIGURES(speed) {
  registry.add({"samples_per_second", "Samples per second", "", Format::rate, Better::more,
                "Samples of the last call (all replicas) ÷ its emulated or recorded time.",
                [](const Analyses& from) { return cellOf(sampleRate(from)); }, "", "Samples/s"});
  registry.add(
      {"tokens_per_second", "Tokens per second", "", Format::rate, Better::more,
       "Samples per second × tokens of a sample, padding included; only of models that look up tokens.",
       [](const Analyses& from) {
         const auto rate = sampleRate(from);
         const auto tokens = tokensOfSample(from);
         return rate && tokens && *tokens > 0 ? Cell(*rate * static_cast<double>(*tokens)) : Cell();
       },
       "", "Tokens/s"});
  registry.add(
      {"time_to_first_token_seconds", "Time to first token", "", Format::seconds, Better::less,
       "Of a generation: from the start of the prompts of a batch to the first token of all of them.",
       ofGeneration("time_to_first_token")});
  registry.add({"time_per_token_seconds", "Time per token", "", Format::seconds, Better::less,
                "Of a generation: mean time between two tokens of a sample after the first one.",
                ofGeneration("time_per_token")});
  registry.add(
      {"output_tokens_per_second", "Output tokens per second", "", Format::rate, Better::more,
       "Of a generation: new tokens of all samples ÷ the time of the whole generation, prompts included.",
       ofGeneration("output_tokens_per_second"), "", "Output tokens/s"});
  registry.add({"samples_per_currency_unit", "Samples per currency unit", "", Format::amount, Better::more,
                "Samples per hour ÷ system.price_per_hour, the price of the whole system.",
                [](const Analyses& from) {
                  constexpr double kSecondsPerHour = 3600;
                  const auto rate = sampleRate(from);
                  return rate && from.pricePerHour > 0 ? Cell(*rate * kSecondsPerHour / from.pricePerHour)
                                                       : Cell();
                },
                "price"});
  registry.add({"step_time_us", "Step time, µs", "", Format::ticks, Better::less,
                "Mean length of an iteration; a cost unit counts as a second.", [](const Analyses& from) {
                  constexpr double kMicroseconds = 1e6;
                  if (!hasSteps(from) || from.catalog == nullptr) return Cell();
                  const auto perSecond = static_cast<double>(from.catalog->timebase({}).ticksPerSecond);
                  return Cell(from.stages->lost.step * kMicroseconds / perSecond);
                }});
  registry.add({"step_least_cycles", "Step time, 80 % from", "80 %", Format::ticks, Better::less, kLeastDoc,
                [](const Analyses& from) { return endOfStep(from, &IntervalFactors::least, 1); }});
  registry.add({"step_most_cycles", "Step time, 80 % to", "80 % to", Format::ticks, Better::less,
                "The upper end of the step time's interval.",
                [](const Analyses& from) { return endOfStep(from, &IntervalFactors::most, 1); }});
  registry.add({"step_time_least_us", "Step time, µs, 80 % from", "", Format::ticks, Better::less, kLeastDoc,
                [](const Analyses& from) {
                  return endOfStep(from, &IntervalFactors::least, microsecondsOfTick(from));
                }});
  registry.add({"step_time_most_us", "Step time, µs, 80 % to", "", Format::ticks, Better::less,
                "The upper end of the step time's interval.", [](const Analyses& from) {
                  return endOfStep(from, &IntervalFactors::most, microsecondsOfTick(from));
                }});
  registry.add({"step_interval_basis", "Interval from", "interval from", Format::plain, Better::neither,
                "The comparisons with measurements that the interval of the step time is taken from.",
                [](const Analyses& from) {
                  const auto interval = stepInterval(from);
                  return interval ? Cell(interval->basis) : Cell();
                }});
  registry.add({"micro_batches", "Micro-batches of an iteration", "", Format::count, Better::neither,
                "Micro-batches that a replica accumulates in one weight update.", [](const Analyses& from) {
                  const bool known = hasSteps(from) && from.stages->microBatches > 0;
                  return known ? Cell(static_cast<double>(from.stages->microBatches)) : Cell();
                }});
  registry.add({"cycles_per_micro_batch", "Step time ÷ micro-batches", "", Format::ticks, Better::less,
                "Step time for each micro-batch, with its part of the update and of the host's time.",
                [](const Analyses& from) {
                  if (!hasSteps(from) || from.stages->microBatches <= 0) return Cell();
                  return Cell(from.stages->lost.step / static_cast<double>(from.stages->microBatches));
                }});
  registry.add({"samples_per_step", "Samples of an iteration", "", Format::count, Better::neither,
                "Samples of the last call ÷ its iterations, over all replicas.",
                [](const Analyses& from) { return cellOf(samplesOfStep(from)); }});
  registry.add({"devices", "Devices", "", Format::count, Better::less,
                "Devices that hold a stage, of all replicas.",
                [](const Analyses& from) {
                  return from.catalog == nullptr ? Cell() : Cell(from.catalog->target.devicesUsed);
                },
                "devices"});
  registry.add({"system_devices", "Of system", "", Format::count, Better::less, "Chips of the whole system.",
                [](const Analyses& from) {
                  return from.catalog == nullptr ? Cell() : Cell(from.catalog->target.devices);
                }});
}

}  // namespace pipescope::figures

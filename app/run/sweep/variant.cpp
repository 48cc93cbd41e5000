#include "app/run/sweep/variant.h"

#include <algorithm>
#include <set>

#include "app/plan/emulated_calls.h"
#include "app/run/request/compile_run.h"
#include "engine/compiler/lower_again.h"
#include "engine/compiler/record_compilation.h"
#include "engine/plan/emulated_time.h"
#include "profiler/analysis/catalog.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/base/version.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/sweep_file.h"
#include "profiler/store/profile_writer.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using figures::Cell;

/// The configuration without what needs numbers, because a sweep computes none.
base::Result<Configuration> withoutNumbers(const Configuration& given) {
  Configuration changed = given;
  PIPESCOPE_TRY(changed.replace("execution.numerics", false));
  for (const char* key :
       {"execution.metrics", "execution.metrics_prometheus", "execution.metrics_tensorboard",
        "execution.save_weights", "execution.load_weights"}) {
    if (given.given(key)) PIPESCOPE_TRY(changed.replace(key, std::string()));
  }
  return changed;
}

/// Takes a value where it is the first one or the larger one.
void takeLarger(const Cell& value, Cell& largest) {
  const std::optional<double> number = figures::numberIn(value);
  if (number && *number > figures::numberIn(largest).value_or(-1)) largest = value;
}

/// The largest figures over all executables, since one memory holds each of them in turn.
base::Status addMemory(const record::MemoryProfile& profile, const analysis::Catalog& catalog,
                       VariantFigures& variant) {
  for (const model::Executable& executable : catalog.executables) {
    PIPESCOPE_ASSIGN(const analysis::Memory memory, analysis::memory(profile, catalog, executable.id));
    figures::Analyses of;
    of.catalog = &catalog;
    of.memory = &memory;
    for (const char* key : {"memory_bytes", "memory_use", "memory_least_bytes", "memory_most_bytes"})
      takeLarger(figures::figure(key).value(of), variant.values[key]);
  }
  return {};
}

base::Status addTimes(const record::MemoryProfile& profile, const analysis::Catalog& catalog, double price,
                      VariantFigures& variant) {
  const model::ExecutableId first = catalog.executables.begin()->id;
  PIPESCOPE_ASSIGN(const analysis::Execution execution, analysis::execution(profile, catalog, first));
  PIPESCOPE_ASSIGN(const analysis::StagesReport stages, analysis::stagesReport(profile, catalog, first));
  if (catalog.lastRunOf(first) == nullptr || stages.limiting() == nullptr) return {};
  const figures::Analyses of{&catalog, first, &execution, &stages, nullptr, true, price};
  for (const char* key :
       {"samples_per_second", "tokens_per_second", "samples_per_currency_unit", "step_time_us",
        "step_time_least_us", "step_time_most_us", "imbalance", "bubble_fraction",
        "time_to_first_token_seconds", "time_per_token_seconds", "output_tokens_per_second"})
    variant.values[key] = figures::figure(key).value(of);
  return {};
}

/// Records what a profile of a run records about itself, as far as a sweep knows it.
void recordCircumstances(record::Recorder& recorder, const Configuration& configuration,
                         const VariantOptions& options) {
  recorder.add(model::Property{"tool_version", base::version()});
  recorder.add(model::Property{"model", configuration.text("model.name")});
  if (!options.table.empty()) recorder.add(model::Property{sections::kSweepTableProperty, options.table});
  for (const config::OptionRow& row : configuration.dump())
    recorder.add(model::ConfigurationEntry{row.path, row.value, row.origin});
}

base::Status writeVariant(const record::MemoryProfile& profile, const std::string& file) {
  store::WriterOptions writing;
  PIPESCOPE_ASSIGN(const auto writer, store::ProfileWriter::create(file, writing));
  PIPESCOPE_ASSIGN(const model::RowSet rows, profile.everything());
  PIPESCOPE_TRY(writer->commit(rows));
  return writer->finish(model::ProfileState::complete, "");
}

/// The first sentence about what does not fit; empty: everything fits.
std::string overflowNote(const compile::Compilation& compilation) {
  const std::vector<std::string> overflow = compilation.overflow();
  if (overflow.empty()) return {};
  const std::string first = overflow.front().substr(0, overflow.front().find('\n'));
  return first.substr(0, std::min(first.find(". "), first.size() - 1)) + ".";
}

}  // namespace

Cell VariantFigures::of(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? Cell() : found->second;
}

base::Result<VariantFigures> emulateVariant(const Configuration& given, const VariantOptions& options,
                                            plan::SharedStages& known, base::Executor& executor) {
  PIPESCOPE_ASSIGN(const Configuration configuration, withoutNumbers(given));
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compileRun(configuration, &executor, &known));
  PIPESCOPE_ASSIGN(const std::optional<Generation> generation, generationOf(configuration));
  const bool writes = !options.profile.empty();
  // Intervals of step times follow from the steps of the limiting stage.
  constexpr emulate::RecordLevel kLevel = emulate::RecordLevel::steps;
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  if (writes) recordCircumstances(recorder, configuration, options);
  if (options.compileOnly) {
    compile::recordCompilation(recorder, compilation, kLevel);
  } else if (generation) {
    PIPESCOPE_TRY(recordGeneration(recorder, compilation, *generation, kLevel));
  } else {
    recordTwoCalls(recorder, compilation, kLevel);
  }
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(profile));
  VariantFigures variant;
  figures::Analyses ofSystem;
  ofSystem.catalog = catalog.get();
  for (const char* key : {"devices", "system_devices"})
    variant.values[key] = figures::figure(key).value(ofSystem);
  PIPESCOPE_TRY(addMemory(profile, *catalog, variant));
  if (!options.compileOnly)
    PIPESCOPE_TRY(addTimes(profile, *catalog, configuration.real("system.price_per_hour"), variant));
  if (writes) {
    // A file that stands in the way says nothing about the configuration.
    const base::Status written = writeVariant(profile, options.profile);
    if (!written.ok())
      return base::isAnswer(written.error().kind) ? base::ioError(written.error().message) : written.error();
  }
  variant.note = overflowNote(compilation);
  if (variant.number("memory_bytes")) variant.values["fits"] = variant.note.empty();
  return variant;
}

base::Result<CallTimer> CallTimer::create(const Configuration& given, base::Executor& executor) {
  CallTimer timer;
  PIPESCOPE_ASSIGN(const Configuration configuration, withoutNumbers(given));
  PIPESCOPE_ASSIGN(timer.compilation_, compileRun(configuration, &executor));
  timer.note_ = overflowNote(timer.compilation_);
  for (compile::CompiledExecutable& executable : timer.compilation_.executables) {
    executable.graph.reset();  // times depend on the IR alone
    executable.rankGraph.reset();
  }
  return timer;
}

base::Result<std::vector<double>> CallTimer::seconds(const std::vector<std::string>& systems,
                                                     base::Executor& executor) {
  std::vector<double> seconds;
  for (const std::string& system : systems) {
    if (!system.empty()) PIPESCOPE_TRY(compile::lowerAgain(compilation_, system, executor));
    seconds.push_back(plan::steadyCallTicks(compilation_) /
                      static_cast<double>(compilation_.system->devices().front().ticksPerSecond));
  }
  return seconds;
}

}  // namespace pipescope::app

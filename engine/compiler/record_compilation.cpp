#include "engine/compiler/record_compilation.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/emulate/forecast.h"

namespace pipescope::compile {
namespace {

void recordPasses(record::Recorder& recorder, model::ExecutableId executable,
                  const std::vector<PassReport>& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const PassReport& report = reports[i];
    model::CompilerPass row;
    row.executable = executable;
    row.index = static_cast<std::int32_t>(i);
    row.name = report.name;
    row.enabled = report.enabled;
    row.changes = report.effect.changes;
    row.bytes = report.effect.bytes;
    row.ticks = report.effect.ticks;
    row.summary = report.enabled ? fmt::format("{} {}", report.effect.changes, report.effect.counts)
                                 : fmt::format("switched off by compile.{}", report.name);
    recorder.add(row);
  }
}

}  // namespace

RecordedCompilation recordCompilation(record::Recorder& recorder, const Compilation& compilation,
                                      emulate::RecordLevel level) {
  RecordedCompilation recorded;
  const base::Bytes hostMemory =
      compilation.executables.empty() ? base::Bytes() : compilation.executables.front().facts.host.memory;
  recorded.ids =
      emulate::recordSystem(recorder, *compilation.system, compilation.devicesWithStages(), hostMemory);
  for (const CompiledExecutable& executable : compilation.executables) {
    recorded.executables.push_back(emulate::recordExecutable(recorder, *compilation.system, recorded.ids,
                                                             executable.ir, executable.lowered,
                                                             executable.order, executable.facts, level));
    recordPasses(recorder, recorded.executables.back().id, executable.passes);
    if (executable.tokensPerSample > 0)
      recorder.add(model::Property{fmt::format("tokens_per_sample.{}", recorded.executables.back().id.value),
                                   std::to_string(executable.tokensPerSample)});
    if (executable.facts.cacheRoom > 0) {
      recorder.add(
          model::Property{fmt::format("cache_tokens_per_sample.{}", recorded.executables.back().id.value),
                          std::to_string(executable.facts.cacheRoom)});
    }
  }
  for (const std::string& notice : compilation.notices) {
    recorder.add(model::Diagnostic{model::Severity::info, "notice", notice, {}, {}});
  }
  return recorded;
}

void recordForecast(record::Recorder& recorder, const Compilation& compilation,
                    const RecordedCompilation& recorded) {
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    if (!executable.call.training) continue;
    const auto forecast = emulate::forecastBubble(*compilation.system, recorded.ids, executable);
    if (!forecast) continue;
    const std::int64_t g = executable.facts.microBatches;
    const auto add = [&](const char* name, const std::string& basis, double value) {
      recorder.add(
          model::Outcome{executable.id, name, "fraction", basis, value, model::OutcomeKind::forecast});
    };
    add("bubble_fraction_2g", fmt::format("one iteration with {} micro-batches, all else equal", 2 * g),
        forecast->twice);
    add("bubble_fraction_4g", fmt::format("one iteration with {} micro-batches, all else equal", 4 * g),
        forecast->fourTimes);
    add("bubble_fraction_limit", "ever more micro-batches, all else equal", forecast->limit);
  }
}

}  // namespace pipescope::compile

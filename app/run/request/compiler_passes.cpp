#include "app/run/request/compiler_passes.h"

#include <fmt/format.h>

#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

using Operators = std::map<int, std::vector<compile::PlanOperator>>;

/// What the operators would take by themselves, on the devices of their stages. What cannot be lowered counts
/// nothing: the run says why.
double ticksOf(const Operators& byStage, const compile::ExecutablePlan& plan, const devices::System& system) {
  double ticks = 0;
  for (const auto& [index, operators] : byStage) {
    const auto stage = static_cast<std::size_t>(index);
    if (stage >= plan.stages.size()) continue;
    compile::StagePlan alone;
    alone.index = plan.stages[stage].index;
    alone.device = plan.stages[stage].device;
    alone.replication = plan.stages[stage].replication;
    alone.passes = {{model::Pass::forward, operators}};
    const base::Result<devices::LoweredDevice> lowered = system.lower({&alone});
    if (!lowered.ok()) continue;
    for (const devices::LoweredPass& pass : lowered->passes) ticks += static_cast<double>(pass.ticks().count);
  }
  return ticks;
}

}  // namespace

compile::PassRunner compilerPasses(const config::Configuration& configuration,
                                   const std::vector<compile::StageSpec>& stages) {
  return compile::PassRunner(
      {ops::standardOperators(), compile::stageOfBlocks(stages),
       configuration.boolean("execution.stochastic_rounding")},
      [&configuration](const std::string& name) { return configuration.boolean("compile." + name); });
}

void addSavings(compile::PassRunner& passes, const compile::ExecutablePlan& plan,
                const devices::System& system, const std::vector<devices::LoweredDevice>& lowered) {
  for (const compile::PassReport& report : passes.reports()) {
    const double saved =
        ticksOf(report.effect.removed, plan, system) - ticksOf(report.effect.added, plan, system);
    if (saved != 0) passes.addClaim(report.name, 0, base::Bytes(0), saved);
  }
  for (const devices::LoweredDevice& device : lowered) {
    for (const devices::Claim& claim : device.claims) {
      if (claim.changes != 0)
        passes.addClaim(claim.pass, claim.changes, claim.bytes, static_cast<double>(claim.ticks.count));
    }
  }
}

void recordPasses(record::Recorder& recorder, model::ExecutableId executable,
                  const std::vector<compile::PassReport>& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const compile::PassReport& report = reports[i];
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

}  // namespace pipescope::app

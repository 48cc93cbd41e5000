#include "engine/compiler/pass_savings.h"

namespace pipescope::compile {
namespace {

using OperatorsByStage = std::map<int, std::vector<IrOperator>>;

/// The ticks that the operators would take by themselves on the devices of their stages. An operator that
/// cannot be lowered counts as 0, because the run itself reports why.
double ticksOf(const OperatorsByStage& byStage, const ExecutableIr& ir, const devices::System& system) {
  double ticks = 0;
  for (const auto& [index, operators] : byStage) {
    const auto stage = static_cast<std::size_t>(index);
    if (stage >= ir.stages.size()) continue;
    StageIr alone;
    alone.index = ir.stages[stage].index;
    alone.place = ir.stages[stage].place;
    alone.mesh = ir.stages[stage].mesh;
    alone.passes.emplace_back();
    alone.passes.back().operators = operators;
    const base::Result<devices::LoweredDevice> lowered = system.lower({&alone});
    if (!lowered.ok()) continue;
    for (const devices::LoweredPass& pass : lowered->passes) ticks += static_cast<double>(pass.ticks().count);
  }
  return ticks;
}

}  // namespace

bool usesPass(const devices::System& system, const std::string& name) {
  if (name == "outline") return system.sharesCode();
  if (name == "schedule") return system.ordersForMemory();
  if (name == "join_convolutions") return system.runsSideBySide();
  if (name == "in_place" || name == "fuse_elementwise") return system.takesProposals();
  return true;
}

void addSavings(PassRunner& passes, const ExecutableIr& ir, const devices::System& system,
                const std::vector<devices::LoweredDevice>& lowered) {
  for (const PassReport& report : passes.reports()) {
    if (!usesPass(system, report.name)) continue;
    const double saved =
        ticksOf(report.effect.removed, ir, system) - ticksOf(report.effect.added, ir, system);
    if (saved != 0) passes.addClaim(report.name, 0, base::Bytes(0), saved);
  }
  for (const devices::LoweredDevice& device : lowered) {
    for (const devices::Claim& claim : device.claims) {
      if (claim.changes != 0)
        passes.addClaim(claim.pass, claim.changes, claim.bytes, static_cast<double>(claim.ticks.count));
    }
  }
}

}  // namespace pipescope::compile

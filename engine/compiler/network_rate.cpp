#include "engine/compiler/network_rate.h"

#include <algorithm>

namespace pipescope::compile {
namespace {

base::Bytes bytesFromHost(const StagePlan& stage) {
  base::Bytes bytes;
  for (const PassPlan& pass : stage.passes) {
    for (const PlanOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* copy = std::get_if<ops::HostCopy>(&work.item);
        if (copy && copy->toDevice && !copy->remote && pass.pass == model::Pass::hostIn) bytes += copy->bytes;
      }
    }
  }
  return bytes;
}

}  // namespace

double networkRate(const ExecutablePlan& plan, const devices::System& system, std::int64_t samples) {
  double slowest = 0;  // seconds for a micro-batch
  for (const StagePlan& stage : plan.stages) {
    const double rate = system.sentAheadBytesPerSecond(plan.mesh.chip(0, stage.place), plan.mesh);
    if (rate > 0) slowest = std::max(slowest, static_cast<double>(bytesFromHost(stage).count) / rate);
  }
  return slowest > 0 ? static_cast<double>(samples) / slowest : 0;
}

}  // namespace pipescope::compile

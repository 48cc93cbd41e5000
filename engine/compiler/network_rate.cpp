#include "engine/compiler/network_rate.h"

#include <algorithm>

namespace pipescope::compile {
namespace {

base::Bytes bytesFromHost(const StageIr& stage) {
  base::Bytes bytes;
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* copy = std::get_if<ops::HostCopy>(&work.item);
        if (copy && copy->toDevice && !copy->remote && pass.pass == model::Pass::hostIn) bytes += copy->bytes;
      }
    }
  }
  return bytes;
}

}  // namespace

double networkRate(const ExecutableIr& ir, const devices::System& system, std::int64_t samples) {
  double slowest = 0;  // seconds for a micro-batch
  for (const StageIr& stage : ir.stages) {
    const double rate = system.sentAheadBytesPerSecond(ir.mesh.chip(0, stage.place), ir.mesh);
    if (rate > 0) slowest = std::max(slowest, static_cast<double>(bytesFromHost(stage).count) / rate);
  }
  return slowest > 0 ? static_cast<double>(samples) / slowest : 0;
}

}  // namespace pipescope::compile

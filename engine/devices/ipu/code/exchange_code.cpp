#include "engine/devices/ipu/code/exchange_code.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::devices::ipu {
namespace {

std::string spreadText(const TileRuns& runs) {
  const Spread spread = spreadOf(runs);
  return fmt::format("{} {} {} {}", spread.active, spread.least, spread.most, spread.total);
}

}  // namespace

double ownShareOf(const ProgramStep& step, bool readsKeptTensors) {
  return readsKeptTensors ? step.ownAddresses : 0;
}

bool readsKeptTensors(const compile::StageIr& stage, const compile::IrOperator& op) {
  return std::ranges::any_of(op.inputs, [&](const compile::IrTensorId id) {
    return id.valid() && isAlwaysLive(stage.tensors[id].use);
  });
}

double ExchangeCode::take(const ProgramStep& step, bool readsKeptTensors) {
  const std::string key = fmt::format("{} | {} | {} {} {}", spreadText(step.cycles), spreadText(step.senders),
                                      step.messages, step.bytesIn, step.bytesOut);
  return known_.insert(key).second ? 1 : ownShareOf(step, readsKeptTensors);
}

}  // namespace pipescope::devices::ipu

#include "engine/devices/core/tensor_lives.h"

#include <algorithm>

namespace pipescope::devices {
namespace {

bool worksInPlace(const compile::IrOperator& op) {
  return !op.work.empty() && std::all_of(op.work.begin(), op.work.end(), [](const ops::Work& work) {
    const auto* map = std::get_if<ops::Map>(&work.item);
    return map && map->inPlace;
  });
}

bool isHostPass(model::Pass pass) {
  return pass == model::Pass::hostIn || pass == model::Pass::hostOut;
}

}  // namespace

TensorLives::TensorLives(const compile::StageIr& stage, bool stashInPlace, bool replaces)
    : stage_(&stage), stashInPlace_(stashInPlace), replaces_(replaces), lives_(stage.tensors.size()) {
  for (std::size_t i = 0; i < stage.tensors.size(); ++i) alias_.push_back(i);
}

std::size_t TensorLives::root(std::size_t tensor) const {
  while (alias_[tensor] != tensor) tensor = alias_[tensor];
  return tensor;
}

bool TensorLives::stays(std::size_t tensor) const {
  const compile::IrTensor& own = stage_->tensors.items()[tensor];
  if (stashInPlace_ && own.use == compile::TensorUse::stash && !own.remote) return false;
  return compile::isAlwaysLive(own.use);
}

void TensorLives::enterPass(model::Pass pass, std::int32_t firstStep) {
  pass_ = pass;
  passFirst_ = firstStep;
}

void TensorLives::readAt(std::size_t tensor, std::int32_t endStep) {
  std::vector<Life>& lives = lives_[tensor];
  if (lives.empty()) lives.push_back({{passFirst_, passFirst_}, false, true, false});
  Life& life = lives.back();
  life.read = true;
  life.host = life.host || isHostPass(pass_);
  life.interval.end = std::max(life.interval.end, endStep);
}

void TensorLives::makeAt(std::size_t tensor, std::int32_t firstStep, std::int32_t endStep) {
  lives_[tensor].push_back({{firstStep, std::max(endStep, firstStep)}, false, false, isHostPass(pass_)});
  madeInPass_.push_back(tensor);
}

void TensorLives::operatorAt(const compile::IrOperator& op, std::int32_t writtenStep, std::int32_t endStep) {
  std::vector<std::size_t> inputs, outputs;
  for (const auto id : op.inputs) {
    if (id.valid()) inputs.push_back(static_cast<std::size_t>(id.value));
  }
  for (const auto id : op.outputs) {
    if (id.valid()) outputs.push_back(static_cast<std::size_t>(id.value));
  }
  if (op.work.empty() && !inputs.empty() && !outputs.empty() && root(inputs[0]) != root(outputs[0]) &&
      lives_[outputs[0]].empty()) {
    alias_[outputs[0]] = root(inputs[0]);
  }
  // A view reads nothing. What it is a view of lives on.
  if (op.work.empty() && inputs.size() > 1) inputs.resize(1);
  for (const std::size_t input : inputs) readAt(root(input), endStep);
  const bool inPlace = worksInPlace(op) || (replaces_ && op.replaced.valid());
  for (const std::size_t output : outputs) {
    const std::size_t made = root(output);
    const bool alsoRead =
        std::any_of(inputs.begin(), inputs.end(), [&](std::size_t input) { return root(input) == made; });
    if (!alsoRead) makeAt(made, inPlace ? endStep : writtenStep, endStep);
    if (op.again && !lives_[made].empty()) lives_[made].back().read = true;  // it never leaves the device
  }
}

void TensorLives::leavePass(std::int32_t endStep) {
  // A tensor that nobody reads leaves the device at the end of its pass, unless a later pass reads it.
  for (const std::size_t tensor : madeInPass_) {
    Life& life = lives_[tensor].back();
    if (!life.read) life.interval.end = std::max(life.interval.end, endStep);
  }
  madeInPass_.clear();
}

std::vector<LifeSteps> TensorLives::of(std::size_t tensor) const {
  std::vector<LifeSteps> intervals;
  if (stays(tensor)) return intervals;
  for (const Life& life : lives_[tensor]) {
    if (life.interval.first < life.interval.end) intervals.push_back(life.interval);
  }
  return intervals;
}

bool TensorLives::crosses(std::size_t tensor) const {
  if (stays(tensor)) return false;
  return std::any_of(lives_[tensor].begin(), lives_[tensor].end(),
                     [](const Life& life) { return !life.host && (life.arrived || !life.read); });
}

}  // namespace pipescope::devices

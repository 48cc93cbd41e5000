#include "engine/compiler/update_cost.h"

namespace pipescope::compile {

bool scalesLoss(const UpdateRequest& update) {
  return !update.numbers.lossScale.tensor.empty();
}

bool keepsGradientBuffers(const UpdateRequest& update, const devices::System& system) {
  return update.gradientBuffers.value_or(update.numbers.masterWeights && system.keepsGradientBuffers());
}

namespace {

OptimizerCost costOfRule(const UpdateRequest& update,
                         const std::shared_ptr<const optimizers::Optimizer>& rule,
                         std::int64_t summedGradients) {
  const numerics::SessionOptions& numbers = update.numbers;
  const bool divides = numbers.meanGradient && numbers.meanStrategy == numerics::MeanStrategy::post;
  const bool clips = numbers.clipNorm > 0;
  // The Work only depends on whether the gradient is multiplied by a factor, not on the factor.
  const double divisor = clips || scalesLoss(update) ? 2 : divides ? static_cast<double>(summedGradients) : 1;
  OptimizerCost cost;
  cost.kind = rule->name();
  cost.states = [optimizer = rule, master = numbers.masterWeights](const graph::TensorType& type) {
    std::vector<OptimizerCost::State> states;
    for (const optimizers::StateTensor& state : optimizer->stateOf(type))
      states.push_back({state.name, state.type});
    if (master && type.element != graph::ElementType::float32)
      states.push_back({"master", {graph::ElementType::float32, type.shape}});
    return states;
  };
  cost.work = [optimizer = rule, divisor, clips](const graph::TensorType& type) {
    std::vector<ops::Work> work = optimizer->workOf(type, divisor);
    if (clips) {
      const ops::Reduce squares{ops::ReduceFunction::squareSum, 1, type.elements(), true, type.element};
      work.insert(work.begin(), {squares, 1, "ClipNorm"});
    }
    return work;
  };
  return cost;
}

}  // namespace

OptimizerCost updateCost(const UpdateRequest& update, std::int64_t summedGradients) {
  OptimizerCost cost = costOfRule(update, update.optimizer, summedGradients);
  for (const optimizers::OptimizerGroup& group : update.numbers.groups) {
    const auto own =
        std::make_shared<const OptimizerCost>(costOfRule(update, group.optimizer, summedGradients));
    for (const std::string& parameter : group.parameters) cost.own[parameter] = own;
  }
  return cost;
}

}  // namespace pipescope::compile

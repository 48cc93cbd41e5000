#include "app/run/request/training_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/float8_request.h"
#include "app/run/request/optimizer_choice.h"
#include "engine/compile/loss_scaling.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using graph::ElementType;

base::Status checkOptions(const Configuration& c) {
  const bool half = precisionOf(c) != ElementType::float32;
  for (const char* key : {"execution.stochastic_rounding", "training.master_weights"}) {
    if (c.boolean(key) && !half)
      return base::badInput(
          fmt::format("{} needs execution.precision float16 or bfloat16: float32 is not rounded.", key));
  }
  if (c.boolean("training.automatic_loss_scaling") && precisionOf(c) != ElementType::float16)
    return base::badInput(
        "training.automatic_loss_scaling needs execution.precision float16: gradients in other types do not "
        "come "
        "near float16's largest number.");
  for (const char* key : {"training.loss_scaling_period", "training.loss_scaling_threshold"}) {
    if (c.given(key) && !c.boolean("training.automatic_loss_scaling"))
      return base::badInput(fmt::format(
          "{} is given, but training.automatic_loss_scaling is off: set it, or leave this out.", key));
  }
  if (c.given("training.lr_unit") && c.text("training.lr_schedule") == "constant" &&
      c.integer("training.lr_warmup") == 0)
    return base::badInput(
        "training.lr_unit is given, but training.lr_schedule is constant and training.lr_warmup is 0, so "
        "that "
        "nothing is counted: set one of them, or leave this out.");
  if (c.given("training.mean_strategy") && c.text("training.reduction") == "sum")
    return base::badInput(
        "training.mean_strategy is given, but training.reduction is sum: leave one of them out.");
  return {};
}

}  // namespace

ElementType precisionOf(const Configuration& c) {
  const std::string& precision = c.text("execution.precision");
  if (precision == "float16" || precision == "16") return ElementType::float16;
  if (usesFloat8(c) || usesFloat4(c)) {
    // modelRequest() refuses systems without float8.
    const auto support = float8SupportOf(c);
    return support.ok() ? support->beside : ElementType::bfloat16;
  }
  return precision == "bfloat16" || precision == "bf16" ? ElementType::bfloat16 : ElementType::float32;
}

base::Result<std::vector<std::string>> keptInFloat32(const Configuration& c) {
  const std::vector<std::string>& kept = c.texts("execution.float32_operators");
  if (!kept.empty() && precisionOf(c) == ElementType::float32)
    return base::badInput(
        "execution.float32_operators needs execution.precision float16 or bfloat16: all operators are "
        "float32.");
  for (const std::string& type : kept) {
    if (ops::standardOperators().find(type) != nullptr) continue;
    return base::badInput(fmt::format(
        "execution.float32_operators names \"{}\", which is no operator: give ONNX's names, as Gelu or "
        "LayerNormalization.",
        type));
  }
  return kept;
}

bool scalesLoss(const Configuration& c) {
  return c.real("training.loss_scaling") != 1 || c.boolean("training.automatic_loss_scaling");
}

numerics::SessionOptions inferenceOptions(const Configuration& c) {
  numerics::SessionOptions options;
  options.seed = static_cast<std::uint64_t>(c.integer("execution.seed"));
  options.stochasticRounding = c.boolean("execution.stochastic_rounding");
  options.checksFinite = c.boolean("execution.floating_point_exceptions");
  return options;
}

base::Result<numerics::SessionOptions> trainingOptions(const Configuration& c) {
  PIPESCOPE_TRY(checkOptions(c));
  numerics::SessionOptions options = inferenceOptions(c);
  options.meanGradient = c.text("training.reduction") == "mean";
  const bool halfSums = c.text("training.accumulator") == "float16";
  options.accumulator = halfSums ? ElementType::float16 : ElementType::float32;
  const std::string& strategy = c.text("training.mean_strategy");
  options.meanStrategy = strategy == "running" || (strategy == "auto" && halfSums)
                             ? numerics::MeanStrategy::running
                             : numerics::MeanStrategy::post;
  options.masterWeights = c.boolean("training.master_weights");
  options.clipNorm = c.real("training.clip_norm");
  options.decayVectors = c.boolean("training.decay_vectors");
  PIPESCOPE_ASSIGN(options.groups, chooseGroups(c));
  if (!scalesLoss(c)) return options;
  options.lossScale.tensor = compile::kLossScaleTensor;
  options.lossScale.initial = c.real("training.loss_scaling");
  options.lossScale.automatic = c.boolean("training.automatic_loss_scaling");
  options.lossScale.period = c.integer("training.loss_scaling_period");
  options.lossScale.threshold = c.real("training.loss_scaling_threshold");
  return options;
}

base::Result<LearningRates> LearningRates::create(const Configuration& c, std::int64_t before,
                                                  std::int64_t updates, std::int64_t perEpoch) {
  LearningRates rates;
  optimizers::LearningRateSchedule& s = rates.schedule_;
  rates.unit_ = c.text("training.lr_unit") == "epoch" ? std::max<std::int64_t>(1, perEpoch) : 1;
  s.kind = c.text("training.lr_schedule");
  s.base = c.real("training.learning_rate");
  s.end = c.real("training.lr_end");
  s.gamma = c.real("training.lr_gamma");
  s.power = c.real("training.lr_power");
  s.stepSize = c.integer("training.lr_step_size");
  s.milestones = c.integers("training.lr_milestones");
  s.warmUp = c.integer("training.lr_warmup");
  const std::int64_t whole = (before + updates + rates.unit_ - 1) / rates.unit_;
  s.total = c.integer("training.lr_total") > 0 ? c.integer("training.lr_total") : whole;
  PIPESCOPE_TRY(s.check());
  return rates;
}

}  // namespace pipescope::app

#pragma once
// Settings that several rules share. A rule whose setting means something else writes its own.
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {

/// Largest decay. A share of 1, which was kept in full, would never forget.
inline constexpr double kMostDecay = 0.9999999;
/// Smallest epsilon of rules that would otherwise divide by 0.
inline constexpr double kLeastEpsilon = 1e-38;

inline OptimizerSetting weightDecay(double fallback) {
  return {.name = "weight_decay",
          .fallback = fallback,
          .most = 1e6,
          .help = "Decay of the weights.",
          .hasFlag = true};
}
inline OptimizerSetting variableDecay() {
  return {
      .name = "variable_decay",
      .most = 1,
      .help = "Compute the decay of the weights also while it is 0, so that it can change after compiling.",
      .isSwitch = true};
}
inline OptimizerSetting momentum(double fallback) {
  return {.name = "momentum",
          .fallback = fallback,
          .most = kMostDecay,
          .help = "Share of the velocity that an update keeps.",
          .hasFlag = true};
}
inline OptimizerSetting beta1() {
  return {.name = "beta1", .fallback = 0.9, .most = kMostDecay, .help = "Decay of the first moment."};
}
inline OptimizerSetting beta2(const char* help = "Decay of the second moment.") {
  return {.name = "beta2", .fallback = 0.999, .most = kMostDecay, .help = help};
}
inline OptimizerSetting epsilon(double fallback, double least,
                                const char* help = "Added to the root of the second moment.") {
  return {.name = "epsilon", .fallback = fallback, .least = least, .most = 1, .help = help};
}
inline OptimizerSetting biasCorrection() {
  return {.name = "bias_correction",
          .fallback = 1,
          .most = 1,
          .help = "Divide the moments by 1 - beta^t.",
          .isSwitch = true};
}

/// State in float16 if `half`. It is computed in float32 and rounded after each update.
inline StateTensor stateLike(std::string name, const graph::TensorType& parameter, bool half) {
  return {std::move(name),
          {half ? graph::ElementType::float16 : graph::ElementType::float32, parameter.shape}};
}
inline OptimizerSetting halfState(const char* name, const char* help) {
  return {.name = name, .most = 1, .help = help, .isSwitch = true};
}
inline OptimizerSetting halfMoment1() {
  return halfState("half_moment1", "Keep the first moment in float16.");
}
inline OptimizerSetting halfMoment2() {
  return halfState("half_moment2", "Keep the second moment in float16.");
}

}  // namespace pipescope::optimizers

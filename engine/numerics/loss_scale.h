#pragma once
// Loss scaling: gradients of small losses survive half precision because the loss is multiplied first.
#include <cstdint>
#include <string>

namespace pipescope::numerics {

struct LossScaleOptions {
  /// The constant of the graph that the loss is multiplied by (compile::scaleLoss); empty: none.
  std::string tensor;
  double initial = 1;
  bool automatic = false;
  /// Automatic: after every `period` updates, the scale is halved where more than this part of the gradients'
  /// elements was above the edge, otherwise doubled (PopART's automatic loss scaling).
  std::int64_t period = 1;
  double threshold = 1e-7;
};

/// Gradients of |g| above an eighth of float16's largest number count as large.
inline constexpr float kLossScaleEdge = 0.125F * 65504.0F;

class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options) : options_(options), value_(options.initial) {}

  double value() const { return value_; }
  void restore(double value) { value_ = value; }
  bool counts() const { return options_.automatic; }
  /// The elements of one update's gradients; adapts the scale where a period has ended.
  void update(std::int64_t above, std::int64_t below) {
    if (!options_.automatic) return;
    above_ += above;
    below_ += below;
    if (++updates_ % options_.period != 0) return;
    const std::int64_t all = above_ + below_;
    const bool large = all > 0 && static_cast<double>(above_) / static_cast<double>(all) > options_.threshold;
    // Within what float32 holds, and never below 1 in 2²⁴.
    if (large && value_ > kLeast) value_ /= 2;
    if (!large && value_ < kMost) value_ *= 2;
    above_ = below_ = 0;
  }

 private:
  static constexpr double kLeast = 0x1p-24, kMost = 0x1p+60;
  LossScaleOptions options_;
  double value_;
  std::int64_t above_ = 0, below_ = 0, updates_ = 0;
};

}  // namespace pipescope::numerics

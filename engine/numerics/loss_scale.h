#pragma once
// Loss scaling. The loss is multiplied by a factor so that small gradients survive half precision.
#include <cstdint>
#include <string>

namespace pipescope::numerics {

struct LossScaleOptions {
  /// Name of the constant in the graph that multiplies the loss (compile::scaleLoss); empty: no loss scaling.
  std::string tensor;
  double initial = 1;
  bool automatic = false;
  /// Automatic scaling looks at the gradients after every `period` updates. It halves the scale if the
  /// fraction of elements above the edge exceeds `threshold`, and otherwise doubles it (PopART's automatic
  /// loss scaling).
  std::int64_t period = 1;
  double threshold = 1e-7;
};

/// A gradient counts as large if |g| exceeds an eighth of the largest float16 number.
inline constexpr float kLossScaleEdge = 0.125F * 65504.0F;

class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options) : options_(options), value_(options.initial) {}

  double value() const { return value_; }
  void restore(double value) { value_ = value; }
  bool counts() const { return options_.automatic; }
  /// Takes the counts of one update and adapts the scale at the end of a period.
  void update(std::int64_t above, std::int64_t below) {
    if (!options_.automatic) return;
    above_ += above;
    below_ += below;
    if (++updates_ % options_.period != 0) return;
    const std::int64_t all = above_ + below_;
    const bool large = all > 0 && static_cast<double>(above_) / static_cast<double>(all) > options_.threshold;
    // The limits keep the scale within the range of float32.
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

#pragma once
// Loss and accuracy of one call, from the rows that its output mode returns.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/emulate/executable.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

class CallMetrics {
 public:
  CallMetrics(const emulate::ExecutableFacts& facts, std::int64_t classes)
      : facts_(facts), classes_(classes) {}

  /// What must be kept of an iteration's outputs for returned rows.
  numerics::Keep keep(std::int64_t iteration) const;
  /// Adds one iteration's results; `labels` are of its micro-batches, one after another.
  void add(std::int64_t iteration, const numerics::Results& results, std::span<const std::int32_t> labels);

  /// Mean over the returned micro-batches; with output mode sum, their sum. None where the graph has no loss.
  std::optional<double> loss() const;
  /// Right predictions ÷ returned rows. None with output mode sum, whose predictions are added up.
  std::optional<double> accuracy() const;
  std::int64_t rows() const { return rows_; }
  std::int64_t correct() const { return correct_; }
  /// "all 4,000 rows of the call (output mode all)".
  std::string basis() const;

 private:
  bool isSum() const { return facts_.output.mode == emulate::OutputRule::Mode::sum; }
  void addAccuracy(std::span<const float> predictions, std::span<const std::int32_t> labels);

  const emulate::ExecutableFacts& facts_;
  std::int64_t classes_;
  double lossSum_ = 0;
  std::int64_t losses_ = 0, rows_ = 0, correct_ = 0;
};

}  // namespace pipescope::app

#pragma once
// Computes the loss and accuracy of one call from the rows that its output mode returns.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/run/execute/feeder.h"
#include "app/run/interface/model_executable.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/numerics/instances.h"

namespace pipescope::app {

/// The mean loss of each iteration (weight update) of a call, over all its micro-batches and replicas.
/// `losses` are those of run::CallResult; empty if there are none.
std::vector<double> iterationLosses(const emulate::ExecutableFacts& facts, std::span<const float> losses);

class CallMetrics {
 public:
  /// If the graph has no loss, this class computes `loss` from the scores: "cross_entropy", "nll", "mse" or
  /// "bce". Any other text: no loss.
  CallMetrics(const emulate::ExecutableFacts& facts, const ScoreShape& scores, const std::string& loss = "");

  /// Adds the results of the call. `labels` holds those of all its micro-batches, one after another.
  void add(const run::CallResult& results, const BatchLabels& labels);

  /// Adds what the other instances counted, and takes the losses of all replicas (CallResult::allLosses) in
  /// their order, so that the sum has the bits of one process. Call it once, after add().
  void addInstances(const numerics::Instances& instances, const std::vector<float>& allLosses);

  /// The mean over the returned micro-batches, or their sum with output mode sum. None if there is no loss.
  std::optional<double> loss() const;
  /// Right predictions ÷ returned predictions. None with output mode sum, which adds predictions up, and if
  /// predictions are not classes.
  std::optional<double> accuracy() const;
  std::int64_t rows() const { return rows_; }
  /// Predictions that were compared with a label.
  std::int64_t predictions() const { return predictions_; }
  std::int64_t correct() const { return correct_; }
  double lossSum() const { return lossSum_; }
  std::int64_t losses() const { return losses_; }
  /// "all 4,000 rows of the call (output mode all)".
  std::string basis() const;

 private:
  bool isSum() const { return facts_.output.mode == emulate::OutputRule::Mode::sum; }
  enum class Loss { none, crossEntropy, logLikelihood, squares, binaryCrossEntropy };
  std::span<const float> scoresOf(const run::CallResult& results, std::size_t place);
  void compare(std::span<const float> scores, std::span<const std::int32_t> labels);
  void compareNumbers(std::span<const float> scores, std::span<const float> labels);

  const emulate::ExecutableFacts& facts_;
  ScoreShape scores_;
  Loss lossKind_ = Loss::none;
  std::vector<float> wide_;  ///< half-precision scores, converted to float32
  double lossSum_ = 0;
  std::int64_t losses_ = 0, rows_ = 0, predictions_ = 0, correct_ = 0;
};

}  // namespace pipescope::app

#pragma once
// Computes a model: weights, optimizer state and steps. The order of every sum is canonical, so losses,
// outputs and weights are the same bits for any number of threads and whatever the emulated devices do.
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/numerics/optimizers/optimizer.h"
#include "engine/numerics/parameters.h"
#include "engine/numerics/program.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

struct SessionOptions {
  std::uint64_t seed = 42;
  bool meanGradient = true;  ///< the optimizer gets the mean over micro-batches; false: their sum
  /// Memory for gradients of micro-batches that are computed at the same time.
  std::int64_t gradientBytes = std::int64_t{256} << 20;
};

/// Rows of one call: per graph input, the rows of all its micro-batches one after another. Values start where
/// their type allows; `rowsOf` makes one from values.
using Rows = std::vector<std::span<const std::byte>>;
template <class T>
std::span<const std::byte> rowsOf(std::span<const T> values) {
  return std::as_bytes(values);
}

/// What a call gives back. Reused from call to call, it allocates nothing.
struct Results {
  std::vector<float> losses;  ///< per micro-batch, ascending; empty where the graph has no loss
  /// Per graph output: rows of the kept micro-batches, ascending.
  std::vector<std::vector<std::byte>> outputs;

  template <class T>
  std::span<const T> output(std::size_t index) const {
    return valuesOf<T>(std::span<const std::byte>(outputs[index]));
  }
  /// False where a loss is NaN or infinite.
  bool lossesFinite() const;
};

/// Which micro-batches' outputs are kept.
enum class Keep { none, last, all };

class Session {
 public:
  /// For training the graph holds gradients (compile::addGradients) and `optimizer` is given; for inference
  /// it is null. Weights start from the graph's initializers. `executor` must outlive the session.
  static base::Result<std::unique_ptr<Session>> create(const graph::Graph& graph,
                                                       const ops::OperatorRegistry& registry,
                                                       std::unique_ptr<optimizers::Optimizer> optimizer,
                                                       base::Executor& executor, SessionOptions options = {});
  ~Session();

  /// One weight update from as many micro-batches as the rows hold: forward and backward of each, gradients
  /// added in ascending order, then the optimizer. A NaN loss is returned as it is, and the weights are then
  /// what it made of them: look at lossesFinite(). Errors: rows that do not divide, an operator that refuses
  /// a value; weights are then untouched.
  base::Status trainStep(const Rows& rows, Keep keep, Results& results);
  /// Forward only of as many micro-batches as the rows hold. A graph with gradients is refused: infer with a
  /// forward graph and parameters().assignFrom().
  base::Status infer(const Rows& rows, Keep keep, Results& results);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  /// Null in inference.
  optimizers::Optimizer* optimizer() { return optimizer_.get(); }
  /// Updates so far.
  std::int64_t steps() const { return steps_; }
  /// Arena of one worker.
  std::int64_t arenaBytes() const { return program_.arenaBytes(); }

 private:
  struct Worker;
  struct Range {
    std::size_t gradient = 0;  ///< index into Program::gradients()
    std::size_t first = 0, count = 0;
  };

  std::unique_ptr<Worker> takeWorker();
  void giveBack(std::unique_ptr<Worker> worker);
  Session(Program program, const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> optimizer,
          base::Executor& executor, SessionOptions options);
  void makeTrainingBuffers(const graph::Graph& graph);
  base::Result<std::size_t> countMicroBatches(const Rows& rows) const;
  void prepare(std::size_t microBatches, Keep keep, Results& results) const;
  /// Micro-batches [first, first + count) side by side; their gradients go to slots 0 … count − 1.
  base::Status runWave(const Rows& rows, std::size_t first, std::size_t count, Keep keep, Results& results);
  base::Status runOne(const Rows& rows, std::size_t microBatch, std::size_t slot, Keep keep, Results& results,
                      Worker& worker);
  void accumulate(const Range& range, std::size_t slots, bool first);
  void update(const Range& range);
  std::span<float> gradientOf(AlignedBuffer& buffer, const Range& range) const;

  Program program_;
  std::vector<std::string> inputNames_;
  std::vector<graph::TensorType> inputTypes_, outputTypes_;
  std::unique_ptr<optimizers::Optimizer> optimizer_;
  base::Executor& executor_;
  SessionOptions options_;
  Parameters parameters_;
  std::vector<std::span<const std::byte>> weights_;  ///< into parameters_
  std::int64_t steps_ = 0;
  std::size_t microBatches_ = 0;  ///< of the current call

  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;

  // Training only.
  std::vector<std::int64_t> gradientOffsets_;  ///< within a gradient buffer, by Program::gradients()
  std::vector<std::size_t> gradientParameters_;
  std::int64_t gradientBytes_ = 0;
  std::vector<AlignedBuffer> gradientSlots_;
  AlignedBuffer accumulator_;
  std::vector<std::vector<AlignedBuffer>> state_;  ///< per gradient, per state tensor
  std::vector<Range> ranges_;
  std::vector<base::Status> statuses_;
};

}  // namespace pipescope::numerics

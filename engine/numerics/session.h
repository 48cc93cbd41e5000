#pragma once
// Computes a model: weights, optimizer state and steps. The order of every sum is fixed, so losses, outputs
// and weights have the same bits for any number of threads and any emulated devices.
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/numerics/graph_program.h"
#include "engine/numerics/parameters.h"
#include "engine/numerics/session_options.h"
#include "engine/numerics/updater.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// The rows of one call. Each graph input has the rows of all micro-batches one after another. The start of a
/// span must be aligned for its type; `rowsOf` makes a span from values.
using Rows = std::vector<std::span<const std::byte>>;
template <class T>
std::span<const std::byte> rowsOf(std::span<const T> values) {
  return std::as_bytes(values);
}

/// The results of a call. An object that is used again for the next call allocates nothing.
struct Results {
  std::vector<float> losses;  ///< loss of each micro-batch of the rows; empty if the graph has no loss
  /// Rows of the kept micro-batches for each graph output, in ascending order.
  std::vector<std::vector<std::byte>> outputs;

  template <class T>
  std::span<const T> output(std::size_t index) const {
    return valuesOf<T>(std::span<const std::byte>(outputs[index]));
  }
  /// False if a loss is NaN or infinite.
  bool lossesFinite() const;
};

/// Micro-batches that keep their outputs. `last` is the last micro-batch of each replica.
enum class Keep { none, last, all };

class Session {
 public:
  /// Creates a session. Training needs a graph that holds gradients (compile::addGradients), and an
  /// `optimizer`. Inference has a null `optimizer`. Weights start from the initializers of the graph.
  /// `executor` must outlive the session.
  static base::Result<std::unique_ptr<Session>> create(const graph::Graph& graph,
                                                       const ops::OperatorRegistry& registry,
                                                       std::unique_ptr<optimizers::Optimizer> optimizer,
                                                       base::Executor& executor, SessionOptions options = {});
  ~Session();

  /// Computes one weight update from all micro-batches in the rows: forward and backward pass of each,
  /// gradients added in ascending order, then the optimizer. A NaN loss is not an error, and it spoils the
  /// weights; check lossesFinite(). Errors: rows that do not divide into micro-batches, or an operator that
  /// refuses a value. Weights are then unchanged.
  base::Status trainStep(const Rows& rows, Keep keep, Results& results);
  /// Runs the forward pass for all micro-batches in the rows. A graph with gradients is refused: use a
  /// forward graph and parameters().assignFrom().
  base::Status infer(const Rows& rows, Keep keep, Results& results);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  /// Hashes of the weights of all replicas, or one hash if they share their weights.
  std::vector<std::uint64_t> replicaHashes() const;
  /// Must be called after weights were assigned in training.
  void weightsChanged() {
    if (updater_) updater_->weightsChanged();
    changed_ = true;
  }
  /// Null in inference.
  optimizers::Optimizer* optimizer() { return updater_ ? &updater_->optimizer() : nullptr; }
  /// Loss scale, gradient norm and the state of the optimizer. Null in inference.
  Updater* updater() { return updater_.get(); }
  /// Number of updates so far.
  std::int64_t steps() const { return steps_; }
  void restoreSteps(std::int64_t steps) { steps_ = steps; }
  /// Bytes of the arena of one worker.
  std::int64_t arenaBytes() const { return program_.arenaBytes(); }

 private:
  struct Worker;

  std::unique_ptr<Worker> takeWorker();
  void giveBack(std::unique_ptr<Worker> worker);
  Session(GraphProgram program, const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> optimizer,
          base::Executor& executor, SessionOptions options);
  base::Result<std::size_t> countMicroBatches(const Rows& rows) const;
  void prepare(std::size_t microBatches, Keep keep, Results& results) const;
  /// Runs micro-batches [first, first + count) in parallel. Their gradients go to slots 0 … count − 1.
  base::Status runWave(const Rows& rows, std::size_t first, std::size_t count, Keep keep, Results& results);
  /// Runs one micro-batch, or the same micro-batch of all replicas if they exchange values. Gradients go to
  /// the slots from `slot` on.
  base::Status runTask(const Rows& rows, std::size_t first, std::size_t slot, Keep keep, Results& results);
  Bindings bind(const Rows& rows, std::size_t microBatch, std::size_t slot, Worker& worker);
  void collect(const Bindings& bindings, std::size_t microBatch, std::size_t slot, Keep keep,
               Results& results, const Worker& worker);
  /// Updates running statistics from the micro-batches of the first replica in this wave.
  void moveStates(std::size_t first, std::size_t count);
  /// Fails with a sentence if a weight is infinite or NaN.
  base::Status checkWeights() const;
  /// Gives all instances the weights and the state of the first, if weights of any were assigned.
  void equalizeInstances();
  /// Gives all instances the running statistics of the first.
  void shareStates();
  /// The block of the rows that a micro-batch reads. Micro-batches are numbered [step][replica].
  std::size_t rowBlock(std::size_t microBatch) const;
  std::size_t replicas() const { return static_cast<std::size_t>(options_.replicas); }

  GraphProgram program_;
  std::vector<std::string> inputNames_;
  std::vector<graph::TensorType> inputTypes_, outputTypes_;
  base::Executor& executor_;
  SessionOptions options_;
  Parameters parameters_;
  /// Pointers into parameters_, or into zeros_ for running statistics.
  std::vector<std::span<const std::byte>> weights_;
  /// Weights of the second and later replicas, if each has its own, and pointers to them.
  std::vector<std::unique_ptr<Parameters>> others_;
  std::vector<std::vector<std::span<const std::byte>>> otherWeights_;
  std::int64_t steps_ = 0;
  bool changed_ = false;          ///< weights were assigned since the last update
  std::size_t microBatches_ = 0;  ///< number in the current call

  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
  std::vector<base::Status> statuses_;

  // A running statistic. Training only.
  struct State {
    std::size_t parameter = 0;
    double keep = 0, scale = 1;
    std::vector<float> old, moved;
  };
  std::unique_ptr<Updater> updater_;
  std::vector<State> states_;
  bool assigns_ = false;  ///< a parameter is assigned as a whole (keep = 0), not moved by a share
  std::vector<std::vector<std::byte>> zeros_;
  std::vector<std::vector<std::vector<std::byte>>> stateResults_;  ///< results of each slot and state
};

}  // namespace pipescope::numerics

#pragma once
// Computes a model: weights, optimizer state and steps. The order of every sum is canonical, so losses,
// outputs and weights are the same bits for any number of threads and whatever the emulated devices do.
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/numerics/parameters.h"
#include "engine/numerics/program.h"
#include "engine/numerics/session_options.h"
#include "engine/numerics/updater.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Rows of one call: per graph input, the rows of all its micro-batches one after another. Values start where
/// their type allows; `rowsOf` makes one from values.
using Rows = std::vector<std::span<const std::byte>>;
template <class T>
std::span<const std::byte> rowsOf(std::span<const T> values) {
  return std::as_bytes(values);
}

/// What a call gives back. Reused from call to call, it allocates nothing.
struct Results {
  std::vector<float> losses;  ///< per micro-batch of the rows, ascending; empty where the graph has no loss
  /// Per graph output: rows of the kept micro-batches, ascending.
  std::vector<std::vector<std::byte>> outputs;

  template <class T>
  std::span<const T> output(std::size_t index) const {
    return valuesOf<T>(std::span<const std::byte>(outputs[index]));
  }
  /// False where a loss is NaN or infinite.
  bool lossesFinite() const;
};

/// Which micro-batches' outputs are kept; `last`: the last one of each replica.
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
  /// Hashes of the replicas' weights: one where they share them.
  std::vector<std::uint64_t> replicaHashes() const;
  /// To be called after weights were assigned in training.
  void weightsChanged() {
    if (updater_) updater_->weightsChanged();
  }
  /// Null in inference.
  optimizers::Optimizer* optimizer() { return updater_ ? &updater_->optimizer() : nullptr; }
  /// Null in inference: loss scale, gradient norm, the optimizer's state.
  Updater* updater() { return updater_.get(); }
  /// Updates so far.
  std::int64_t steps() const { return steps_; }
  void restoreSteps(std::int64_t steps) { steps_ = steps; }
  /// Arena of one worker.
  std::int64_t arenaBytes() const { return program_.arenaBytes(); }

 private:
  struct Worker;

  std::unique_ptr<Worker> takeWorker();
  void giveBack(std::unique_ptr<Worker> worker);
  Session(Program program, const graph::Graph& graph, std::unique_ptr<optimizers::Optimizer> optimizer,
          base::Executor& executor, SessionOptions options);
  base::Result<std::size_t> countMicroBatches(const Rows& rows) const;
  void prepare(std::size_t microBatches, Keep keep, Results& results) const;
  /// Micro-batches [first, first + count) side by side; their gradients go to slots 0 … count − 1.
  base::Status runWave(const Rows& rows, std::size_t first, std::size_t count, Keep keep, Results& results);
  /// One micro-batch, or with exchanges the same one of all replicas, from `slot` on.
  base::Status runTask(const Rows& rows, std::size_t first, std::size_t slot, Keep keep, Results& results);
  Bindings bind(const Rows& rows, std::size_t microBatch, std::size_t slot, Worker& worker);
  void collect(const Bindings& bindings, std::size_t microBatch, std::size_t slot, Keep keep,
               Results& results, const Worker& worker);
  /// Running statistics, from the wave's micro-batches of the first replica.
  void moveStates(std::size_t first, std::size_t count);
  /// Which block of the rows a micro-batch reads: micro-batches are numbered [step][replica].
  std::size_t rowBlock(std::size_t microBatch) const;
  std::size_t replicas() const { return static_cast<std::size_t>(options_.replicas); }

  Program program_;
  std::vector<std::string> inputNames_;
  std::vector<graph::TensorType> inputTypes_, outputTypes_;
  base::Executor& executor_;
  SessionOptions options_;
  Parameters parameters_;
  std::vector<std::span<const std::byte>> weights_;  ///< into parameters_, or zeros_ for moved states
  /// With weights of their own: those of the second replica on, and where they are.
  std::vector<std::unique_ptr<Parameters>> others_;
  std::vector<std::vector<std::span<const std::byte>>> otherWeights_;
  std::int64_t steps_ = 0;
  std::size_t microBatches_ = 0;  ///< of the current call

  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
  std::vector<base::Status> statuses_;

  // Training only.
  struct State {
    std::size_t parameter = 0;
    double keep = 0, scale = 1;
    std::vector<float> old, moved;
  };
  std::unique_ptr<Updater> updater_;
  std::vector<State> states_;
  std::vector<std::vector<std::byte>> zeros_;
  std::vector<std::vector<std::vector<std::byte>>> stateResults_;  ///< by slot and state
};

}  // namespace pipescope::numerics

#pragma once
// Makes passes over the test data, for the inference at the end of a run and for validation between epochs.
#include <functional>
#include <memory>

#include "app/run/execute/call_metrics.h"
#include "app/run/execute/feeder.h"
#include "app/run/execute/run.h"
#include "app/run/execute/run_context.h"
#include "engine/data/loader.h"

namespace pipescope::app {

class InferenceRunner {
 public:
  InferenceRunner(const RunSetup& setup, std::size_t executable);

  /// Opens the test data and checks that it fits the model and fills a call. Without numerics it only counts
  /// the rows. Call it once, before anything else.
  base::Status prepare();
  /// Makes the model, which takes as much memory as its weights.
  base::Status makeExecutable();
  /// Executable that makeExecutable() has made. Call it only after that.
  run::ModelExecutable& executable() { return *executable_; }

  struct Score {
    std::int64_t rows = 0, available = 0, calls = 0;
    std::optional<double> loss, accuracy;
  };
  /// Makes one pass. `kind` names its runs ("inference call 3", "validation epoch 2 call 3"). `report` gets
  /// the finished share and the metrics so far.
  base::Result<Score> pass(RunContext& context, const std::string& kind, std::int64_t epoch,
                           const std::function<void(double, const std::string&)>& report);

 private:
  /// All micro-batches of a call go through the pipeline in one flush.
  data::BatchShape shape() const {
    return {facts_.microBatchSize, facts_.microBatches, 1, facts_.replicas / facts_.inputGroup};
  }
  bool computes() const { return setup_.program->computes(); }
  const graph::Graph& graph() const { return *setup_.program->compilation().executables[index_].graph; }
  base::Status checkCalls() const;
  base::Result<run::CallResult> call(RunContext& context, run::CallRequest request);
  base::Status computeCall(RunContext& context, const data::Batch& batch, const std::string& name,
                           std::int64_t epoch, Score& score);
  /// Adds what the other instances counted.
  void addInstances(const numerics::Instances& instances, Score& score);
  base::Result<Score> emulateOnly(RunContext& context, const std::string& prefix, std::int64_t epoch,
                                  const std::function<void(double, const std::string&)>& report);

  RunSetup setup_;
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  std::shared_ptr<const data::Dataset> dataset_;
  std::unique_ptr<run::ModelExecutable> executable_;
  std::optional<Feeder> feeder_;
  ScoreShape scores_;
  std::int64_t samples_ = 0;
  // The current pass uses these.
  std::string kind_;
  std::string loss_;  ///< loss that the host computes of predictions and labels; empty: nothing
  double lossSum_ = 0;
  std::int64_t losses_ = 0, correct_ = 0, predictions_ = 0;
};

}  // namespace pipescope::app

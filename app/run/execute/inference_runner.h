#pragma once
// Makes passes over the test data, for the inference at the end of a run and for validation between epochs.
#include <memory>

#include "app/run/execute/call_metrics.h"
#include "app/run/execute/feeder.h"
#include "app/run/execute/run.h"
#include "app/run/execute/run_context.h"
#include "engine/data/loader.h"

namespace pipescope::app {

class InferenceRunner {
 public:
  InferenceRunner(RunContext& context, std::size_t executable, RunResult& result);

  /// Opens the test data and makes the model. Without numerics it only counts the rows. Call it once.
  base::Status prepare();

  struct Score {
    std::int64_t rows = 0, available = 0, calls = 0;
    std::optional<double> loss, accuracy;
  };
  /// Makes one pass. `kind` names its runs ("inference call 3", "validation epoch 2 call 3"). `report` gets
  /// the finished share and the metrics so far.
  base::Result<Score> pass(const std::string& kind, std::int64_t epoch,
                           const std::function<void(double, const std::string&)>& report);

  /// Null without numerics.
  numerics::Session* session() { return session_.get(); }

 private:
  /// All micro-batches of a call go through the pipeline in one flush.
  data::BatchShape shape() const { return {facts_.microBatchSize, facts_.microBatches, 1, facts_.replicas}; }
  bool computes() const { return context_.configuration.boolean("execution.numerics"); }
  base::Status emulate(const std::string& name, std::int64_t rows, std::int64_t wallStart,
                       std::int64_t wallEnd);
  base::Status computeCall(const data::Batch& batch, const std::string& name, std::int64_t epoch,
                           Score& score);
  base::Result<Score> emulateOnly(const std::string& prefix,
                                  const std::function<void(double, const std::string&)>& report);

  RunContext& context_;
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  RunResult& result_;
  std::shared_ptr<const data::Dataset> dataset_;
  std::unique_ptr<numerics::Session> session_;
  std::optional<Feeder> feeder_;
  ScoreShape scores_;
  numerics::Results results_;
  std::int64_t samples_ = 0;
  // The current pass uses these.
  std::string kind_;
  std::string loss_;  ///< what the host computes of predictions and labels; empty: nothing
  double lossSum_ = 0;
  std::int64_t losses_ = 0, correct_ = 0, predictions_ = 0;
};

}  // namespace pipescope::app

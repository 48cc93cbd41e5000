#include "app/run/execute/inference_runner.h"

#include <fmt/format.h>

#include "app/run/io/data_source.h"
#include "app/run/io/host_memory.h"
#include "app/run/io/metrics_file.h"
#include "app/run/request/training_options.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {

InferenceRunner::InferenceRunner(RunContext& context, std::size_t executable, RunResult& result)
    : context_(context),
      index_(executable),
      facts_(context.recorded.executables[executable].facts),
      result_(result) {}

base::Status InferenceRunner::prepare() {
  const graph::Graph& graph = *context_.compilation.executables[index_].graph;
  // The host compares predictions with labels. Only the training graph has the shape of the labels.
  PIPESCOPE_ASSIGN(DataNeeds needs, dataNeeds(graph, facts_.microBatchSize));
  PIPESCOPE_ASSIGN(const DataNeeds labelled, labelNeeds(context_.configuration));
  needs.labels = labelled.labels;
  needs.classes = labelled.classes;
  loss_ = context_.configuration.text("training.loss");
  if (loss_ == "model") loss_ = labelled.loss;
  needs.callRows = shape().rows();
  if (!computes()) {
    PIPESCOPE_ASSIGN(samples_, countData(context_.configuration, data::Split::test, needs, context_.progress,
                                         context_.executor));
    return {};
  }
  PIPESCOPE_ASSIGN(dataset_, openData(context_.configuration, data::Split::test, needs, context_.progress,
                                      context_.executor));
  samples_ = dataset_->size();
  numerics::SessionOptions options = inferenceOptions(context_.configuration);
  options.replicas = facts_.replicas;
  PIPESCOPE_TRY(checkHostMemory(graph, 0));
  PIPESCOPE_ASSIGN(session_, numerics::Session::create(graph, ops::standardOperators(), nullptr,
                                                       context_.executor, options));
  PIPESCOPE_TRY(checkHostMemory(graph, session_->arenaBytes()));
  PIPESCOPE_ASSIGN(feeder_, Feeder::create(needs, *dataset_));
  scores_ = scoreShape(graph, facts_.microBatchSize, feeder_->labelsPerRow());
  scores_.ignored = context_.configuration.integer("training.ignore_index");
  return {};
}

base::Status InferenceRunner::emulate(const std::string& name, std::int64_t rows, std::int64_t wallStart,
                                      std::int64_t wallEnd) {
  PIPESCOPE_ASSIGN(const model::Run run, emulateCall(context_, index_, name, rows, wallStart, wallEnd));
  result_.emulatedSeconds =
      base::toSeconds(run.end, base::Timebase{context_.compilation.system->devices().front().ticksPerSecond});
  return {};
}

base::Result<InferenceRunner::Score> InferenceRunner::emulateOnly(
    const std::string& prefix, const std::function<void(double, const std::string&)>& report) {
  Score score;
  score.available = samples_;
  score.calls = samples_ / shape().rows();
  if (score.calls == 0) {
    return base::badInput(
        fmt::format("One inference call takes {} samples (micro-batch {} × device iterations {}{}), but "
                    "there are only {}.",
                    shape().rows(), facts_.microBatchSize, facts_.microBatches,
                    facts_.replicas > 1 ? fmt::format(" × {} replicas", facts_.replicas) : "", samples_));
  }
  for (std::int64_t call = 0; call < score.calls; ++call) {
    PIPESCOPE_TRY(checkCancelled(context_.progress));
    report(static_cast<double>(call) / static_cast<double>(score.calls),
           fmt::format("{}call {}/{}", prefix, std::max<std::int64_t>(call, 1), score.calls));
    PIPESCOPE_TRY(emulate(fmt::format("{}call {}", prefix, call + 1), shape().rows(), 0, 0));
  }
  return score;
}

base::Status InferenceRunner::computeCall(const data::Batch& batch, const std::string& name,
                                          std::int64_t epoch, Score& score) {
  const std::int64_t wallStart = wallNow(context_);
  const numerics::Rows& rows = feeder_->rows(batch, 0, batch.rows);
  PIPESCOPE_TRY(session_->infer(rows, numerics::Keep::all, results_));
  CallMetrics metrics(facts_, scores_, loss_);
  metrics.add(0, results_, feeder_->labels());
  PIPESCOPE_TRY(emulate(name, batch.rows, wallStart, wallNow(context_)));
  correct_ += metrics.correct();
  predictions_ += metrics.predictions();
  lossSum_ += metrics.lossSum();
  losses_ += metrics.losses();
  score.rows += metrics.rows();
  MetricsLine line;
  line.kind = kind_;
  line.epoch = epoch;
  line.call = batch.call + 1;
  line.samples = batch.rows;
  line.loss = metrics.loss();
  line.accuracy = metrics.accuracy();
  return context_.metrics->add(line);
}

base::Result<InferenceRunner::Score> InferenceRunner::pass(
    const std::string& kind, std::int64_t epoch,
    const std::function<void(double, const std::string&)>& report) {
  const std::string prefix = epoch > 0 ? fmt::format("{} epoch {} ", kind, epoch) : kind + " ";
  if (!computes()) return emulateOnly(prefix, report);
  data::LoaderOptions options;
  options.shape = shape();
  options.shuffle = false;
  PIPESCOPE_ASSIGN(const auto loader, data::Loader::create(dataset_, options));
  Score score;
  score.available = samples_;
  score.calls = loader->callsPerEpoch();
  kind_ = kind;
  lossSum_ = 0;
  losses_ = correct_ = predictions_ = 0;
  for (std::int64_t call = 0;; ++call) {
    PIPESCOPE_TRY(checkCancelled(context_.progress));
    PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader->next(context_.progress));
    if (!batch) break;
    PIPESCOPE_TRY(computeCall(*batch, fmt::format("{}call {}", prefix, call + 1), epoch, score));
    std::string what = fmt::format("{} call {}/{}", kind, call + 1, score.calls);
    if (predictions_ > 0)
      what += fmt::format("  accuracy {:.2f} %",
                          100.0 * static_cast<double>(correct_) / static_cast<double>(predictions_));
    report(static_cast<double>(call + 1) / static_cast<double>(score.calls), what);
  }
  if (predictions_ > 0) score.accuracy = static_cast<double>(correct_) / static_cast<double>(predictions_);
  if (losses_ > 0) score.loss = lossSum_ / static_cast<double>(losses_);
  return score;
}

}  // namespace pipescope::app

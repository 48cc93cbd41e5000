#include "app/run/execute/inference_runner.h"

#include <fmt/format.h>

#include "app/run/execute/run.h"
#include "app/run/io/data_source.h"
#include "app/run/io/metrics_file.h"
#include "engine/data/batch_order.h"
#include "engine/numerics/aligned_buffer.h"
#include "profiler/base/number_text.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {

InferenceRunner::InferenceRunner(const RunSetup& setup, std::size_t executable)
    : setup_(setup), index_(executable), facts_(setup.program->hostFacts(executable)) {}

base::Status InferenceRunner::prepare() {
  // The host compares predictions with labels. Only the training graph has the shape of the labels.
  PIPESCOPE_ASSIGN(DataNeeds needs, dataNeeds(graph(), facts_.microBatchSize));
  PIPESCOPE_ASSIGN(const DataNeeds labelled, labelNeeds(setup_.configuration()));
  needs.labels = labelled.labels;
  needs.classes = labelled.classes;
  loss_ = setup_.configuration().text("training.loss");
  if (loss_ == "model") loss_ = labelled.loss;
  needs.callRows = shape().rows();
  if (!computes()) {
    PIPESCOPE_ASSIGN(samples_, countData(setup_.configuration(), data::DataSplit::test, needs,
                                         setup_.progress, setup_.program->threads()));
    return checkCalls();
  }
  PIPESCOPE_TRY(run::ModelExecutable::checkMemory(*setup_.program, index_));
  PIPESCOPE_ASSIGN(dataset_, openData(setup_.configuration(), data::DataSplit::test, needs, setup_.progress,
                                      setup_.program->threads()));
  samples_ = dataset_->size();
  PIPESCOPE_ASSIGN(feeder_, Feeder::create(needs, *dataset_));
  scores_ = scoreShape(graph(), facts_.microBatchSize, feeder_->labelsPerRow());
  scores_.ignored = setup_.configuration().integer("training.ignore_index");
  return checkCalls();
}

base::Status InferenceRunner::checkCalls() const {
  PIPESCOPE_TRY(data::checkBatchShape(shape()));
  const std::int64_t parts = setup_.configuration().integer("execution.instances");
  if (samples_ >= shape().rows() * parts) return {};
  return base::badInput(fmt::format(
      "One inference call takes {} samples (micro-batch {} × device iterations {}{}){}, but there "
      "are only {}{}. Lower one of these numbers, or give more test samples.",
      base::groupedText(shape().rows()), facts_.microBatchSize, facts_.microBatches,
      facts_.replicas > 1 ? fmt::format(" × {} replicas", facts_.replicas) : "",
      parts > 1 ? fmt::format(" in each of {} instances", parts) : "", base::groupedText(samples_),
      dataset_ ? ": " + dataset_->description() : ""));
}

base::Status InferenceRunner::makeExecutable() {
  PIPESCOPE_ASSIGN(executable_, run::ModelExecutable::create(setup_.program, index_));
  return {};
}

base::Result<run::CallResult> InferenceRunner::call(RunContext& context, run::CallRequest request) {
  PIPESCOPE_ASSIGN(run::CallResult result, executable_->call(context.device, request, context.progress));
  context.result.emulatedSeconds = context.device.seconds(result.run.end);
  return result;
}

base::Result<InferenceRunner::Score> InferenceRunner::emulateOnly(
    RunContext& context, const std::string& prefix, std::int64_t epoch,
    const std::function<void(double, const std::string&)>& report) {
  Score score;
  score.available = samples_;
  score.calls = samples_ / shape().rows();
  if (epoch == 0) context.device.planCalls(index_, score.calls);
  for (std::int64_t call = 0; call < score.calls; ++call) {
    PIPESCOPE_TRY(run::checkCancelled(context.progress));
    report(static_cast<double>(call) / static_cast<double>(score.calls),
           fmt::format("{}call {}/{}", prefix, std::max<std::int64_t>(call, 1), score.calls));
    PIPESCOPE_TRY(this->call(context, {fmt::format("{}call {}", prefix, call + 1)}));
  }
  return score;
}

base::Status InferenceRunner::computeCall(RunContext& context, const data::Batch& batch,
                                          const std::string& name, std::int64_t epoch, Score& score) {
  PIPESCOPE_ASSIGN(const run::CallResult result, call(context, {name, feeder_->inputs(batch)}));
  PIPESCOPE_HOST_SPAN(span, "run", "metrics of a call");
  CallMetrics metrics(facts_, scores_, loss_);
  metrics.add(result, feeder_->labels(batch));
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
  return context.metrics.add(line);
}

void InferenceRunner::addInstances(const numerics::Instances& instances, Score& score) {
  for (std::int64_t* count : {&score.rows, &losses_, &correct_, &predictions_})
    *count = instances.sum(*count);
  const std::vector<std::byte> sums = instances.gather(std::as_bytes(std::span(&lossSum_, 1)));
  lossSum_ = 0;
  for (const double sum : numerics::valuesOf<double>(std::span<const std::byte>(sums))) lossSum_ += sum;
}

base::Result<InferenceRunner::Score> InferenceRunner::pass(
    RunContext& context, const std::string& kind, std::int64_t epoch,
    const std::function<void(double, const std::string&)>& report) {
  PIPESCOPE_HOST_SPAN(span, "run", "test pass");
  const std::string prefix = epoch > 0 ? fmt::format("{} epoch {} ", kind, epoch) : kind + " ";
  if (!computes()) return emulateOnly(context, prefix, epoch, report);
  data::LoaderOptions options;
  options.shape = shape();
  options.shuffle = false;
  options.partition = {setup_.configuration().integer("execution.instances"),
                       setup_.configuration().integer("execution.instances") > 1
                           ? setup_.configuration().integer("data.instance")
                           : 0};
  PIPESCOPE_ASSIGN(const auto loader, data::Loader::create(dataset_, options));
  Score score;
  score.available = samples_;
  score.calls = loader->callsPerEpoch();
  if (epoch == 0) context.device.planCalls(index_, score.calls);
  kind_ = kind;
  lossSum_ = 0;
  losses_ = correct_ = predictions_ = 0;
  for (std::int64_t call = 0;; ++call) {
    PIPESCOPE_TRY(run::checkCancelled(context.progress));
    PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader->next(context.progress));
    if (!batch) break;
    PIPESCOPE_TRY(computeCall(context, *batch, fmt::format("{}call {}", prefix, call + 1), epoch, score));
    std::string what = fmt::format("{} call {}/{}", kind, call + 1, score.calls);
    if (predictions_ > 0)
      what += fmt::format("  accuracy {:.2f} %",
                          100.0 * static_cast<double>(correct_) / static_cast<double>(predictions_));
    report(static_cast<double>(call + 1) / static_cast<double>(score.calls), what);
  }
  if (const auto& instances = setup_.program->instances()) addInstances(*instances, score);
  if (predictions_ > 0) score.accuracy = static_cast<double>(correct_) / static_cast<double>(predictions_);
  if (losses_ > 0) score.loss = lossSum_ / static_cast<double>(losses_);
  return score;
}

}  // namespace pipescope::app

#include <fmt/format.h>

#include "app/run/call_metrics.h"
#include "app/run/data_source.h"
#include "app/run/executable_runner.h"
#include "app/run/optimizer_choice.h"
#include "engine/data/loader.h"

namespace pipescope::app {
namespace {

class Training {
 public:
  Training(RunContext& context, std::size_t executable, RunResult& result)
      : context_(context),
        index_(executable),
        facts_(context.recorded.executables[executable].facts),
        result_(result) {}

  base::Status run(std::optional<numerics::Parameters>& weights) {
    epochs_ = context_.configuration.integer("training.epochs");
    if (!context_.configuration.boolean("execution.numerics")) return emulateOnly();
    context_.progress.report(0, "preparing data");
    PIPESCOPE_ASSIGN(const auto dataset, openData(context_.configuration, data::Split::train,
                                                  context_.progress, context_.executor));
    PIPESCOPE_TRY(makeSession(*dataset));
    PIPESCOPE_TRY(makeLoader(dataset));
    addCounters();
    const auto begun = wallNow(context_);
    PIPESCOPE_TRY(callAll());
    addOutcomes(wallNow(context_) - begun);
    weights = session_->parameters();
    return {};
  }

 private:
  data::BatchShape shape() const {
    return {facts_.microBatchSize, facts_.iterations, facts_.microBatches, 1};
  }

  base::Status emulateOnly() {
    PIPESCOPE_ASSIGN(const std::int64_t samples, countData(context_.configuration, data::Split::train,
                                                           context_.progress, context_.executor));
    const std::int64_t calls = samples / shape().rows();
    if (calls == 0) return tooFewSamples(samples);
    for (std::int64_t call = 0; call < calls * epochs_; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      report(call, calls, "");
      PIPESCOPE_ASSIGN(const model::Run run,
                       emulateCall(context_, index_, name(call, calls), shape().rows(), 0, 0));
      last_ = run;
    }
    addEmulatedTime();
    return {};
  }

  base::Error tooFewSamples(std::int64_t samples) const {
    return base::badInput(
        fmt::format("One training call takes {} samples (micro-batch {} × accumulation {} × device "
                    "iterations {}), but there are only {}.",
                    shape().rows(), facts_.microBatchSize, facts_.microBatches, facts_.iterations, samples));
  }

  base::Status makeSession(const data::Dataset& dataset) {
    PIPESCOPE_ASSIGN(auto optimizer, chooseOptimizer(context_.configuration));
    const graph::Graph& graph = *context_.compilation.executables[index_].graph;
    PIPESCOPE_TRY(checkData(graph, dataset));
    numerics::SessionOptions options;
    options.seed = static_cast<std::uint64_t>(context_.configuration.integer("execution.seed"));
    PIPESCOPE_ASSIGN(session_, numerics::Session::create(graph, ops::standardOperators(),
                                                         std::move(optimizer), context_.executor, options));
    return {};
  }

  static base::Status checkData(const graph::Graph& graph, const data::Dataset& dataset) {
    const graph::TensorType& input = graph.tensor(graph.inputs.front()).type;
    const graph::Shape sample(input.shape.begin() + 1, input.shape.end());
    if (sample != dataset.sampleType().shape) {
      return base::badInput(fmt::format("The model takes samples of {}, but {} has {}.",
                                        graph::toString(graph::TensorType{input.element, sample}),
                                        dataset.description(), graph::toString(dataset.sampleType())));
    }
    const graph::TensorType& output = graph.tensor(graph.outputs.front()).type;
    if (output.shape.back() < dataset.classes()) {
      return base::badInput(
          fmt::format("The model's last layer has {} outputs, but {} has {} classes: give it one for each.",
                      output.shape.back(), dataset.description(), dataset.classes()));
    }
    return {};
  }

  base::Status makeLoader(const std::shared_ptr<const data::Dataset>& dataset) {
    data::LoaderOptions options;
    options.shape = shape();
    options.seed = static_cast<std::uint64_t>(context_.configuration.integer("execution.seed"));
    options.shuffle = context_.configuration.boolean("training.shuffle");
    options.epochs = epochs_;
    classesOfModel_ = context_.compilation.executables[index_]
                          .graph->tensor(context_.compilation.executables[index_].graph->outputs.front())
                          .type.shape.back();
    PIPESCOPE_ASSIGN(loader_, data::Loader::create(dataset, options));
    return {};
  }

  void addCounters() {
    const model::ExecutableId id = context_.recorded.executables[index_].id;
    loss_ = context_.recorder.add(model::Counter{{}, id, {}, "loss", ""});
    accuracy_ = context_.recorder.add(model::Counter{{}, id, {}, "accuracy", "fraction"});
  }

  base::Status callAll() {
    const std::int64_t calls = loader_->callsPerEpoch();
    for (std::int64_t call = 0;; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader_->next(context_.progress));
      if (!batch) return {};
      if (call == 0) report(0, calls, "");
      PIPESCOPE_TRY(callOnce(*batch, call, calls));
    }
  }

  base::Status callOnce(const data::Batch& batch, std::int64_t call, std::int64_t calls) {
    const std::int64_t wallStart = wallNow(context_);
    CallMetrics metrics(facts_, classesOfModel_);
    const std::int64_t rows = facts_.microBatchSize * facts_.microBatches;
    const std::size_t sampleSize = batch.samples.size() / static_cast<std::size_t>(batch.rows);
    for (std::int64_t iteration = 0; iteration < facts_.iterations; ++iteration) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      const auto first = static_cast<std::size_t>(iteration * rows), count = static_cast<std::size_t>(rows);
      const std::span samples = std::span(batch.samples).subspan(first * sampleSize, count * sampleSize);
      const std::span labels = std::span(batch.labels).subspan(first, count);
      PIPESCOPE_TRY(session_->trainStep({numerics::rowsOf(samples), numerics::rowsOf(labels)},
                                        metrics.keep(iteration), results_));
      if (!results_.lossesFinite()) return notFinite(call, calls, iteration);
      metrics.add(iteration, results_, labels);
    }
    PIPESCOPE_ASSIGN(
        last_, emulateCall(context_, index_, name(call, calls), batch.rows, wallStart, wallNow(context_)));
    samples_ += batch.rows;
    basis_ = metrics.basis();
    finalLoss_ = metrics.loss();
    finalAccuracy_ = metrics.accuracy();
    if (finalLoss_) context_.recorder.add(model::CounterSample{loss_, last_.end, last_.id, *finalLoss_});
    if (finalAccuracy_)
      context_.recorder.add(model::CounterSample{accuracy_, last_.end, last_.id, *finalAccuracy_});
    std::string shown = finalLoss_ ? fmt::format("loss {:.4f}", *finalLoss_) : "";
    if (finalAccuracy_) shown += fmt::format("  accuracy {:.2f} %", *finalAccuracy_ * 100);
    report(call + 1, calls, shown);
    return {};
  }

  base::Error notFinite(std::int64_t call, std::int64_t calls, std::int64_t iteration) const {
    return base::refused(
        fmt::format("The loss is not a number in epoch {}, call {}, iteration {}: training has diverged. "
                    "Lower training.learning_rate (now {}), or look at the data. "
                    "The profile holds what ran before.",
                    call / calls + 1, call % calls + 1, iteration + 1,
                    context_.configuration.real("training.learning_rate")));
  }

  std::string name(std::int64_t call, std::int64_t calls) const {
    return fmt::format("training epoch {} call {}", call / calls + 1, call % calls + 1);
  }

  void report(std::int64_t done, std::int64_t calls, const std::string& shown) {
    const std::int64_t now = std::max<std::int64_t>(done - 1, 0);  // the call that was just finished
    const bool both = context_.compilation.executables.size() > 1;
    const double fraction = static_cast<double>(done) / static_cast<double>(calls * epochs_);
    context_.progress.report(fraction * (both ? 0.9 : 1.0),
                             fmt::format("epoch {}/{}  call {}/{}{}{}", now / calls + 1, epochs_,
                                         now % calls + 1, calls, shown.empty() ? "" : "  ", shown));
  }

  void addEmulatedTime() {
    result_.emulatedSeconds = base::toSeconds(
        last_.end, base::Timebase{context_.compilation.system->devices().front().ticksPerSecond});
  }

  void addOutcomes(std::int64_t wallNs) {
    const model::ExecutableId id = context_.recorded.executables[index_].id;
    if (finalLoss_)
      context_.recorder.add(
          model::Outcome{id, "final_loss", "", "last training call: " + basis_, *finalLoss_});
    if (finalAccuracy_)
      context_.recorder.add(
          model::Outcome{id, "final_accuracy", "fraction", "last training call: " + basis_, *finalAccuracy_});
    result_.hostSamplesPerSecond =
        static_cast<double>(samples_) / std::max(1e-9, static_cast<double>(wallNs) * 1e-9);
    context_.recorder.add(model::Outcome{id, "host_samples_per_second", "samples/s",
                                         "all training calls, on the host that emulated them",
                                         result_.hostSamplesPerSecond});
    result_.finalLoss = finalLoss_;
    addEmulatedTime();
  }

  RunContext& context_;
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  RunResult& result_;
  std::int64_t epochs_ = 1, samples_ = 0, classesOfModel_ = 0;
  std::unique_ptr<numerics::Session> session_;
  std::unique_ptr<data::Loader> loader_;
  numerics::Results results_;
  model::CounterId loss_, accuracy_;
  model::Run last_;
  std::string basis_;
  std::optional<double> finalLoss_, finalAccuracy_;
};

}  // namespace

base::Status runTraining(RunContext& context, std::size_t executable,
                         std::optional<numerics::Parameters>& weights, RunResult& result) {
  return Training(context, executable, result).run(weights);
}

}  // namespace pipescope::app

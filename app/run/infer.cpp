#include <fmt/format.h>

#include "app/run/call_metrics.h"
#include "app/run/data_source.h"
#include "app/run/executable_runner.h"
#include "engine/data/loader.h"

namespace pipescope::app {
namespace {

class Inference {
 public:
  Inference(RunContext& context, std::size_t executable, RunResult& result)
      : context_(context),
        index_(executable),
        facts_(context.recorded.executables[executable].facts),
        result_(result) {}

  base::Status run(const std::optional<numerics::Parameters>& weights) {
    if (!context_.configuration.boolean("execution.numerics")) return emulateOnly();
    PIPESCOPE_ASSIGN(const auto dataset, openData(context_.configuration, data::Split::test,
                                                  context_.progress, context_.executor));
    const graph::Graph& graph = *context_.compilation.executables[index_].graph;
    numerics::SessionOptions sessionOptions;
    sessionOptions.seed = static_cast<std::uint64_t>(context_.configuration.integer("execution.seed"));
    PIPESCOPE_ASSIGN(const auto session, numerics::Session::create(graph, ops::standardOperators(), nullptr,
                                                                   context_.executor, sessionOptions));
    if (weights) PIPESCOPE_TRY(session->parameters().assignFrom(*weights));
    data::LoaderOptions options;
    options.shape = shape();
    options.shuffle = false;
    PIPESCOPE_ASSIGN(const auto loader, data::Loader::create(dataset, options));
    PIPESCOPE_TRY(callAll(*session, *loader, graph.tensor(graph.outputs.front()).type.shape.back()));
    addOutcome(dataset->size(), weights.has_value());
    return {};
  }

 private:
  /// The D micro-batches of a call are one flush of the pipeline.
  data::BatchShape shape() const { return {facts_.microBatchSize, facts_.microBatches, 1, 1}; }

  base::Status emulateOnly() {
    PIPESCOPE_ASSIGN(const std::int64_t samples, countData(context_.configuration, data::Split::test,
                                                           context_.progress, context_.executor));
    const std::int64_t calls = samples / shape().rows();
    if (calls == 0) {
      return base::badInput(
          fmt::format("One inference call takes {} samples (micro-batch {} × device iterations {}), but "
                      "there are only {}.",
                      shape().rows(), facts_.microBatchSize, facts_.microBatches, samples));
    }
    for (std::int64_t call = 0; call < calls; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      report(call, calls);
      PIPESCOPE_TRY(emulate(call, shape().rows(), 0, 0));
    }
    return {};
  }

  base::Status emulate(std::int64_t call, std::int64_t rows, std::int64_t wallStart, std::int64_t wallEnd) {
    PIPESCOPE_ASSIGN(
        const model::Run run,
        emulateCall(context_, index_, fmt::format("inference call {}", call + 1), rows, wallStart, wallEnd));
    result_.emulatedSeconds = base::toSeconds(
        run.end, base::Timebase{context_.compilation.system->devices().front().ticksPerSecond});
    return {};
  }

  base::Status callAll(numerics::Session& session, data::Loader& loader, std::int64_t classes) {
    numerics::Results results;
    for (std::int64_t call = 0;; ++call) {
      PIPESCOPE_TRY(checkCancelled(context_.progress));
      PIPESCOPE_ASSIGN(const std::optional<data::Batch> batch, loader.next(context_.progress));
      if (!batch) return {};
      const std::int64_t wallStart = wallNow(context_);
      PIPESCOPE_TRY(session.infer({numerics::rowsOf(std::span<const float>(batch->samples))},
                                  numerics::Keep::all, results));
      CallMetrics metrics(facts_, classes);
      metrics.add(0, results, batch->labels);
      PIPESCOPE_TRY(emulate(call, batch->rows, wallStart, wallNow(context_)));
      correct_ += metrics.correct();
      rows_ += metrics.rows();
      report(call + 1, loader.callsPerEpoch());
    }
  }

  void report(std::int64_t done, std::int64_t calls) {
    const double begin = context_.compilation.executables.size() > 1 ? 0.9 : 0.0;
    const double fraction = begin + (1 - begin) * static_cast<double>(done) / static_cast<double>(calls);
    std::string what = fmt::format("inference  call {}/{}", std::max<std::int64_t>(done, 1), calls);
    if (rows_ > 0)
      what += fmt::format("  accuracy {:.2f} %",
                          100.0 * static_cast<double>(correct_) / static_cast<double>(rows_));
    context_.progress.report(fraction, what);
  }

  void addOutcome(std::int64_t available, bool trained) {
    if (rows_ == 0) return;
    const double accuracy = static_cast<double>(correct_) / static_cast<double>(rows_);
    const std::string dropped =
        available > rows_ ? fmt::format("; the last {} fill no call and were dropped", available - rows_)
                          : "";
    context_.recorder.add(model::Outcome{context_.recorded.executables[index_].id, "test_accuracy",
                                         "fraction",
                                         fmt::format("{} of {} test rows{}{}", rows_, available, dropped,
                                                     trained ? "" : "; weights are untrained"),
                                         accuracy});
    result_.testAccuracy = accuracy;
  }

  RunContext& context_;
  std::size_t index_;
  const emulate::ExecutableFacts& facts_;
  RunResult& result_;
  std::int64_t correct_ = 0, rows_ = 0;
};

}  // namespace

base::Status runInference(RunContext& context, std::size_t executable,
                          const std::optional<numerics::Parameters>& weights, RunResult& result) {
  return Inference(context, executable, result).run(weights);
}

}  // namespace pipescope::app

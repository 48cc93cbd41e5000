#include "profiler/analysis/pipeline/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "profiler/analysis/coverage.h"
#include "profiler/analysis/pipeline/recorded/recorded_graph.h"

namespace pipescope::analysis {
namespace {

/// A slowdown below this is no straggler's.
constexpr double kNoticeable = 1.03;
/// A culprit explains at least this share of the slowdown.
constexpr double kMostOfIt = 0.5;
/// Least share of messages with a counterpart. With fewer, the replay lacks too many dependencies.
constexpr double kPairedShare = 0.9;
/// A replay that differs more than this from the recorded step times does not stand for the run.
constexpr double kFarthestReplay = 0.25;

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  if (values.size() % 2 == 1) return values[half];
  const double below = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
  return (below + values[half]) / 2;
}

class StragglerReplays {
 public:
  explicit StragglerReplays(const RecordedGraph& graph) : graph_(graph), usual_(usualTicks()) {}

  /// Step times if the operations that `real` names take their recorded time and the others their usual one.
  template <class Real>
  std::vector<double> stepTimes(Real real) const {
    std::vector<double> ticks(graph_.operations.size());
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      const RecordedOperation& operation = graph_.operations[i];
      ticks[i] = real(operation) ? operation.ticks : usual_[static_cast<std::size_t>(operation.type)];
    }
    const std::vector<double> ends = graph_.graph.ends(ticks);
    std::vector<double> steps(graph_.iterations.size(), 0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      double& step = steps[static_cast<std::size_t>(graph_.operations[i].iteration)];
      step = std::max(step, ends[i]);
    }
    return steps;
  }

  double usualTicksOf(const RecordedOperation& operation) const {
    return usual_[static_cast<std::size_t>(operation.type)];
  }

  /// The effect of each value 0 … count − 1 of a property of operations.
  std::vector<Straggler> each(std::size_t count, std::int32_t RecordedOperation::*property,
                              const std::function<std::string(std::size_t)>& name, double usualMean) const {
    std::vector<Straggler> found;
    for (std::size_t k = 0; k < count; ++k) {
      const auto own = [&](const RecordedOperation& o) {
        return o.*property == static_cast<std::int32_t>(k);
      };
      Straggler straggler;
      straggler.name = name(k);
      straggler.alone = mean(stepTimes(own)) / usualMean;
      straggler.without = mean(stepTimes([&](const RecordedOperation& o) { return !own(o); })) / usualMean;
      found.push_back(std::move(straggler));
    }
    return found;
  }

 private:
  std::vector<double> usualTicks() const {
    std::vector<std::vector<double>> lengths(graph_.types.size());
    std::vector<bool> computes(graph_.types.size(), true);
    for (const RecordedOperation& operation : graph_.operations) {
      const auto type = static_cast<std::size_t>(operation.type);
      lengths[type].push_back(operation.ticks);
      computes[type] = operation.computes;
    }
    std::vector<double> usual;
    for (std::size_t type = 0; type < lengths.size(); ++type)
      usual.push_back(lengths[type].empty() ? 0
                      : computes[type]      ? mean(lengths[type])
                                            : median(std::move(lengths[type])));
    return usual;
  }

  const RecordedGraph& graph_;
  const std::vector<double> usual_;  // usual length of each type
};

std::vector<std::vector<double>> paceOf(const RecordedGraph& graph, const StragglerReplays& replays) {
  const std::size_t workers = graph.workers.size(), iterations = graph.iterations.size();
  std::vector<std::vector<double>> took(workers, std::vector<double>(iterations, 0)), usual = took;
  for (const RecordedOperation& operation : graph.operations) {
    if (!operation.computes) continue;
    const auto worker = static_cast<std::size_t>(operation.worker);
    const auto iteration = static_cast<std::size_t>(operation.iteration);
    took[worker][iteration] += operation.ticks;
    usual[worker][iteration] += replays.usualTicksOf(operation);
  }
  for (std::size_t w = 0; w < workers; ++w)
    for (std::size_t i = 0; i < iterations; ++i) took[w][i] = usual[w][i] > 0 ? took[w][i] / usual[w][i] : 0;
  return took;
}

/// A worker is named only if there are others that compute the same stage: a single slow worker and a stage
/// with too much work look alike otherwise.
void findCulprit(Stragglers& found) {
  using Cause = Stragglers::Cause;
  if (found.slowdown < kNoticeable) return;
  found.cause = Cause::several;
  const auto consider = [&](const std::vector<Straggler>& all, Cause cause) {
    if (found.cause != Cause::several || all.size() < 2) return;
    const auto best = std::min_element(all.begin(), all.end(),
                                       [](const auto& a, const auto& b) { return a.without < b.without; });
    const double explained = (found.slowdown - best->without) / (found.slowdown - 1);
    if (explained < kMostOfIt) return;
    found.cause = cause;
    found.culprit = best->name;
    found.explained = explained;
  };
  if (found.replicas.size() > 1 || found.ranks.size() > 1) consider(found.workers, Cause::worker);
  consider(found.stages, Cause::stage);
  consider(found.replicas, Cause::replica);
  consider(found.ranks, Cause::rank);
  consider(found.types, Cause::type);
}

}  // namespace

Result<StragglersAnswer> stragglers(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable) {
  StragglersAnswer answer;
  if (!catalog.measured()) {
    const bool scaled = std::ranges::any_of(
        catalog.configuration,
        [](const model::ConfigurationEntry& entry) { return entry.path.starts_with("device_scale"); });
    answer.why = scaled ? "Emulated devices that do the same work take the same time, but for those that "
                          "[[device_scale]] slows down. Look at the waits for what they cost the others."
                        : "Emulated devices that do the same work take the same time, so there are no "
                          "stragglers. Look at the stages for their imbalance.";
    return answer;
  }
  PIPESCOPE_ASSIGN(const RecordedGraph graph, recordedGraph(source, catalog, executable));
  if (graph.passes == 0) {
    answer.why =
        "No passes of pipeline stages within training steps were recognised, so there is no verdict on "
        "stragglers: name them with import --rules.";
    return answer;
  }
  if (!graph.ordered) {
    answer.why =
        "The recognised operations wait for each other in a circle, so they cannot be replayed and there is "
        "no verdict on stragglers.";
    return answer;
  }
  if (static_cast<double>(graph.numbered) < kPairedShare * static_cast<double>(graph.passes)) {
    answer.why = fmt::format(
        "Only {} of {} passes state their micro-batch, so nobody knows what the others wait for and there is "
        "no "
        "verdict on stragglers.",
        graph.numbered, graph.passes);
    return answer;
  }
  const Coverage coverage = coverageOf(catalog);
  if (static_cast<double>(coverage.pairedMessages) < kPairedShare * static_cast<double>(coverage.messages)) {
    answer.why = fmt::format(
        "Only {} of {} messages between stages found their counterpart, so there is no verdict on "
        "stragglers.",
        coverage.pairedMessages, coverage.messages);
    return answer;
  }
  const StragglerReplays replays(graph);
  Stragglers found;
  found.messages = graph.messages;
  found.recorded = graph.iterations;
  found.replayed = replays.stepTimes([](const RecordedOperation&) { return true; });
  found.usual = replays.stepTimes([](const RecordedOperation&) { return false; });
  const double recorded = mean(found.recorded), replayed = mean(found.replayed), usual = mean(found.usual);
  if (usual <= 0 || std::abs(replayed / recorded - 1) > kFarthestReplay) {
    answer.why = fmt::format(
        "The replay of the recognised operations takes {:.0f} % of the recorded step time, so too much of "
        "the "
        "steps was not recognised for a verdict on stragglers.",
        recorded > 0 ? 100 * replayed / recorded : 0);
    return answer;
  }
  found.slowdown = replayed / usual;
  found.launchSlowdown = recorded / replayed;
  for (std::size_t i = 0; i < found.usual.size(); ++i)
    found.iterations.push_back(found.usual[i] > 0 ? found.replayed[i] / found.usual[i] : 0);
  const auto number = [](std::size_t k) { return std::to_string(k); };
  const auto stages = static_cast<std::size_t>(graph.stages),
             replicas = static_cast<std::size_t>(graph.replicas);
  found.stages = replays.each(stages, &RecordedOperation::stage, number, usual);
  found.replicas = replays.each(replicas, &RecordedOperation::replica, number, usual);
  found.ranks = replays.each(static_cast<std::size_t>(graph.ranks), &RecordedOperation::rank, number, usual);
  found.workers = replays.each(
      graph.workers.size(), &RecordedOperation::worker, [&](std::size_t k) { return graph.workers[k]; },
      usual);
  found.types = replays.each(
      graph.types.size(), &RecordedOperation::type, [&](std::size_t k) { return graph.types[k]; }, usual);
  found.pace = paceOf(graph, replays);
  findCulprit(found);
  answer.stragglers = std::move(found);
  return answer;
}

}  // namespace pipescope::analysis

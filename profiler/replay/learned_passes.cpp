#include "profiler/replay/learned_passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "profiler/analysis/iterations.h"
#include "profiler/analysis/rows_of_run.h"

namespace pipescope::replay {
namespace {

/// The kind of pass that the work belongs to; copies with the host belong to the pass beside them.
std::optional<model::Pass> kindOfWork(model::Pass pass) {
  switch (pass) {
    case model::Pass::hostIn:
    case model::Pass::hostOut:
    case model::Pass::forward:
      return model::Pass::forward;
    case model::Pass::recompute:
    case model::Pass::backward:
    case model::Pass::weightGradient:
      return pass;
    default:
      return std::nullopt;
  }
}

class PassReader {
 public:
  PassReader(const analysis::Catalog& catalog, const model::Run& run, std::size_t stages)
      : catalog_(catalog), run_(run), stages_(stages) {}

  void add(const model::Placement& p) {
    const auto stage = static_cast<std::size_t>(p.stage);
    if (p.replica != 0 || p.stage < 0 || stage >= stages_ || p.iteration < 0) return;
    LearnedIteration& iteration = iterations_[p.iteration];
    if (iteration.updates.empty()) {
      iteration.updates.assign(stages_, 0);
      iteration.collectives.assign(stages_, 0);
    }
    const double start = secondsAt(p.device, p.start), end = secondsAt(p.device, p.end);
    const auto kind = kindOfWork(p.pass);
    if (!kind || p.microBatch < 0) {
      (p.pass == model::Pass::collective ? iteration.collectives : iteration.updates)[stage] += end - start;
      return;
    }
    auto& all = passes_[p.iteration];
    const auto [at, added] = all.try_emplace({p.stage, p.microBatch, *kind},
                                             LearnedPass{p.stage, p.microBatch, *kind, start, end, 0});
    LearnedPass& pass = at->second;
    pass.start = std::min(pass.start, start);
    pass.end = std::max(pass.end, end);
    pass.work += end - start;
  }

  std::vector<LearnedIteration> take(const std::vector<analysis::IterationSpan>& spans) {
    std::size_t most = 0;
    for (const auto& [number, passes] : passes_) most = std::max(most, passes.size());
    std::vector<LearnedIteration> whole;
    for (auto& [number, passes] : passes_) {
      const analysis::IterationSpan* span = analysis::findIteration(spans, number);
      if (span == nullptr || passes.size() < most) continue;
      LearnedIteration iteration = std::move(iterations_[number]);
      iteration.number = number;
      iteration.start = secondsAt({}, span->start);
      iteration.end = secondsAt({}, span->end);
      for (const auto& [key, pass] : passes) iteration.passes.push_back(pass);
      std::ranges::stable_sort(iteration.passes, {}, &LearnedPass::start);
      whole.push_back(std::move(iteration));
    }
    return whole;
  }

 private:
  double secondsAt(model::DeviceId device, base::Ticks ticks) const {
    const base::Ticks since =
        device.valid() ? catalog_.toAxis(device, ticks) - run_.start : ticks - run_.start;
    return static_cast<double>(since.count) / static_cast<double>(catalog_.timebase({}).ticksPerSecond);
  }

  const analysis::Catalog& catalog_;
  const model::Run& run_;
  const std::size_t stages_;
  std::map<std::int32_t, LearnedIteration> iterations_;
  std::map<std::int32_t, std::map<std::tuple<int, int, model::Pass>, LearnedPass>> passes_;  // by iteration
};

}  // namespace

base::Result<std::vector<LearnedIteration>> learnedIterations(const model::ProfileSource& source,
                                                              const analysis::Catalog& catalog,
                                                              model::ExecutableId executable) {
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return base::badInput("The profile holds no call, so there is nothing to learn from.");
  PassReader reader(catalog, *run, catalog.stagesOf(executable).size());
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements,
                   analysis::rowsOfRun<model::Placement>(source, *run));
  for (const model::Placement& placement : placements) reader.add(placement);
  std::vector<LearnedIteration> iterations = reader.take(analysis::iterationsOf(catalog, placements, *run));
  if (iterations.empty())
    return base::badInput(
        "The profile names no iteration and micro-batch of its passes, so their costs cannot be learned: "
        "`pipescope report --section coverage` says what was recognised.");
  return iterations;
}

double middleOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, half);
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

int removeWarmUp(std::vector<LearnedIteration>& iterations) {
  constexpr double kSteady = 1.05;
  std::vector<double> lengths;
  for (const LearnedIteration& iteration : iterations) lengths.push_back(iteration.length());
  const double usual = middleOf(lengths) * kSteady;
  const auto first = std::ranges::find_if(
      iterations, [usual](const LearnedIteration& iteration) { return iteration.length() <= usual; });
  const auto count = static_cast<int>(first - iterations.begin());
  iterations.erase(iterations.begin(), first);
  return count;
}

}  // namespace pipescope::replay

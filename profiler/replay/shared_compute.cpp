#include "profiler/replay/shared_compute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pipescope::replay {
namespace {

/// Parts of the length of each pass of an iteration in which 1, 2 … devices compute.
using Company = std::vector<std::vector<double>>;

Company companyOf(const LearnedIteration& iteration, const std::vector<int>& placeOfStage) {
  struct Edge {
    double time;
    int place, change;
  };
  std::vector<Edge> edges;
  for (const LearnedPass& pass : iteration.passes) {
    const int place = placeOfStage[static_cast<std::size_t>(pass.stage)];
    edges.push_back({pass.start, place, 1});
    edges.push_back({pass.end, place, -1});
  }
  std::ranges::sort(edges, {}, &Edge::time);
  const int places = *std::ranges::max_element(placeOfStage) + 1;
  // The number of devices that compute between two edges.
  std::vector<int> under(static_cast<std::size_t>(places), 0);
  std::vector<std::size_t> computing(edges.size(), 0);
  std::size_t now = 0;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    int& own = under[static_cast<std::size_t>(edges[e].place)];
    if (edges[e].change > 0 && own++ == 0) ++now;
    if (edges[e].change < 0 && --own == 0) --now;
    computing[e] = now;
  }
  Company company;
  for (const LearnedPass& pass : iteration.passes) {
    std::vector<double>& parts = company.emplace_back(static_cast<std::size_t>(places), 0.0);
    const double length = pass.end - pass.start;
    if (length <= 0) continue;
    auto e = static_cast<std::size_t>(std::ranges::lower_bound(edges, pass.start, {}, &Edge::time) -
                                      edges.begin());
    for (; e + 1 < edges.size() && edges[e].time < pass.end; ++e)
      if (computing[e] > 0)
        parts[computing[e] - 1] +=
            (std::min(edges[e + 1].time, pass.end) - std::max(edges[e].time, pass.start)) / length;
  }
  return company;
}

/// Part of its length that a pass takes at full speed.
double fullSpeed(double shared, const std::vector<double>& parts) {
  double sum = 0, all = 0;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    all += parts[n];
    sum += parts[n] * std::min(1.0, shared / static_cast<double>(n + 1));
  }
  return all > 0 ? sum / all : 1;
}

using Group = std::pair<int, model::Pass>;  ///< stage and pass

/// Mean distance of works from the middle of their stage and pass, relative to it, in each iteration.
std::vector<double> spreads(double shared, const std::vector<LearnedIteration>& iterations,
                            const std::vector<Company>& companies) {
  std::vector<double> all;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    std::map<Group, std::vector<double>> works;
    for (std::size_t p = 0; p < iterations[i].passes.size(); ++p) {
      const LearnedPass& pass = iterations[i].passes[p];
      works[{pass.stage, pass.pass}].push_back(pass.work * fullSpeed(shared, companies[i][p]));
    }
    double sum = 0, count = 0;
    for (const auto& [group, own] : works) {
      const double middle = middleOf(own);
      if (middle <= 0) continue;
      for (const double work : own) sum += std::fabs(work - middle) / middle;
      count += static_cast<double>(own.size());
    }
    all.push_back(count > 0 ? sum / count : 0);
  }
  return all;
}

double meanOfSpreads(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// True if the spreads are smaller than before by more than a twentieth, and by more than twice the standard
/// error over the iterations, so that it is hardly chance.
bool isNarrower(const std::vector<double>& before, const std::vector<double>& now) {
  constexpr double kNotable = 0.05, kErrors = 2;
  const double gain = meanOfSpreads(before) - meanOfSpreads(now);
  if (before.size() < 2 || gain < kNotable * meanOfSpreads(before)) return false;
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    squares += (before[i] - now[i] - gain) * (before[i] - now[i] - gain);
  const auto count = static_cast<double>(before.size());
  return gain > kErrors * std::sqrt(squares / (count - 1) / count);
}

}  // namespace

double sharedCompute(const std::vector<LearnedIteration>& iterations, const std::vector<int>& placeOfStage) {
  constexpr int kPerDevice = 20;   // tried parts of a device
  constexpr double kLeast = 0.01;  // spread of passes that are equal already
  std::vector<Company> companies;
  for (const LearnedIteration& iteration : iterations)
    companies.push_back(companyOf(iteration, placeOfStage));
  const int places = *std::ranges::max_element(placeOfStage) + 1;
  const std::vector<double> without = spreads(static_cast<double>(places), iterations, companies);
  if (meanOfSpreads(without) < kLeast) return 0;
  double best = 0;
  std::vector<double> least = without;
  for (int part = kPerDevice; part < places * kPerDevice; ++part) {
    const double shared = static_cast<double>(part) / kPerDevice;
    std::vector<double> own = spreads(shared, iterations, companies);
    if (meanOfSpreads(own) >= meanOfSpreads(least)) continue;
    best = shared;
    least = std::move(own);
  }
  return best > 0 && isNarrower(without, least) ? best : 0;
}

void removeSharing(double shared, const std::vector<int>& placeOfStage,
                   std::vector<LearnedIteration>& iterations) {
  for (LearnedIteration& iteration : iterations) {
    const Company company = companyOf(iteration, placeOfStage);
    for (std::size_t p = 0; p < iteration.passes.size(); ++p)
      iteration.passes[p].work *= fullSpeed(shared, company[p]);
  }
}

}  // namespace pipescope::replay

#include "profiler/replay/shared_compute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

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

using Group = std::tuple<int, int, model::Pass>;  ///< iteration, stage, pass

/// Mean distance of works from the middle of their stage, pass and iteration, relative to it.
double spread(double shared, const std::vector<LearnedIteration>& iterations,
              const std::vector<Company>& companies) {
  std::map<Group, std::vector<double>> works;
  for (std::size_t i = 0; i < iterations.size(); ++i)
    for (std::size_t p = 0; p < iterations[i].passes.size(); ++p) {
      const LearnedPass& pass = iterations[i].passes[p];
      works[{static_cast<int>(i), pass.stage, pass.pass}].push_back(pass.work *
                                                                    fullSpeed(shared, companies[i][p]));
    }
  double sum = 0, count = 0;
  for (const auto& [group, all] : works) {
    const double middle = middleOf(all);
    if (middle <= 0) continue;
    for (const double work : all) sum += std::fabs(work - middle) / middle;
    count += static_cast<double>(all.size());
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

double sharedCompute(const std::vector<LearnedIteration>& iterations, const std::vector<int>& placeOfStage) {
  constexpr int kPerDevice = 20;    // tried parts of a device
  constexpr double kNotable = 0.8;  // of the spread without sharing: smaller gains may be chance
  constexpr double kLeast = 0.01;   // spread of passes that are equal already
  std::vector<Company> companies;
  for (const LearnedIteration& iteration : iterations)
    companies.push_back(companyOf(iteration, placeOfStage));
  const int places = *std::ranges::max_element(placeOfStage) + 1;
  const double without = spread(static_cast<double>(places), iterations, companies);
  if (without < kLeast) return 0;
  double best = 0, least = kNotable * without;
  for (int part = kPerDevice; part < places * kPerDevice; ++part) {
    const double shared = static_cast<double>(part) / kPerDevice;
    const double own = spread(shared, iterations, companies);
    if (own >= least) continue;
    best = shared;
    least = own;
  }
  return best;
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

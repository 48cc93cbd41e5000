#include "engine/compile/sharding/expert_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace pipescope::compile {
namespace {

/// Reads numbers that commas or spaces separate. Empty: the text holds something else.
std::vector<double> numbersOf(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    double number = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (read.ec != std::errc() || !std::isfinite(number) || number < 0) return {};
    numbers.push_back(number);
    at = static_cast<std::size_t>(read.ptr - text.data());
  }
  return numbers;
}

}  // namespace

base::Result<std::vector<double>> ExpertLoad::shares(std::int64_t experts) const {
  std::vector<double> result = weights;
  if (result.empty()) {
    for (std::int64_t i = 0; i < experts; ++i) result.push_back(std::pow(static_cast<double>(i + 1), -zipf));
  }
  if (static_cast<std::int64_t>(result.size()) != experts)
    return base::badInput(
        fmt::format("The load of experts has {} numbers, but a layer has {} experts: give one for each.",
                    result.size(), experts));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& share : result) share /= sum;
  return result;
}

base::Result<ExpertLoad> parseExpertLoad(const std::string& text) {
  ExpertLoad load;
  if (text == "uniform") return load;
  if (text.starts_with("zipf")) {
    const std::vector<double> exponent = numbersOf(text.substr(4));
    if (exponent.size() == 1 && exponent[0] <= 10) {
      load.zipf = exponent[0];
      return load;
    }
  } else {
    load.weights = numbersOf(text);
    if (std::accumulate(load.weights.begin(), load.weights.end(), 0.0) > 0) return load;
  }
  return base::badInput(fmt::format(
      "\"{}\" is no load of experts: give uniform, zipf and an exponent of at most 10 (\"zipf 1.2\"), or one "
      "number for each expert (\"4, 1, 1, 1\").",
      text));
}

std::string toString(const ExpertLoad& load) {
  if (!load.weights.empty()) return fmt::format("{}", fmt::join(load.weights, ", "));
  return load.zipf > 0 ? fmt::format("zipf {}", load.zipf) : "uniform";
}

RankLoads loadsOf(const std::vector<double>& shares, std::int64_t ranks, std::int64_t rows,
                  std::int64_t capacity) {
  RankLoads loads;
  const std::size_t each = shares.size() / static_cast<std::size_t>(ranks);
  const auto sent = static_cast<double>(rows), most = static_cast<double>(capacity);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    double own = 0;
    for (std::size_t e = rank * each; e < (rank + 1) * each; ++e) {
      const double toExpert = shares[e] * sent;
      own += static_cast<double>(ranks) * (capacity > 0 ? std::min(toExpert, most) : toExpert);
    }
    loads.rows.push_back(own);
  }
  const double all = std::accumulate(loads.rows.begin(), loads.rows.end(), 0.0);
  // Loads that differ by rounding only are equal.
  const double largest = std::ranges::max(loads.rows);
  loads.hottest = static_cast<std::size_t>(
      std::ranges::find_if(loads.rows, [&](double own) { return own >= largest * (1 - 1e-12); }) -
      loads.rows.begin());
  loads.imbalance = all > 0 ? largest * static_cast<double>(ranks) / all : 1;
  return loads;
}

}  // namespace pipescope::compile

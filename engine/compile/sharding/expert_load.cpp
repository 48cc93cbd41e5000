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

base::Result<std::vector<double>> ExpertLoad::shares(std::int64_t experts, std::size_t layer) const {
  if (routed)
    return base::badInput(
        "execution.expert_load is routed, but no numbers have been computed that route tokens: use "
        "`pipescope "
        "run` with execution.numerics, or give a number for each expert.");
  if (!layers.empty() && layer >= layers.size())
    return base::badInput(fmt::format(
        "The load of experts has lists for {} layers, but the model has more layers with experts: "
        "give one list for each, or one for all.",
        layers.size()));
  std::vector<double> result = layers.empty() ? weights : layers[layer];
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
  if (text == "routed") {
    load.routed = true;
    return load;
  }
  if (text.starts_with("zipf")) {
    const std::vector<double> exponent = numbersOf(text.substr(4));
    if (exponent.size() == 1 && exponent[0] <= 10) {
      load.zipf = exponent[0];
      return load;
    }
  } else {
    std::vector<std::vector<double>> lists;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(';', at), text.size());
      lists.push_back(numbersOf(text.substr(at, end - at)));
      at = end + 1;
    }
    const bool loaded = std::ranges::all_of(lists, [](const std::vector<double>& list) {
      return std::accumulate(list.begin(), list.end(), 0.0) > 0;
    });
    if (lists.size() == 1)
      load.weights = std::move(lists.front());
    else
      load.layers = std::move(lists);
    if (loaded) return load;
  }
  return base::badInput(fmt::format(
      "\"{}\" is no load of experts: give uniform, routed, zipf and an exponent of at most 10 (\"zipf "
      "1.2\"), "
      "or one number for each expert (\"4, 1, 1, 1\"), with semicolons between the lists of layers.",
      text));
}

std::size_t expertLayerOf(const graph::Graph& graph, const graph::Node& dispatch) {
  std::size_t layer = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (node.id == dispatch.id) break;
    layer += node.op == dispatch.op ? 1 : 0;
  }
  return layer;
}

std::string toString(const ExpertLoad& load) {
  if (load.routed) return "routed";
  if (!load.layers.empty()) {
    std::vector<std::string> lists;
    for (const std::vector<double>& list : load.layers)
      lists.push_back(fmt::format("{}", fmt::join(list, ", ")));
    return fmt::format("{}", fmt::join(lists, "; "));
  }
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

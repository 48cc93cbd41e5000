#include "engine/emulate/micro_batch_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "profiler/base/number_text.h"
#include "profiler/base/philox.h"

namespace pipescope::emulate {
namespace {

constexpr double kLeast = 1e-3, kMost = 1e3;
/// A segment is recorded once for each different factor.
constexpr std::size_t kMostDifferent = 64;

base::Error refusedCosts(const std::string& text, const std::string& why) {
  return base::badInput(fmt::format(
      "training.micro_batch_costs = \"{}\": {}. Give factors between {} and {} (\"1, 0.5, 2\"), or the "
      "distribution of sequence lengths: uniform(LEAST, MOST), normal(MEAN, DEVIATION) or lognormal(MEDIAN, "
      "SIGMA).",
      text, why, kLeast, kMost));
}

/// Numbers that are separated by commas; none: there is something else.
std::optional<std::vector<double>> numbersIn(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view part = std::string_view(text).substr(at, comma - at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::optional<double> number = base::numberOf(part);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
    at = comma + 1;
  }
  return numbers;
}

/// A number between 0 and 1, neither of them.
double unitNumber(std::uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) / 4294967296.0;
}

/// Lengths of a distribution, relative to its mean.
struct Lengths {
  std::string name;
  double first = 0, second = 0;

  bool isKnown() const { return name == "uniform" || name == "normal" || name == "lognormal"; }
  bool isPossible() const {
    if (name == "uniform") return first > 0 && second >= first;
    return first > 0 && second >= 0 && (name == "normal" || second <= 4);
  }
  double mean() const {
    if (name == "uniform") return (first + second) / 2;
    return name == "normal" ? first : first * std::exp(second * second / 2);
  }
  double draw(std::int64_t microBatch, std::uint64_t seed) const {
    const auto low = static_cast<std::uint32_t>(microBatch),
               high = static_cast<std::uint32_t>(microBatch >> 32);
    const auto bits = base::philox4x32({low, high, 0x6d627463u, 0}, {static_cast<std::uint32_t>(seed),
                                                                     static_cast<std::uint32_t>(seed >> 32)});
    const double u = unitNumber(bits[0]);
    if (name == "uniform") return first + u * (second - first);
    // Box–Muller
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * unitNumber(bits[1]));
    return name == "normal" ? first + normal * second : first * std::exp(normal * second);
  }
};

/// "uniform(128, 512)"; none: it has no brackets.
std::optional<Lengths> lengthsIn(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(")")) return std::nullopt;
  const auto numbers = numbersIn(text.substr(open + 1, text.size() - open - 2));
  if (!numbers || numbers->size() != 2) return Lengths{};
  return Lengths{text.substr(0, open), numbers->front(), numbers->back()};
}

}  // namespace

base::Result<std::vector<double>> microBatchCosts(const std::string& text, std::int64_t microBatches,
                                                  std::uint64_t seed) {
  std::vector<double> costs;
  if (text.empty()) return costs;
  if (const auto lengths = lengthsIn(text)) {
    if (!lengths->isKnown()) return refusedCosts(text, "this is no known distribution with two numbers");
    if (!lengths->isPossible())
      return refusedCosts(text, "there is no such distribution of positive lengths");
    constexpr double kStep = 1.0 / 32;
    for (std::int64_t k = 0; k < microBatches; ++k) {
      const double cost = std::round(lengths->draw(k, seed) / lengths->mean() / kStep) * kStep;
      // Rare lengths are cut off, so that few different factors remain.
      costs.push_back(std::clamp(cost, kStep, 2.0));
    }
    return costs;
  }
  const auto factors = numbersIn(text);
  if (!factors) return refusedCosts(text, "this is no list of numbers");
  if (std::any_of(factors->begin(), factors->end(), [](double f) { return f < kLeast || f > kMost; }))
    return refusedCosts(text, "a factor lies outside these limits");
  for (std::int64_t k = 0; k < microBatches; ++k)
    costs.push_back((*factors)[static_cast<std::size_t>(k) % factors->size()]);
  if (std::set<double>(costs.begin(), costs.end()).size() > kMostDifferent)
    return refusedCosts(text, fmt::format("there are more than {} different factors", kMostDifferent));
  return costs;
}

}  // namespace pipescope::emulate

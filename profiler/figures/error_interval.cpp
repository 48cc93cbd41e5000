#include "profiler/figures/error_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/model/error_bands.h"
#include "profiler/base/number_text.h"

namespace pipescope::figures {
namespace {

using analysis::Catalog;
using analysis::ErrorBand;

constexpr std::size_t kDraws = 2003;
/// Quantiles of the standard normal distribution: 50 %, 80 % and 90 % lie within ± these.
constexpr double kHalf = 0.6745, kEighty = 1.2816, kNinety = 1.6449;

double normalShareBelow(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

double quantileOfNormal(double probability) {
  double low = -8, high = 8;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (normalShareBelow(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Normal values that cover the distribution evenly, in an order that the number of the part decides.
std::array<double, kDraws> drawsOf(std::size_t part) {
  static const std::array<double, kDraws> sorted = [] {
    std::array<double, kDraws> all{};
    for (std::size_t i = 0; i < kDraws; ++i)
      all[i] = quantileOfNormal((static_cast<double>(i) + 0.5) / static_cast<double>(kDraws));
    return all;
  }();
  std::array<double, kDraws> draws = sorted;
  std::uint64_t state = 0x9E3779B97F4A7C15U * (part + 1);
  for (std::size_t i = kDraws - 1; i > 0; --i) {  // Fisher and Yates, with SplitMix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    std::swap(draws[i], draws[static_cast<std::size_t>((z ^ (z >> 31U)) % (i + 1))]);
  }
  return draws;
}

/// Factor by which the interval of a further value is wider after so many points than with a known
/// distribution: Student's quantile at 90 % ÷ the normal one, by the expansion of Cornish and Fisher.
double widening(std::int64_t points) {
  const auto n = static_cast<double>(std::max<std::int64_t>(1, points - 1));
  return 1 + 0.66 / n + 0.45 / (n * n);
}

}  // namespace

IntervalFactors intervalOf(const std::vector<PartError>& parts) {
  std::array<double, kDraws> sums{};
  const std::array<double, kDraws> common = drawsOf(0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::array<double, kDraws> own = drawsOf(p + 1);
    const bool alone = parts.size() == 1;
    for (std::size_t i = 0; i < kDraws; ++i) {
      const double z =
          alone ? own[i]
                : std::sqrt(kModelCorrelation) * common[i] + std::sqrt(1 - kModelCorrelation) * own[i];
      sums[i] += parts[p].share * std::exp(-parts[p].bias - parts[p].spread * z);
    }
  }
  std::ranges::sort(sums);
  const auto at = [&](double share) {
    return sums[static_cast<std::size_t>(std::lround(share * static_cast<double>(kDraws - 1)))];
  };
  return {at((1 - kIntervalShare) / 2), at((1 + kIntervalShare) / 2)};
}

PartError errorOf(const ErrorBand& band, double share) {
  // Half of the values of a normal distribution are farther off than its mean, but a few points may be
  // nearer.
  const double median = std::max(band.median, std::abs(band.bias));
  // The distance that 80 % of the points keep, between those of 50 % and of 90 %.
  const double within =
      band.p90 ? median + std::max(0.0, *band.p90 - median) * (kEighty - kHalf) / (kNinety - kHalf)
               : median * kEighty / kHalf;
  double low = 0, high = std::max(within, 1e-9);  // standard deviations
  for (int i = 0; i < 50; ++i) {
    const double spread = (low + high) / 2;
    const double held =
        normalShareBelow((within - band.bias) / spread) - normalShareBelow((-within - band.bias) / spread);
    (held > kIntervalShare ? low : high) = spread;
  }
  constexpr double kLeast = 0.01;  // no measurement repeats itself better
  return {share, band.bias, std::max(low, kLeast) * widening(band.points)};
}

PartError uncheckedError(double share) {
  return {share, 0, std::log(1.5) / kEighty};
}

PartError errorOf(const IntervalFactors& factors) {
  const double least = std::log(factors.least), most = std::log(factors.most);
  return {1, -(least + most) / 2, (most - least) / 2 / kEighty};
}

double shareBelow(const PartError& error, double ratio) {
  const double z = std::log(ratio) + error.bias;
  if (!(error.spread > 0)) return z < 0 ? 0 : 1;
  return normalShareBelow(z / error.spread);
}

double shareAhead(double ratio, const PartError& own, const PartError& other, double correlation) {
  const double z = std::log(ratio) + own.bias - other.bias;
  const double variance =
      own.spread * own.spread + other.spread * other.spread - 2 * correlation * own.spread * other.spread;
  if (!(variance > 0)) return z > 0 ? 1 : z < 0 ? 0 : 0.5;
  return normalShareBelow(z / std::sqrt(variance));
}

bool hasGivenCosts(const Catalog& catalog) {
  if (catalog.target.tickMeaning == model::TickMeaning::cost) return true;
  if (catalog.measured() || catalog.devices.empty()) return false;
  // Devices whose costs are given have no clock, and a model of a device states its figures.
  const bool states = std::ranges::any_of(
      catalog.properties, [](const auto& property) { return property.key.starts_with("figure."); });
  return catalog.devices.begin()->clock.empty() && !states;
}

bool isModelled(const Catalog& catalog) {
  return !catalog.measured() && !hasGivenCosts(catalog);
}

std::optional<FigureInterval> calibratedInterval(const Catalog& catalog, const std::string& figure) {
  const std::string text = catalog.property("figure." + figure);
  const auto error = base::numberOf(text.substr(0, text.find_first_of("; ")));
  if (!error || !(*error > 0)) return std::nullopt;
  const std::size_t source = text.find("calibrated by");
  return FigureInterval{intervalOf({{1, 0, *error}}),
                        source == text.npos ? "the device's calibration" : "what was " + text.substr(source)};
}

std::string comparedText(const ErrorBand& band) {
  return fmt::format("{} compared {} on {}", band.points, band.points == 1 ? "point" : "points", band.device);
}

}  // namespace pipescope::figures

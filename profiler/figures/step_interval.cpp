#include "profiler/figures/step_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profiler/analysis/model/error_bands.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/base/number_text.h"

namespace pipescope::figures {
namespace {

using analysis::Catalog;
using analysis::ErrorBand;
using analysis::StagesReport;

constexpr std::size_t kDraws = 2003;
constexpr double kCorrelation = 0.5;
/// Quantiles of the standard normal distribution: 50 %, 80 % and 90 % lie within ± these.
constexpr double kHalf = 0.6745, kEighty = 1.2816, kNinety = 1.6449;
/// Standard deviation of work that nobody compared: 80 % lie within a factor of 1.5.
const double kUnchecked = std::log(1.5) / kEighty;

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

const ErrorBand* bandOf(const std::vector<ErrorBand>& bands, std::string_view kind) {
  const auto found = std::ranges::find_if(bands, [kind](const ErrorBand& band) { return band.kind == kind; });
  return found == bands.end() ? nullptr : &*found;
}

/// "0.052; grade M; calibrated by 10 rows of rows.csv" of the figure that `calibrate` writes.
std::optional<FigureInterval> calibratedInterval(const Catalog& catalog) {
  const std::string text = catalog.property("figure.step_error");
  const auto error = base::numberOf(text.substr(0, text.find_first_of("; ")));
  if (!error || !(*error > 0)) return std::nullopt;
  const std::size_t source = text.find("calibrated by");
  return FigureInterval{intervalOf({{1, 0, *error}}),
                        source == text.npos ? "the device's calibration" : "what was " + text.substr(source)};
}

std::string comparedText(const ErrorBand& band) {
  return fmt::format("{} compared {} on {}", band.points, band.points == 1 ? "point" : "points", band.device);
}

std::optional<FigureInterval> wholeStepInterval(const Catalog& catalog, model::ExecutableId id,
                                                const std::vector<ErrorBand>& bands) {
  const model::Executable* executable = catalog.executable(id);
  if (executable == nullptr) return std::nullopt;
  const bool training = executable->kind == model::ExecutableKind::training;
  const auto tokens = base::wholeNumberOf(catalog.property(fmt::format("tokens_per_sample.{}", id.value)));
  const bool decodes = tokens && *tokens <= 1;
  const ErrorBand* band = bandOf(bands, training ? "training step" : decodes ? "decoding step" : "prefill");
  if (band == nullptr && !training) band = bandOf(bands, decodes ? "prefill" : "decoding step");
  if (band == nullptr) return std::nullopt;
  PartError error = errorOf(*band);
  std::string basis = fmt::format("{}s: {}", band->kind, comparedText(*band));
  if (const ErrorBand* scaling = bandOf(bands, "training on a box");
      training && executable->replicas > 1 && scaling != nullptr) {
    // The band of scaling compares the speed on several devices with that on one: above 0 it is too fast.
    const PartError more = errorOf(*scaling);
    error.bias -= more.bias;
    error.spread = std::hypot(error.spread, more.spread);
    basis += fmt::format("; {}: {}", scaling->kind, comparedText(*scaling));
  }
  return FigureInterval{intervalOf({error}), basis};
}

/// None: the profile does not tell the operations of the limiting stage, as in sweeps. An interval without
/// them would differ from that of the same run with all its steps.
std::optional<FigureInterval> layerInterval(const std::vector<ErrorBand>& bands, const StagesReport& stages) {
  const analysis::StageReport* stage = stages.limiting();
  const auto isOfModel = [](const analysis::StageOperation& operation) {
    return operation.pass == "forward";
  };
  if (stage == nullptr || std::ranges::none_of(stage->operations, isOfModel)) return std::nullopt;
  std::map<std::string, double> ticks;  // of the limiting stage, by kind of layer; "" for others
  double all = 0;
  for (const analysis::StageOperation& operation : stage->operations) {
    const std::string kind = analysis::checkedKindOf(operation.kind);
    const bool compared = std::ranges::any_of(
        bands, [&kind](const ErrorBand& band) { return band.kind == kind && band.quantity == "cycles"; });
    ticks[compared ? kind : ""] += operation.ticksPerMicroBatch;
    all += operation.ticksPerMicroBatch;
  }
  ticks[""] += std::max(0.0, stage->busy - all);
  all = std::max(all, stage->busy);
  const double compute = all > 0 && stages.lost.step > 0
                             ? std::clamp(1 - stages.lost.exchangeUpdateHost / stages.lost.step, 0.0, 1.0)
                             : 0;
  std::vector<PartError> parts;
  double compared = 0;
  for (const auto& [kind, own] : ticks) {
    const double share = compute * own / all;
    if (kind.empty() || share <= 0) continue;
    const auto band = std::ranges::find_if(
        bands, [name = kind](const ErrorBand& one) { return one.kind == name && one.quantity == "cycles"; });
    parts.push_back(errorOf(*band, share));
    compared += share;
  }
  if (compared < 1) parts.push_back({1 - compared, 0, kUnchecked});
  return FigureInterval{intervalOf(parts),
                        compared > 0
                            ? fmt::format("kinds of layers that were compared ({:.0f} % of the step); "
                                          "the rest counts as off by up to a factor of 1.5",
                                          100 * compared)
                            : "nothing that was compared: it counts as off by up to a factor of 1.5"};
}

}  // namespace

bool hasGivenCosts(const Catalog& catalog) {
  if (catalog.target.tickMeaning == model::TickMeaning::cost) return true;
  if (catalog.measured() || catalog.devices.empty()) return false;
  // Devices whose costs are given have no clock, and a model of a device states its figures.
  const bool states = std::ranges::any_of(
      catalog.properties, [](const auto& property) { return property.key.starts_with("figure."); });
  return catalog.devices.begin()->clock.empty() && !states;
}

IntervalFactors intervalOf(const std::vector<PartError>& parts) {
  std::array<double, kDraws> sums{};
  const std::array<double, kDraws> common = drawsOf(0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::array<double, kDraws> own = drawsOf(p + 1);
    const bool alone = parts.size() == 1;
    for (std::size_t i = 0; i < kDraws; ++i) {
      const double z =
          alone ? own[i] : std::sqrt(kCorrelation) * common[i] + std::sqrt(1 - kCorrelation) * own[i];
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
  // The distance that 80 % of the points keep, between those of 50 % and of 90 %.
  const double within = band.p90
                            ? band.median + (*band.p90 - band.median) * (kEighty - kHalf) / (kNinety - kHalf)
                            : band.median * kEighty / kHalf;
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

std::optional<FigureInterval> stepInterval(const Analyses& from) {
  if (!hasSteps(from) || from.catalog == nullptr) return std::nullopt;
  const Catalog& catalog = *from.catalog;
  if (catalog.measured() || hasGivenCosts(catalog)) return std::nullopt;
  if (auto calibrated = calibratedInterval(catalog)) return calibrated;
  const std::vector<ErrorBand> bands = analysis::errorBandsOf(catalog);
  if (auto whole = wholeStepInterval(catalog, from.executable, bands)) return whole;
  return layerInterval(bands, *from.stages);
}

}  // namespace pipescope::figures

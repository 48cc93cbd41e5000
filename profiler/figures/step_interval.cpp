#include "profiler/figures/step_interval.h"

#include <fmt/format.h>

#include <algorithm>
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

const ErrorBand* bandOf(const std::vector<ErrorBand>& bands, std::string_view kind) {
  const auto found = std::ranges::find_if(bands, [kind](const ErrorBand& band) { return band.kind == kind; });
  return found == bands.end() ? nullptr : &*found;
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
  const IntervalFactors factors = intervalOf({error});
  // Who reads both shall know that they do not contradict each other.
  if (factors.least > 1)
    basis += "; most of these took longer than emulated, so the interval lies above the emulated time";
  if (factors.most < 1)
    basis += "; most of these took less than emulated, so the interval lies below the emulated time";
  return FigureInterval{factors, basis};
}

/// None: the profile does not tell the operations of the limiting stage, as at the record level "stages". An
/// interval without them would differ from that of the same run with all its steps.
std::optional<FigureInterval> layerInterval(const std::vector<ErrorBand>& bands, const StagesReport& stages) {
  const analysis::StageReport* stage = stages.limiting();
  if (stage == nullptr || stage->ticksOfKinds.empty()) return std::nullopt;
  std::map<std::string, double> ticks;  // of the limiting stage, by kind of layer; "" for others
  double all = 0;
  for (const auto& [type, own] : stage->ticksOfKinds) {
    const std::string kind = analysis::checkedKindOf(type);
    const bool compared = std::ranges::any_of(
        bands, [&kind](const ErrorBand& band) { return band.kind == kind && band.quantity == "cycles"; });
    ticks[compared ? kind : ""] += own;
    all += own;
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
  if (compared < 1) parts.push_back(uncheckedError(1 - compared));
  return FigureInterval{intervalOf(parts),
                        compared > 0
                            ? fmt::format("kinds of layers that were compared ({:.0f} % of the step); "
                                          "the rest counts as off by up to a factor of 1.5",
                                          100 * compared)
                            : "nothing that was compared: it counts as off by up to a factor of 1.5"};
}

/// The interval that the profile keeps of the one that it replays.
std::optional<FigureInterval> intervalOfReplay(const Catalog& catalog, model::ExecutableId id) {
  const std::string text = catalog.property(fmt::format("replay.{}.step_interval", id.value));
  const std::size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const auto least = base::numberOf(text.substr(0, first)),
             most = base::numberOf(text.substr(first + 1, second - first - 1));
  if (!least || !most || !(*least > 0) || !(*most >= *least)) return std::nullopt;
  return FigureInterval{{*least, *most}, text.substr(second + 1)};
}

}  // namespace

std::string keptInterval(const Analyses& recorded) {
  const auto interval = stepInterval(recorded);
  return interval ? fmt::format("{} {} {}", interval->factors.least, interval->factors.most, interval->basis)
                  : std::string();
}

std::optional<FigureInterval> stepInterval(const Analyses& from) {
  if (!hasSteps(from) || from.catalog == nullptr) return std::nullopt;
  const Catalog& catalog = *from.catalog;
  if (!isModelled(catalog)) return std::nullopt;
  if (auto kept = intervalOfReplay(catalog, from.executable)) return kept;
  if (auto calibrated = calibratedInterval(catalog, "step_error")) return calibrated;
  const std::vector<ErrorBand> bands = analysis::errorBandsOf(catalog);
  if (auto whole = wholeStepInterval(catalog, from.executable, bands)) return whole;
  return layerInterval(bands, *from.stages);
}

}  // namespace pipescope::figures

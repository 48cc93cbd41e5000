#include "profiler/analysis/model/error_bands.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// The number that stands behind these words, up to a space or a comma.
std::optional<double> numberBehind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + words.size());
  return base::numberOf(rest.substr(0, rest.find_first_of(" ,")));
}

/// Reads "130 points, |ln| median 0.045, p90 0.210, bias +0.010; against …", as devices::Band writes it.
bool readBand(const model::Property& row, ErrorBand& band) {
  constexpr std::string_view kPrefix = "band.";
  const std::string_view key = row.key;
  if (key.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::size_t device = key.find('.', kPrefix.size()), quantity = key.rfind('.');
  if (device == std::string_view::npos || quantity <= device) return false;
  band.device = key.substr(kPrefix.size(), device - kPrefix.size());
  band.kind = key.substr(device + 1, quantity - device - 1);
  band.quantity = key.substr(quantity + 1);
  constexpr std::string_view kAgainst = "; against ";
  const std::string_view text = row.value, figures = text.substr(0, text.find(kAgainst));
  const std::optional<double> points = numberBehind(figures, ""), median = numberBehind(figures, "median "),
                              bias = numberBehind(figures, "bias ");
  if (!points || !median || !bias || !(*points > 0) || !std::isfinite(*points) || !std::isfinite(*median) ||
      !std::isfinite(*bias))
    return false;
  band.points = std::llround(*points);
  band.median = *median;
  band.bias = *bias;
  band.p90 = numberBehind(figures, ", p90 ");
  if (figures.size() < text.size()) band.against = text.substr(figures.size() + kAgainst.size());
  return !band.p90 || std::isfinite(*band.p90);
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

double ErrorBand::medianError() const {
  return std::expm1(median);
}
std::optional<double> ErrorBand::p90Error() const {
  if (!p90) return std::nullopt;
  return std::expm1(*p90);
}
double ErrorBand::biasShare() const {
  return std::expm1(bias);
}

std::vector<ErrorBand> errorBandsOf(const Catalog& catalog) {
  std::vector<ErrorBand> bands;
  for (const model::Property& row : catalog.properties) {
    ErrorBand band;
    if (!readBand(row, band)) continue;
    const bool ours = std::any_of(catalog.devices.begin(), catalog.devices.end(),
                                  [&](const model::Device& device) { return device.kind == band.device; });
    if (ours) bands.push_back(std::move(band));
  }
  return bands;
}

std::string checkedKindOf(std::string_view type) {
  // Products of float8 and float4 were not compared.
  if (holds(type, "Float8") || holds(type, "Float4")) return {};
  if (type.starts_with("Multi")) return "octave convolution";  // the multi-convolutions that were compared
  // A sum that belongs to a layer's gradient counts as a reduction of its own.
  if (holds(type, "Conv")) return "convolution";
  if (holds(type, "Pool")) return "pooling";
  if (holds(type, "Reduce")) return "reduction";
  if (holds(type, "Gather") || holds(type, "Embed")) return "embedding";
  if (holds(type, "LSTM")) return "lstm";
  if (holds(type, "GRU")) return "gru";
  if (holds(type, "Gemm") || holds(type, "Linear")) return "fully connected";
  if (holds(type, "MatMul")) return "matrix product";
  return {};
}

Result<ErrorBands> errorBands(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId id) {
  ErrorBands found;
  found.bands = errorBandsOf(catalog);
  std::set<std::string> checked;
  for (const ErrorBand& band : found.bands) {
    if (band.quantity == "cycles") checked.insert(band.kind);
  }
  std::unordered_map<model::ProgramId, bool> known;  // answers by program; each is read once
  const auto isChecked = [&](model::ProgramId program) {
    if (checked.empty() || !program.valid()) return false;
    const auto [place, isNew] = known.try_emplace(program, false);
    if (!isNew) return place->second;
    const model::OperatorId op = catalog.programs[program].op;
    if (!op.valid()) return false;
    return place->second = checked.contains(checkedKindOf(catalog.operators[op].kind));
  };
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.block<model::Step>(b));
    for (const model::Step& step : *steps) {
      const model::Segment* of = catalog.segments.find(step.segment);
      if (of == nullptr || of->executable != id || !model::isComputePass(of->pass)) continue;
      const auto ticks = static_cast<double>(step.ticks.count);
      found.computeTicks += ticks;
      if (isChecked(step.program)) found.checkedTicks += ticks;
    }
  }
  return found;
}

}  // namespace pipescope::analysis

#include "profiler/analysis/model/error_bands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <unordered_map>

namespace pipescope::analysis {
namespace {

bool readBand(const model::Property& row, ErrorBand& band) {
  constexpr std::string_view kPrefix = "band.";
  const std::string_view key = row.key;
  if (key.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::size_t device = key.find('.', kPrefix.size()), quantity = key.rfind('.');
  if (device == std::string_view::npos || quantity <= device) return false;
  band.device = key.substr(kPrefix.size(), device - kPrefix.size());
  band.kind = key.substr(device + 1, quantity - device - 1);
  band.quantity = key.substr(quantity + 1);
  long long points = 0;
  double p90 = 0;
  // "1 point, …" has no s.
  if (std::sscanf(row.value.c_str(), "%lld point%*[s,] |ln| median %lf, p90 %lf, bias %lf", &points,
                  &band.median, &p90, &band.bias) == 4) {
    band.p90 = p90;
  } else if (std::sscanf(row.value.c_str(), "%lld point%*[s,] |ln| median %lf, bias %lf", &points,
                         &band.median, &band.bias) != 3) {
    return false;
  }
  band.points = points;
  constexpr std::string_view kAgainst = "; against ";
  const std::size_t against = row.value.find(kAgainst);
  if (against != std::string::npos) band.against = row.value.substr(against + kAgainst.size());
  return points > 0 && std::isfinite(band.median) && std::isfinite(p90) && std::isfinite(band.bias);
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
  if (holds(type, "Float8")) return {};                        // float8 products were not compared
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
  std::unordered_map<model::ProgramId, bool> known;  // by program, so that each program is read once
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

#include "profiler/analysis/model/worth.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <unordered_map>

namespace pipescope::analysis {
namespace {

bool readBand(const model::Property& row, WorthBand& band) {
  constexpr std::string_view kPrefix = "band.";
  const std::string_view key = row.key;
  if (key.substr(0, kPrefix.size()) != kPrefix) return false;
  const std::size_t device = key.find('.', kPrefix.size()), quantity = key.rfind('.');
  if (device == std::string_view::npos || quantity <= device) return false;
  band.device = key.substr(kPrefix.size(), device - kPrefix.size());
  band.kind = key.substr(device + 1, quantity - device - 1);
  band.quantity = key.substr(quantity + 1);
  long long points = 0;
  if (std::sscanf(row.value.c_str(), "%lld points, |ln| median %lf, p90 %lf, bias %lf", &points, &band.median,
                  &band.p90, &band.bias) != 4)
    return false;
  band.points = points;
  constexpr std::string_view kAgainst = "; against ";
  const std::size_t against = row.value.find(kAgainst);
  if (against != std::string::npos) band.against = row.value.substr(against + kAgainst.size());
  return points > 0 && std::isfinite(band.median) && std::isfinite(band.p90) && std::isfinite(band.bias);
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

double WorthBand::medianError() const {
  return std::expm1(median);
}
double WorthBand::p90Error() const {
  return std::expm1(p90);
}
double WorthBand::biasShare() const {
  return std::expm1(bias);
}

std::vector<WorthBand> worthBands(const Catalog& catalog) {
  std::vector<WorthBand> bands;
  for (const model::Property& row : catalog.properties) {
    WorthBand band;
    if (!readBand(row, band)) continue;
    const bool ours = std::any_of(catalog.devices.begin(), catalog.devices.end(),
                                  [&](const model::Device& device) { return device.kind == band.device; });
    if (ours) bands.push_back(std::move(band));
  }
  return bands;
}

std::string checkedKindOf(std::string_view type) {
  // Sums that belong to a layer's gradient are reductions like any other.
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

Result<Worth> worth(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId id) {
  Worth found;
  found.bands = worthBands(catalog);
  std::set<std::string> checked;
  for (const WorthBand& band : found.bands) {
    if (band.quantity == "cycles") checked.insert(band.kind);
  }
  std::unordered_map<std::int64_t, bool> known;  // programs are asked for once
  const auto isChecked = [&](model::ProgramId program) {
    if (checked.empty() || !program.valid()) return false;
    const auto [place, isNew] = known.try_emplace(program.value, false);
    if (!isNew) return place->second;
    const model::OperatorId op = catalog.programs[static_cast<std::size_t>(program.value)].op;
    if (!op.valid()) return false;
    return place->second =
               checked.contains(checkedKindOf(catalog.operators[static_cast<std::size_t>(op.value)].kind));
  };
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.block<model::Step>(b));
    for (const model::Step& step : *steps) {
      const auto segment = static_cast<std::size_t>(step.segment.value);
      if (!step.segment.valid() || segment >= catalog.segments.size()) continue;
      const model::Segment& of = catalog.segments[segment];
      if (of.executable != id || !model::isComputePass(of.pass)) continue;
      const auto ticks = static_cast<double>(step.ticks.count);
      found.computeTicks += ticks;
      if (isChecked(step.program)) found.checkedTicks += ticks;
    }
  }
  return found;
}

}  // namespace pipescope::analysis

#include "profiler/figures/memory_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/model/error_bands.h"

namespace pipescope::figures {
namespace {

using analysis::Catalog;
using analysis::DeviceMemory;
using analysis::ErrorBand;

/// Standard deviation of bytes that follow from the model: allocators round them up.
constexpr double kExact = 0.01;

/// None: no kind of layer in the model was compared.
std::optional<FigureInterval> layerInterval(const Catalog& catalog) {
  std::map<std::string, ErrorBand> bands;
  for (const ErrorBand& band : analysis::errorBandsOf(catalog)) {
    if (band.quantity == "total_bytes") bands.emplace(band.kind, band);
  }
  if (bands.empty()) return std::nullopt;
  std::map<std::string, double> counts;
  double all = 0, compared = 0;
  for (std::size_t i = 0; i < catalog.operators.size(); ++i) {
    const std::string kind = analysis::checkedKindOf(catalog.operators[model::OperatorId(i)].kind);
    ++all;
    if (!bands.contains(kind)) continue;
    ++counts[kind];
    ++compared;
  }
  if (compared == 0) return std::nullopt;
  std::vector<PartError> parts;
  for (const auto& [kind, count] : counts) parts.push_back(errorOf(bands.at(kind), count / all));
  if (compared < all) parts.push_back(uncheckedError(1 - compared / all));
  return FigureInterval{intervalOf(parts),
                        fmt::format("kinds of layers that were compared ({:.0f} % of the operators); the "
                                    "rest counts as off by up to a factor of 1.5",
                                    100 * compared / all)};
}

FigureInterval tensorInterval(const DeviceMemory& device) {
  const double exact =
      std::min(1.0, static_cast<double>(device.alwaysLive.count) / static_cast<double>(device.total.count));
  return {tensorMemoryFactors(exact),
          fmt::format("tensors that are always live and exact ({:.0f} %); the rest counts "
                      "as off by up to a factor of 1.5",
                      100 * exact)};
}

const DeviceMemory* fullest(const analysis::Memory& memory) {
  const auto most =
      std::ranges::max_element(memory.devices, {}, [](const DeviceMemory& device) { return device.total; });
  return most == memory.devices.end() || most->total.count <= 0 ? nullptr : &*most;
}

}  // namespace

IntervalFactors tensorMemoryFactors(double exact) {
  std::vector<PartError> parts = {{exact, 0, kExact}};
  if (exact < 1) parts.push_back(uncheckedError(1 - exact));
  return intervalOf(parts);
}

std::optional<FigureInterval> memoryInterval(const Analyses& from) {
  if (from.catalog == nullptr || from.memory == nullptr || !isModelled(*from.catalog)) return std::nullopt;
  const DeviceMemory* device = fullest(*from.memory);
  if (device == nullptr) return std::nullopt;
  if (auto calibrated = calibratedInterval(*from.catalog, "memory_error")) return calibrated;
  if (device->units > 1) {
    if (auto layers = layerInterval(*from.catalog)) return layers;
  }
  return tensorInterval(*device);
}

std::optional<double> fitsShare(const Analyses& from) {
  const std::optional<FigureInterval> interval = memoryInterval(from);
  if (!interval) return std::nullopt;
  const PartError error = errorOf(interval->factors);
  double least = 1;
  for (const DeviceMemory& device : from.memory->devices) {
    if (device.bytesPerUnit.count <= 0 || device.maxUnitIncludingGaps.count <= 0) continue;
    least = std::min(least, shareBelow(error, static_cast<double>(device.bytesPerUnit.count) /
                                                  static_cast<double>(device.maxUnitIncludingGaps.count)));
  }
  return least;
}

}  // namespace pipescope::figures

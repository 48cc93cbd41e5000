#include "profiler/analysis/model/flop_use.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// The value of an option, without quotes.
std::string optionText(const Catalog& catalog, std::string_view path) {
  for (const model::ConfigurationEntry& entry : catalog.configuration) {
    if (entry.path != path) continue;
    std::string value = entry.value;
    value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
    return value;
  }
  return {};
}

/// The figures that may be the peak of a precision, best first. Sums are float32 in every precision, so
/// figures for products of float16 with float32 sums come before those with float16 sums.
std::vector<std::string> peakNames(const std::string& precision) {
  if (precision == "float16" || precision == "16") return {"peak_fp16_fp32", "peak_fp16"};
  if (precision == "bfloat16" || precision == "bf16") return {"peak_bf16", "peak_fp16_fp32", "peak_fp16"};
  if (precision == "float8" || precision == "fp8") return {"peak_fp8"};
  if (precision == "float4" || precision == "fp4") return {"peak_fp4"};
  return {"peak_fp32"};
}

void findPeak(const Catalog& catalog, FlopUse& use) {
  for (const std::string& name : peakNames(use.precision)) {
    const auto value = figureValue(catalog.property("figure." + name), "FLOP/s");
    if (!value || *value <= 0) continue;
    use.peakName = name;
    use.peakPerDevice = *value;
    return;
  }
}

/// Takes the peak that the profile's own types have on average. It differs from the peak at the run's
/// precision if products have other types.
void usePeakOfTypes(const Catalog& catalog, model::ExecutableId id, FlopUse& use) {
  const std::string path = "least_seconds." + std::to_string(id.value);
  const double least = base::numberOf(catalog.property(path + ".model")).value_or(0) +
                       base::numberOf(catalog.property(path + ".recompute")).value_or(0);
  const double flops = use.modelFlops + use.recomputeFlops;
  if (!(least > 0) || !(flops > 0)) return;
  const double peak = flops / least;
  if (std::abs(peak - use.peakPerDevice) <= 1e-3 * peak) return;
  use.peakPerDevice = peak;
  use.peakName.clear();
}

/// Micro-batches of one call of one replica that go through each of its stages.
double microBatches(const Catalog& catalog, const model::Executable& executable) {
  const double flushes = executable.kind == model::ExecutableKind::training
                             ? static_cast<double>(std::max<std::int64_t>(executable.deviceIterations, 1))
                             : 1;
  return flushes * static_cast<double>(catalog.microBatchesOfStage(executable.id));
}

}  // namespace

std::optional<double> figureValue(std::string_view text, std::string_view unit) {
  std::string digits;
  std::size_t at = 0;
  for (; at < text.size() && text[at] != ' '; ++at) {
    if (text[at] != ',') digits.push_back(text[at]);
  }
  const std::optional<double> value = base::numberOf(digits);
  if (!value || at == text.size()) return std::nullopt;
  std::string_view rest = text.substr(at + 1);
  rest = rest.substr(0, rest.find(';'));
  if (rest == unit) return value;
  static constexpr std::string_view kPrefixes = "kMGTPE";
  const std::size_t prefix = rest.empty() ? std::string_view::npos : kPrefixes.find(rest.front());
  if (prefix == std::string_view::npos || rest.substr(1) != unit) return std::nullopt;
  double factor = 1e3;
  for (std::size_t i = 0; i < prefix; ++i) factor *= 1e3;
  return *value * factor;
}

Result<FlopUse> flopUse(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId id) {
  FlopUse use;
  const model::Executable* executable = catalog.executable(id);
  if (executable == nullptr) return base::badInput("The profile has no such executable.");
  use.precision = optionText(catalog, "execution.precision");
  findPeak(catalog, use);
  std::set<model::DeviceId> devices;
  for (const model::Stage* stage : catalog.stagesOf(id)) devices.insert(stage->device);
  use.devices = static_cast<std::int64_t>(devices.size());
  const model::Run* run = catalog.lastRunOf(id);
  if (run == nullptr) return use;
  use.seconds = base::toSeconds(run->end - run->start, catalog.timebase(model::DeviceId(0)));
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Operator>());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Operator> rows, source.block<model::Operator>(i));
    for (const model::Operator& row : *rows) {
      if (row.executable != id || !model::isComputePass(row.pass) || !(row.flops > 0)) continue;
      (row.pass == model::Pass::recompute ? use.recomputeFlops : use.modelFlops) += row.flops;
    }
  }
  usePeakOfTypes(catalog, id, use);
  const double count = microBatches(catalog, *executable);
  use.modelFlops *= count;
  use.recomputeFlops *= count;
  const double possible = static_cast<double>(use.devices) * use.peakPerDevice * use.seconds;
  if (possible > 0 && use.modelFlops > 0) {
    use.model = use.modelFlops / possible;
    use.withRecompute = (use.modelFlops + use.recomputeFlops) / possible;
  }
  return use;
}

}  // namespace pipescope::analysis

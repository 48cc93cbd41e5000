// Most memory holds float32.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findWideTypes(const InsightInput& input, const InsightRule& rule) {
  double all = 0, wide = 0;
  for (const auto& [type, bytes] : input.bytesByType) {
    all += static_cast<double>(bytes);
    if (type == "float32") wide += static_cast<double>(bytes);
  }
  if (input.option("execution.precision") != "float32" || all <= 0 || !rule.exceeds(wide / all)) return {};
  Insight found;
  found.figure = wide / all;
  found.what = fmt::format(
      "float32 takes {} of the memory of tensors; in 16 bits they would take half, and products "
      "would be faster.",
      insightPercent(found.figure));
  found.page = "memory";
  found.advice = "Train in a 16-bit type, with a loss scale where it is float16.";
  InsightChanges half{{"execution.precision", input.halfType}};
  if (input.training() && input.halfType == "float16") half.push_back({"training.loss_scaling", "128"});
  found.alternatives = {half};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(wide_types) {
  registry.add(
      {"wide_types", "bytes of float32 ÷ bytes of all tensors on the devices", 0.5, false, findWideTypes});
}

}  // namespace pipescope::analysis

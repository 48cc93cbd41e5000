#include "app/plan/stage_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "profiler/base/number_text.h"

namespace pipescope::app {
namespace {

base::Result<double> proportionOf(const std::string& text) {
  const std::optional<double> value = base::numberOf(text);
  if (!value || !(*value > 0) || *value > 1)
    return base::badInput(fmt::format(
        "--vary {}: \"{}\" is no proportion; it is a number above 0 and up to 1.", kStageProportion, text));
  return *value;
}

bool isBetterPlan(const plan::TriedPlan& a, const plan::TriedPlan& b) {
  if (a.value.missing != b.value.missing) return a.value.missing < b.value.missing;
  return a.value.time < b.value.time;
}

std::vector<int> devicesOf(const plan::TriedPlan& tried) {
  std::vector<int> devices;
  for (const plan::TriedStage& stage : tried.stages) devices.push_back(stage.place);
  return devices;
}

}  // namespace

std::vector<std::string> givenProportions(const config::Configuration& configuration) {
  std::vector<std::string> values;
  bool any = false;
  for (const config::Settings& stage : configuration.tables("stages")) {
    const double value = stage.real(kProportionSetting);
    values.push_back(value > 0 ? fmt::format("{}", value) : std::string());
    any = any || value > 0;
  }
  return any ? values : std::vector<std::string>();
}

base::Status applyProportions(const std::vector<std::string>& values, const std::vector<int>& devices,
                              compile::ModelRequest& request) {
  for (std::size_t s = 0; s < values.size(); ++s) {
    if (values[s].empty()) continue;
    PIPESCOPE_ASSIGN(const double value, proportionOf(values[s]));
    const int device = s < devices.size() ? devices[s] : static_cast<int>(s);
    std::erase_if(request.systemOptions.settings, [&](const devices::FamilySetting& one) {
      return one.name == kProportionSetting && one.device == device;
    });
    request.systemOptions.settings.push_back({kProportionSetting, value, device});
  }
  return {};
}

base::Status chooseProportions(const std::vector<std::string>& values, const compile::ModelRequest& request,
                               const TrialContext& context, PlannedVariant& planned) {
  constexpr std::size_t kMostTrials = 400;
  plan::TriedPlan& best = planned.plan.best.tried;
  const std::size_t stages = best.stages.size(), trials = stages * values.size();
  if (trials > kMostTrials)
    return base::badInput(fmt::format(
        "--vary {}: {} stages with {} values are {} trials, but a plan makes at most {}: give fewer "
        "values.",
        kStageProportion, stages, values.size(), trials, kMostTrials));
  std::vector<std::size_t> order(stages);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t s) { return best.stages[s].occupied; });
  planned.proportions.resize(stages);
  const compile::ModelRequest plain = withSplit(request, planned.plan.best);
  const std::vector<int> devices = devicesOf(best);
  for (const std::size_t s : order) {
    for (const std::string& value : values) {
      std::vector<std::string> changed = planned.proportions;
      changed[s] = value;
      compile::ModelRequest asked = plain;
      PIPESCOPE_TRY(applyProportions(changed, devices, asked));
      const base::Result<compile::Compilation> compilation = tryRequest(asked, context);
      if (!compilation.ok()) {
        if (compilation.error().kind == base::ErrorKind::cancelled) return compilation.error();
        continue;
      }
      plan::TriedPlan tried = plan::tryOut(*compilation);
      tried.cuts = best.cuts;
      if (!isBetterPlan(tried, best)) continue;
      best = std::move(tried);
      planned.proportions = std::move(changed);
    }
  }
  for (std::size_t s = 0; s < stages; ++s) {
    if (!planned.proportions[s].empty())
      planned.settings.emplace_back(fmt::format("stages.{}.{}", s, kProportionSetting),
                                    planned.proportions[s]);
  }
  if (std::ranges::all_of(planned.proportions, &std::string::empty)) planned.proportions.clear();
  return {};
}

}  // namespace pipescope::app

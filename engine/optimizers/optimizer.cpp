#include "engine/optimizers/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/config/suggestion.h"

namespace pipescope::optimizers {
namespace {

using base::badInput;

constexpr double kDefaultLearningRate = 1e-3, kMostLearningRate = 1e6;

base::Status checkNames(const OptimizerDefinition& definition, const std::vector<OptimizerSetting>& all,
                        const std::map<std::string, double>& given) {
  std::vector<std::string> known;
  for (const OptimizerSetting& setting : all) known.push_back(setting.name);
  for (const auto& [name, value] : given) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return badInput(fmt::format("optimizer {} has no setting {}{}", definition.name, name,
                                config::suggestion(name, known)));
  }
  return {};
}

}  // namespace

void Optimizer::measure(const Update&, std::span<double> sums) const {
  PIPESCOPE_CHECK(sums.empty(), name() + " needs no sums");
}

void OptimizerRegistry::add(OptimizerDefinition definition) {
  const std::string name = definition.name;
  const bool isNew = definitions_.emplace(name, std::move(definition)).second;
  PIPESCOPE_CHECK(isNew, "optimizer " + name + " is registered twice");
}

const OptimizerRegistry& optimizerRegistry() {
  static const OptimizerRegistry all = [] {
    OptimizerRegistry registry;
    registerOptimizers(registry);
    return registry;
  }();
  return all;
}

base::Result<std::unique_ptr<Optimizer>> createOptimizer(const std::string& name,
                                                         const std::map<std::string, double>& settings,
                                                         SettingRanges ranges) {
  const auto& definitions = optimizerRegistry().definitions();
  const auto found = definitions.find(name);
  if (found == definitions.end()) {
    std::vector<std::string> known;
    for (const auto& [each, definition] : definitions) known.push_back(each);
    return badInput(fmt::format("optimizer {} is not known{}", name, config::suggestion(name, known)));
  }
  std::vector<OptimizerSetting> all = found->second.settings;
  all.push_back({"learning_rate", kDefaultLearningRate, 0, kMostLearningRate});
  PIPESCOPE_TRY(checkNames(found->second, all, settings));
  std::map<std::string, double> complete;
  for (const OptimizerSetting& setting : all) {
    const auto given = settings.find(setting.name);
    const double value = given == settings.end() ? setting.fallback : given->second;
    const bool isFree = ranges == SettingRanges::anyRateAndDecay && std::isfinite(value) &&
                        (setting.name == "learning_rate" || setting.name == "weight_decay");
    if (!isFree && !(value >= setting.least && value <= setting.most)) {
      return badInput(fmt::format("optimizer {}: {} is {}; it must be {} to {}", name, setting.name, value,
                                  setting.least, setting.most));
    }
    complete[setting.name] = value;
  }
  if (found->second.check) PIPESCOPE_TRY(found->second.check(complete));
  std::unique_ptr<Optimizer> optimizer = found->second.create(complete);
  optimizer->setLearningRate(complete.at("learning_rate"));
  return optimizer;
}

}  // namespace pipescope::optimizers

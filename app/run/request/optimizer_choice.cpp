#include "app/run/request/optimizer_choice.h"

namespace pipescope::app {

std::map<std::string, double> optimizerSettings(const config::Configuration& c) {
  optimizers::OptimizerSettings settings{{"learning_rate", c.real("training.learning_rate")}};
  const auto& definitions = optimizers::optimizerRegistry().definitions();
  const auto definition = definitions.find(c.text("training.optimizer"));
  if (definition == definitions.end()) return settings;
  for (const optimizers::OptimizerSetting& setting : definition->second.settings) {
    const std::string path = "training." + setting.name;
    settings[setting.name] = setting.isSwitch ? (c.boolean(path) ? 1.0 : 0.0) : c.real(path);
  }
  return settings;
}

std::vector<std::map<std::string, double>> groupSettings(const config::Configuration& c) {
  std::vector<std::map<std::string, double>> all;
  for (const config::Settings& group : c.tables("training.groups")) {
    std::map<std::string, double> settings = optimizerSettings(c);
    if (group.given("learning_rate")) settings["learning_rate"] = group.real("learning_rate");
    for (const auto& [rule, definition] : optimizers::optimizerRegistry().definitions()) {
      for (const optimizers::OptimizerSetting& setting : definition.settings) {
        if (!group.given(setting.name)) continue;
        settings[setting.name] =
            setting.isSwitch ? (group.boolean(setting.name) ? 1.0 : 0.0) : group.real(setting.name);
      }
    }
    all.push_back(std::move(settings));
  }
  return all;
}

base::Result<optimizers::OptimizerGroups> chooseGroups(const config::Configuration& c) {
  optimizers::OptimizerGroups groups;
  const std::vector<std::map<std::string, double>> settings = groupSettings(c);
  for (const config::Settings& group : c.tables("training.groups")) {
    base::Result<std::unique_ptr<optimizers::Optimizer>> rule =
        optimizers::createOptimizer(c.text("training.optimizer"), settings[groups.size()]);
    if (!rule.ok()) return base::Error{rule.error().kind, "[[training.groups]]: " + rule.error().message};
    groups.push_back({group.texts("parameters"), std::move(*rule)});
  }
  return groups;
}

base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(const config::Configuration& c) {
  const std::string& name = c.text("training.optimizer");
  if (!optimizers::optimizerRegistry().definitions().contains(name))
    return base::internalError("No optimizer \"" + name + "\" was built in.");
  return optimizers::createOptimizer(name, optimizerSettings(c));
}

}  // namespace pipescope::app

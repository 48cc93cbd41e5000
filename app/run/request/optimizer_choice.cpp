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

base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(const config::Configuration& c) {
  const std::string& name = c.text("training.optimizer");
  if (!optimizers::optimizerRegistry().definitions().contains(name))
    return base::internalError("No optimizer \"" + name + "\" was built in.");
  return optimizers::createOptimizer(name, optimizerSettings(c));
}

}  // namespace pipescope::app

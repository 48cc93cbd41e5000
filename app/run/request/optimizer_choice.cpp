#include "app/run/request/optimizer_choice.h"

namespace pipescope::app {

base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(const config::Configuration& c) {
  const std::string& name = c.text("training.optimizer");
  const auto& definitions = optimizers::optimizerRegistry().definitions();
  const auto definition = definitions.find(name);
  if (definition == definitions.end())
    return base::internalError("No optimizer \"" + name + "\" was built in.");
  optimizers::OptimizerSettings settings{{"learning_rate", c.real("training.learning_rate")}};
  for (const optimizers::OptimizerSetting& setting : definition->second.settings) {
    const std::string path = "training." + setting.name;
    settings[setting.name] = setting.isSwitch ? (c.boolean(path) ? 1.0 : 0.0) : c.real(path);
  }
  return optimizers::createOptimizer(name, settings);
}

}  // namespace pipescope::app

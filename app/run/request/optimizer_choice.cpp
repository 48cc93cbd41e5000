#include "app/run/request/optimizer_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::app {

base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(const config::Configuration& c) {
  optimizers::OptimizerRegistry registry;
  optimizers::registerOptimizers(registry);
  const std::string& name = c.text("training.optimizer");
  std::map<std::string, double> settings{{"learning_rate", c.real("training.learning_rate")}};
  const auto definition = registry.definitions().find(name);
  if (definition == registry.definitions().end())
    return base::internalError("No optimizer \"" + name + "\" was built in.");
  const auto& known = definition->second.settings;
  for (const char* setting :
       {"weight_decay", "momentum", "dampening", "nesterov", "velocity_scaling", "beta1", "beta2", "alpha",
        "epsilon", "centered", "bias_correction", "max_weight_norm", "trust_coefficient"}) {
    const std::string path = std::string("training.") + setting;
    const bool mine =
        std::any_of(known.begin(), known.end(), [&](const auto& s) { return s.name == setting; });
    if (!mine && c.given(path))
      return base::badInput(
          fmt::format("{} is given, but {} has no such setting: leave it out.", path, name));
    if (!mine || !c.given(path)) continue;
    const bool isSwitch = config::findKey(path)->type == config::KeyType::boolean;
    settings[setting] = isSwitch ? (c.boolean(path) ? 1.0 : 0.0) : c.real(path);
  }
  return optimizers::createOptimizer(name, settings);
}

}  // namespace pipescope::app

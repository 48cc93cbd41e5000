#include "engine/optimizers/optimizer_keys.h"

#include <algorithm>

#include "engine/config/setting_key.h"
#include "engine/optimizers/learning_rate.h"

namespace pipescope::optimizers {

using config::Key;
using config::Value;

std::vector<Key> optimizerKeys(const OptimizerRegistry& registry) {
  Key optimizer;
  optimizer.path = "training.optimizer";
  optimizer.fallback = std::string("adamw");
  optimizer.help = "Weight update rule. `pipescope help NAME` lists the settings of one.";
  optimizer.flags = {"optimizer"};
  config::SettingKeys settings("training.", optimizer.path);
  for (const auto& [rule, definition] : registry.definitions()) {
    optimizer.choices.push_back(rule);
    for (const OptimizerSetting& setting : definition.settings) {
      const Value fallback = setting.isSwitch ? Value(setting.fallback != 0) : Value(setting.fallback);
      settings.add(rule, {.name = setting.name,
                          .fallback = fallback,
                          .least = setting.least,
                          .most = setting.most,
                          .help = setting.help,
                          .hasFlag = setting.hasFlag});
    }
  }
  std::vector<Key> keys = settings.take();
  keys.insert(keys.begin(), optimizer);
  return keys;
}

std::vector<Key> groupKeys(const OptimizerRegistry& registry) {
  const std::string prefix = "training.groups[].";
  Key parameters;
  parameters.path = prefix + "parameters";
  parameters.type = config::KeyType::texts;
  parameters.fallback = std::vector<std::string>();
  parameters.help = "Names of the parameters that this group trains with settings of their own.";
  parameters.required = true;
  Key rate;
  rate.path = prefix + "learning_rate";
  rate.type = config::KeyType::real;
  rate.fallback = 0.0;
  rate.least = 0;
  rate.most = 1e6;
  rate.help =
      "training.learning_rate for these parameters. A schedule multiplies it as it multiplies the other.";
  std::vector<Key> keys{std::move(parameters), std::move(rate)};
  for (const auto& [rule, definition] : registry.definitions()) {
    for (const OptimizerSetting& setting : definition.settings) {
      const std::string path = prefix + setting.name;
      const auto known = std::ranges::find(keys, path, &Key::path);
      if (known != keys.end()) {
        known->least = std::min(known->least, setting.least);
        known->most = std::max(known->most, setting.most);
        continue;
      }
      Key key;
      key.path = path;
      key.type = setting.isSwitch ? config::KeyType::boolean : config::KeyType::real;
      key.fallback = setting.isSwitch ? Value(setting.fallback != 0) : Value(setting.fallback);
      key.least = setting.least;
      key.most = setting.most;
      key.help = "training." + setting.name + " for these parameters.";
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

std::vector<Key> learningRateKeys() {
  Key schedule;
  schedule.path = "training.lr_schedule";
  schedule.fallback = std::string("constant");
  schedule.help = "How the learning rate moves. `pipescope help NAME` lists the settings of one.";
  schedule.flags = {"lr-schedule"};
  config::SettingKeys settings("training.", schedule.path);
  for (const LearningRateKind& kind : learningRateKinds()) {
    schedule.choices.push_back(kind.name);
    for (const config::SettingRow* setting : kind.settings) settings.add(kind.name, *setting);
  }
  std::vector<Key> keys = settings.take();
  keys.insert(keys.begin(), schedule);
  return keys;
}

}  // namespace pipescope::optimizers

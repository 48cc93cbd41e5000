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
  optimizer.help = "Weight update rule. The keys of its settings name the rules that have them.";
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

std::vector<Key> learningRateKeys() {
  Key schedule;
  schedule.path = "training.lr_schedule";
  schedule.fallback = std::string("constant");
  schedule.help = "How the learning rate moves. The keys of its settings name the schedules that have them.";
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

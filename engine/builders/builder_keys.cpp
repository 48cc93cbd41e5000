#include "engine/builders/builder_keys.h"

#include <algorithm>

#include "engine/config/setting_key.h"

namespace pipescope::builders {

std::vector<config::Key> builderKeys(const BuilderRegistry& registry) {
  config::Key builder;
  builder.path = "model.builder";
  builder.fallback = std::string();
  builder.flags = {"builder"};
  builder.help = "Model made by name instead of [[model.layers]]:";
  config::SettingKeys settings("model.", builder.path);
  for (const auto& [name, definition] : registry.definitions()) {
    builder.help += (name == registry.definitions().begin()->first ? " " : ", ") + name;
    for (const BuilderKey& key : definition.keys) {
      const config::Value fallback =
          std::visit([](const auto& value) { return config::Value(value); }, key.fallback);
      settings.add(name, {.name = key.name,
                          .fallback = fallback,
                          .least = key.least,
                          .most = key.most,
                          .choices = key.choices,
                          .help = key.help});
    }
  }
  builder.help += ". `pipescope help NAME` lists the settings of one.";
  std::vector<config::Key> keys = settings.take();
  keys.insert(keys.begin(), builder);
  return keys;
}

}  // namespace pipescope::builders

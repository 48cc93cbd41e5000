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
  std::string models;
  for (const auto& [name, definition] : registry.definitions()) {
    const bool variant = !definition.variantOf.empty();
    (variant ? models : builder.help) += (variant                       ? models.empty() ? " " : ", "
                                          : builder.help.ends_with(':') ? " "
                                                                        : ", ") +
                                         name;
    for (const BuilderKey& key : definition.keys) {
      const config::Value fallback =
          std::visit([](const auto& value) { return config::Value(value); }, key.fallback);
      settings.add(name, {.name = key.name,
                          .fallback = fallback,
                          .least = key.least,
                          .most = key.most,
                          .choices = key.choices,
                          .help = key.help,
                          .isVariant = variant});
    }
  }
  builder.help += "; or a known model:" + models + ". `pipescope help NAME` lists the settings of one.";
  std::vector<config::Key> keys = settings.take();
  keys.insert(keys.begin(), builder);
  return keys;
}

}  // namespace pipescope::builders

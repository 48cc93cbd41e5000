#include "engine/builders/presets.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <span>

namespace pipescope::builders {

/// The files of resources/models with their texts. The build generates it.
std::span<const std::pair<std::string_view, std::string_view>> embeddedModels();

namespace {

/// The value as a setting of the same kind as `like`. Nothing: it is of another kind.
std::optional<Setting> settingOf(const toml::node& value, const Setting& like) {
  const auto as = [&]<class T>(T) -> std::optional<Setting> {
    const auto found = value.value_exact<T>();
    return found ? std::optional<Setting>(*found) : std::nullopt;
  };
  if (std::holds_alternative<bool>(like)) return as(false);
  if (std::holds_alternative<std::int64_t>(like)) return as(std::int64_t{});
  if (std::holds_alternative<double>(like)) return as(0.0);
  return as(std::string());
}

base::Status addPreset(const std::string& name, std::string_view text, BuilderRegistry& registry) {
  const auto refuse = [&](const std::string& why) {
    return base::badInput(fmt::format("models/{}.toml: {}", name, why));
  };
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return refuse(std::string(error.description()));
  }
  const auto base = table["builder"].value<std::string>();
  const auto found = base ? registry.definitions().find(*base) : registry.definitions().end();
  if (found == registry.definitions().end()) return refuse("its builder is not known");
  BuilderDefinition model = found->second;
  model.name = name;
  model.doc = table["about"].value_or(std::string(name));
  model.variantOf = *base;
  for (const auto& [key, value] : table) {
    if (key == "builder" || key == "about") continue;
    const auto own = std::ranges::find(model.keys, key.str(), &BuilderKey::name);
    if (own == model.keys.end())
      return refuse(fmt::format("the builder {} has no setting {}", *base, key.str()));
    const std::optional<Setting> setting = settingOf(value, own->fallback);
    if (!setting) return refuse(fmt::format("{} has a value of another kind", key.str()));
    own->fallback = *setting;
  }
  registry.add(std::move(model));
  return {};
}

}  // namespace

base::Status addPresets(BuilderRegistry& registry) {
  for (const auto& [path, text] : embeddedModels()) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    PIPESCOPE_TRY(addPreset(std::string(file.substr(0, file.size() - 5)), text, registry));
  }
  return {};
}

}  // namespace pipescope::builders

#include "app/run/request/host_defaults.h"

#include <fmt/format.h>

#include <cmath>

#include "app/run/request/user_folders.h"
#include "engine/config/suggestion.h"
#include "engine/devices/core/device_files.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using devices::FigureFile;
using devices::FigureValue;

/// Unit of the figure of a key that counts or is true or false.
constexpr const char* kNoUnit = "1";

base::Status apply(const std::string& name, const FigureValue& figure, Configuration& c) {
  const std::string path = "host." + name;
  const config::Key* key = c.keys().find(path);
  if (key == nullptr || key->type == config::KeyType::text) {
    std::vector<std::string> names;
    for (const config::Key& each : c.keys().all()) {
      if (each.path.starts_with("host.") && each.type != config::KeyType::text)
        names.push_back(each.path.substr(5));
    }
    const std::string near = config::nearest(name, names);
    return base::badInput(fmt::format("{}: figure \"{}\" is no key of [host]{}", figure.file, name,
                                      near.empty() ? "." : fmt::format("; did you mean \"{}\"?", near)));
  }
  if (const std::string unit = key->unit.empty() ? kNoUnit : key->unit; figure.unit != unit)
    return base::badInput(fmt::format("{}: figure \"{}\" has the unit \"{}\", but must have \"{}\".",
                                      figure.file, name, figure.unit, unit));
  if (c.origin(path) > config::Origin::derived) return {};
  config::Value value = figure.value;
  if (key->type == config::KeyType::boolean) value = figure.value != 0;
  if (key->type == config::KeyType::integer) value = static_cast<std::int64_t>(std::llround(figure.value));
  const base::Status set = c.set(path, std::move(value), config::Origin::derived);
  return set.ok() ? set : base::badInput(fmt::format("{}: {}", figure.file, set.error().message));
}

}  // namespace

base::Result<Configuration> withHostDefaults(const Configuration& given) {
  const std::string& name = given.text("host.name");
  if (name.empty()) return given;
  PIPESCOPE_ASSIGN(const FigureFile host, devices::DeviceFiles(userConfigurationFolder()).host(name));
  Configuration c = given;
  for (const auto& [figure, value] : host.figures) PIPESCOPE_TRY(apply(figure, value, c));
  return c;
}

base::Result<Configuration> withInferenceHost(const Configuration& given) {
  const std::string name = given.text("inference.host");
  if (name.empty()) return given;
  Configuration c = given;
  for (const config::Key& key : c.keys().all()) {
    if (!key.path.starts_with("host.") || c.origin(key.path) != config::Origin::derived) continue;
    PIPESCOPE_TRY(c.set(key.path, key.fallback, config::Origin::derived));
  }
  PIPESCOPE_TRY(c.replace("host.name", name == "none" ? std::string() : name));
  return withHostDefaults(c);
}

}  // namespace pipescope::app

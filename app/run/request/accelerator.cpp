#include "app/run/request/accelerator.h"

#include <fmt/format.h>

#include "app/run/request/user_folders.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;

/// The system to use if a configuration names only the accelerator.
std::string usualSystem(const std::string& accelerator) {
  for (const devices::Accelerator& each : devices::accelerators()) {
    if (each.name == accelerator) return each.usualSystem;
  }
  return {};
}

base::Error refuseGivenCosts(const Configuration& c) {
  const std::string &asked = c.text("system.accelerator"), &name = c.text("system.name");
  if (asked == "auto") {
    return base::badInput(fmt::format(
        "system.devices is auto, but system {} has as many devices as its stages take: leave it out.", name));
  }
  return base::badInput(fmt::format(
      "system.accelerator is {}, but system {} has costs instead of devices: leave the accelerator out.",
      asked, name));
}

}  // namespace

base::Result<Configuration> withAccelerator(const Configuration& given) {
  Configuration c = given;
  const std::string& asked = c.text("system.accelerator");
  const bool counts = c.integer("system.devices") < 0;
  if (asked == "auto" && !counts) return c;
  if (asked != "auto" && !c.given("system.name") && usualSystem(asked) != c.text("system.name"))
    PIPESCOPE_TRY(c.set("system.name", usualSystem(asked), config::Origin::flag));
  const std::string name = c.text("system.name");
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  if (devices::hasGivenCosts(name, options.userFolder)) return refuseGivenCosts(c);
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(name, options));
  const std::string own = system->facts().accelerator;
  if (asked != "auto" && own != asked) {
    return base::badInput(
        fmt::format("system.accelerator is {}, but system {} has devices of kind {}: use accelerator auto, "
                    "or a system such as {}.",
                    asked, name, own, usualSystem(asked)));
  }
  if (counts)
    PIPESCOPE_TRY(
        c.set("system.devices", static_cast<std::int64_t>(system->devices().size()), config::Origin::flag));
  return c;
}

}  // namespace pipescope::app

#include "app/run/request/accelerator.h"

#include <fmt/format.h>

#include "app/run/request/user_folders.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;

/// What frameworks call the devices of a family.
std::string acceleratorOf(const std::string& family) {
  return family == "gaudi" ? "hpu" : family;
}

}  // namespace

base::Result<Configuration> withAccelerator(const Configuration& given) {
  Configuration c = given;
  const std::string& asked = c.text("system.accelerator");
  const bool counts = c.integer("system.devices") < 0;
  if (asked == "auto" && !counts) return c;
  if (asked == "hpu" && !c.given("system.name"))
    PIPESCOPE_TRY(c.set("system.name", std::string("hls-gaudi2"), config::Origin::flag));
  const std::string name = c.text("system.name");
  if (name == "fixed") {
    if (asked == "auto")
      return base::badInput(
          "system.devices is auto, but system fixed has as many devices as its stages take: leave it out.");
    return base::badInput(fmt::format(
        "system.accelerator is {}, but system fixed has costs instead of devices: leave the accelerator out.",
        asked));
  }
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(name, options));
  if (asked != "auto" && acceleratorOf(system->family()) != asked) {
    return base::badInput(
        fmt::format("system.accelerator is {}, but system {} has devices of kind {}: use accelerator auto, "
                    "or a system such as {}.",
                    asked, name, acceleratorOf(system->family()), asked == "hpu" ? "hls-gaudi2" : "pod4"));
  }
  if (counts)
    PIPESCOPE_TRY(
        c.set("system.devices", static_cast<std::int64_t>(system->devices().size()), config::Origin::flag));
  return c;
}

}  // namespace pipescope::app

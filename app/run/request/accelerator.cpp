#include "app/run/request/accelerator.h"

#include <fmt/format.h>

#include <algorithm>

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

/// Pipelines take the schedule that is usual for the devices.
base::Status scheduleAsUsual(Configuration& c) {
  constexpr const char* kSchedule = "execution.schedule";
  if (c.given(kSchedule) || c.text("execution.strategy") != "pipelined") return {};
  // Stages that return to devices in an order of their own need a schedule that allows it.
  const bool placed = !c.integers("execution.cut_devices").empty() ||
                      std::ranges::any_of(c.tables("stages"), [](const config::Settings& stage) {
                        return stage.integer("device") >= 0;
                      });
  if (placed) return {};
  const std::string usual = devices::usualScheduleOf(c.text("system.name"), c.integer("execution.chunks") > 1,
                                                     userConfigurationFolder());
  return usual.empty() ? base::Status() : c.set(kSchedule, usual, config::Origin::derived);
}

base::Result<ChosenSystem> chooseNamed(const Configuration& given) {
  ChosenSystem chosen{given, std::nullopt};
  Configuration& c = chosen.configuration;
  const std::string& asked = c.text("system.accelerator");
  const bool counts = c.integer("system.devices") < 0;
  if (asked == "auto" && !counts) return chosen;
  const std::string usual = usualSystem(asked), named = c.text("system.name");
  if (asked != "auto" && !c.given("system.name") && usual != named)
    PIPESCOPE_TRY(c.replace("system.name", usual));
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  if (devices::hasGivenCosts(c.text("system.name"), options.userFolder)) return refuseGivenCosts(c);
  PIPESCOPE_ASSIGN(auto system, devices::makeSystem(c.text("system.name"), options));
  if (const std::string own = system->facts().accelerator; asked != "auto" && own != asked) {
    if (c.origin("system.accelerator") <= c.origin("system.name")) {
      return base::badInput(
          fmt::format("system.accelerator is {}, but system.name is {}, whose devices are of kind {}: leave "
                      "one of them out, or choose a system such as {}.",
                      asked, named, own, usual));
    }
    PIPESCOPE_TRY(c.replace("system.name", usual));
    chosen.notice =
        fmt::format("The system is {} instead of {}, because system.accelerator is {}.", usual, named, asked);
    PIPESCOPE_ASSIGN(system, devices::makeSystem(usual, options));
  }
  if (counts) PIPESCOPE_TRY(c.resolve("system.devices", static_cast<std::int64_t>(system->devices().size())));
  return chosen;
}

}  // namespace

base::Result<ChosenSystem> chooseSystem(const Configuration& given) {
  PIPESCOPE_ASSIGN(ChosenSystem chosen, chooseNamed(given));
  PIPESCOPE_TRY(scheduleAsUsual(chosen.configuration));
  return chosen;
}

}  // namespace pipescope::app

#include "app/run/request/device_settings.h"

#include "app/run/request/user_folders.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {

std::vector<devices::FamilySetting> deviceSettings(const config::Configuration& c) {
  std::vector<devices::FamilySetting> settings;
  if (c.given("execution.available_memory_proportion"))
    settings.push_back({"available_memory_proportion", c.real("execution.available_memory_proportion")});
  if (c.given("execution.partials_type"))
    settings.push_back({"partials_type", c.text("execution.partials_type")});
  if (c.given("execution.io_tiles"))
    settings.push_back({"io_tiles", static_cast<double>(c.integer("execution.io_tiles"))});
  return settings;
}

base::Status checkDeviceSettings(const config::Configuration& c) {
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  options.settings = deviceSettings(c);
  return devices::checkSettings(c.text("system.name"), options);
}

}  // namespace pipescope::app

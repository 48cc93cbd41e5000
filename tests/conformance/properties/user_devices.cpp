#include "user_devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/devices/core/device_files.h"

namespace pipescope::conformance {

UserDevices::UserDevices()
    : folder_(std::filesystem::temp_directory_path() / fmt::format("pipescope_{}", ::getpid())) {
  std::filesystem::create_directories(folder_ + "/pipescope/devices");
  std::filesystem::create_directories(folder_ + "/pipescope/systems");
  ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
}

UserDevices::~UserDevices() {
  std::filesystem::remove_all(folder_);
  ::unsetenv("XDG_CONFIG_HOME");
}

void UserDevices::add(const std::string& name, const std::string& base, const std::string& figure,
                      double factor) const {
  const devices::FigureValue value = figureOf(base, figure);
  std::ofstream file(folder_ + "/pipescope/devices/" + name + ".toml");
  file << fmt::format(
      "family = \"{}\"\nbase = \"{}\"\ndescription = \"{} times {}\"\n[figures]\n{} = {{ value = {:.0f}, "
      "unit = "
      "\"{}\", grade = \"R\", source = \"test\" }}\n",
      devices::DeviceFiles({}).chip(base).value().family, base, factor, figure, figure, factor * value.value,
      value.unit);
}

void UserDevices::addSystem(const std::string& name, const std::string& base, const std::string& figure,
                            bool ofChip, double value) const {
  const devices::DeviceFiles files({});
  const devices::FigureFile system = files.system(base).value();
  const std::string unit = ofChip ? figureOf(system.chip, figure).unit : system.figures.at(figure).unit;
  std::ofstream file(folder_ + "/pipescope/systems/" + name + ".toml");
  file << fmt::format(
      "family = \"{}\"\nbase = \"{}\"\ndescription = \"{} with another {}\"\n[{}]\n{} = {{ value = {:e}, "
      "unit "
      "= \"{}\", grade = \"R\", source = \"test\" }}\n",
      system.family, base, base, figure, ofChip ? "chip_figures" : "figures", figure, value, unit);
}

devices::FigureValue figureOf(const std::string& chip, const std::string& name) {
  return devices::DeviceFiles({}).chip(chip).value().figures.at(name);
}

}  // namespace pipescope::conformance

#include "app/run/request/float8_request.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/run/request/user_folders.h"
#include "engine/devices/core/device_files.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;

/// "c600, gaudi2 and gaudi3".
std::string chipsWithFloat8(const devices::SystemOptions& options) {
  std::vector<std::string> chips;
  for (const std::string& chip : devices::DeviceFiles(options.userFolder).chips()) {
    const auto system = devices::makeSystem(chip, options);
    if (system.ok() && (*system)->float8()) chips.push_back(chip);
  }
  std::string list;
  for (std::size_t i = 0; i < chips.size(); ++i)
    list += (i == 0 ? "" : i + 1 == chips.size() ? " and " : ", ") + chips[i];
  return list;
}

base::Status checkUnused(const Configuration& c) {
  for (const char* key : {"execution.float8_format", "execution.float8_scaling", "execution.float8_scales",
                          "execution.float8_products", "execution.float8_except"}) {
    if (c.given(key) && !usesFloat8(c))
      return base::badInput(
          fmt::format("{} needs execution.precision float8: set that, or leave this out.", key));
  }
  if (c.given("execution.float8_scales") && c.text("execution.float8_scaling") != "fixed")
    return base::badInput(
        "execution.float8_scales needs execution.float8_scaling fixed: set that, or leave this out.");
  if (c.integers("execution.float8_scales").size() != 3)
    return base::badInput(
        fmt::format("execution.float8_scales has {} numbers; give three, for activations, weights and "
                    "gradients.",
                    c.integers("execution.float8_scales").size()));
  return {};
}

}  // namespace

bool usesFloat8(const Configuration& c) {
  return c.text("execution.precision") == "float8" || c.text("execution.precision") == "fp8";
}

base::Result<devices::Float8Support> float8SupportOf(const Configuration& c) {
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(c.text("system.name"), options));
  if (const auto support = system->float8()) return *support;
  return base::badInput(
      fmt::format("execution.precision is float8, but the devices of system {} do not multiply float8; {} "
                  "do. Choose one of them with --system, or --precision float16 or bfloat16.",
                  system->name(), chipsWithFloat8(options)));
}

base::Result<std::optional<compile::Float8Request>> float8Request(const Configuration& c) {
  PIPESCOPE_TRY(checkUnused(c));
  if (!usesFloat8(c)) return std::optional<compile::Float8Request>();
  PIPESCOPE_ASSIGN(const devices::Float8Support support, float8SupportOf(c));
  const std::string& format = c.text("execution.float8_format");
  const std::vector<std::int64_t>& scales = c.integers("execution.float8_scales");
  compile::Float8Request request;
  request.forward = format == "float8_152" ? support.e152 : support.e143;
  request.gradient = format == "float8_143" ? support.e143 : support.e152;
  request.sums = support.sums;
  request.currentScales = c.text("execution.float8_scaling") == "current";
  request.activationScale = scales[0];
  request.weightScale = scales[1];
  request.gradientScale = scales[2];
  request.allProducts = c.text("execution.float8_products") == "all";
  request.except = c.texts("execution.float8_except");
  return std::optional(std::move(request));
}

}  // namespace pipescope::app

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

/// "c600, gaudi2 and gaudi3": the chips whose support for float8 `suits`.
template <class Suits>
std::string chipsThatSuit(const devices::SystemOptions& options, const Suits& suits) {
  std::vector<std::string> chips;
  for (const std::string& chip : devices::DeviceFiles(options.userFolder).chips()) {
    const auto system = devices::makeSystem(chip, options);
    if (system.ok() && (*system)->float8() && suits(*(*system)->float8())) chips.push_back(chip);
  }
  std::string list;
  for (std::size_t i = 0; i < chips.size(); ++i)
    list += (i == 0 ? "" : i + 1 == chips.size() ? " and " : ", ") + chips[i];
  return list;
}

constexpr const char* kExcept = "execution.float8_except";

base::Status checkUnused(const Configuration& c) {
  for (const char* key : {"execution.float8_format", "execution.float8_scaling", "execution.float8_scales",
                          "execution.float8_products", kExcept}) {
    if (c.given(key) && !usesFloat8(c) && !(key == kExcept && usesFloat4(c)))
      return base::badInput(
          fmt::format("{} needs execution.precision float8: set that, or leave this out.", key));
  }
  if (c.text("execution.float8_scaling") == "blocks" && c.text("execution.float8_products") == "all")
    return base::badInput(
        "execution.float8_scaling is blocks and execution.float8_products is all, but products of two "
        "activations have no blocks: choose current scaling, or products with weights.");
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

/// Refuses devices that multiply no blocks; `option` names what asks for them.
base::Status checkBlocks(const Configuration& c, const devices::Float8Support& support) {
  const bool float4 = usesFloat4(c);
  if (!float4 && c.text("execution.float8_scaling") != "blocks") return {};
  if (float4 ? support.float4 : support.blocks) return {};
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  const std::string chips = chipsThatSuit(
      options, [&](const devices::Float8Support& each) { return float4 ? each.float4 : each.blocks; });
  return base::badInput(fmt::format(
      "execution.{}, but the devices of system {} do not multiply {}; {} do. Choose one of them with "
      "--system, or --precision float8 with current scaling.",
      float4 ? "precision is float4" : "float8_scaling is blocks", c.text("system.name"),
      float4 ? "float4" : "blocks of float8", chips));
}

}  // namespace

bool usesFloat4(const Configuration& c) {
  return c.text("execution.precision") == "float4" || c.text("execution.precision") == "fp4";
}

bool usesFloat8(const Configuration& c) {
  return c.text("execution.precision") == "float8" || c.text("execution.precision") == "fp8";
}

base::Result<devices::Float8Support> float8SupportOf(const Configuration& c) {
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(c.text("system.name"), options));
  if (const auto support = system->float8()) return *support;
  return base::badInput(fmt::format(
      "execution.precision is {0}, but the devices of system {1} do not multiply {0}; {2} "
      "do. Choose one of them with --system, or --precision float16 or bfloat16.",
      usesFloat4(c) ? "float4" : "float8", system->name(),
      chipsThatSuit(options,
                    [&](const devices::Float8Support& each) { return !usesFloat4(c) || each.float4; })));
}

base::Result<std::optional<compile::Float8Request>> float8Request(const Configuration& c) {
  PIPESCOPE_TRY(checkUnused(c));
  if (!usesFloat8(c) && !usesFloat4(c)) return std::optional<compile::Float8Request>();
  PIPESCOPE_ASSIGN(const devices::Float8Support support, float8SupportOf(c));
  PIPESCOPE_TRY(checkBlocks(c, support));
  const std::string& format = c.text("execution.float8_format");
  const std::vector<std::int64_t>& scales = c.integers("execution.float8_scales");
  compile::Float8Request request;
  request.forward = format == "float8_152" ? support.e152 : support.e143;
  request.gradient = format == "float8_143" ? support.e143 : support.e152;
  request.sums = support.sums;
  request.blocks = usesFloat4(c) || c.text("execution.float8_scaling") == "blocks";
  if (usesFloat4(c)) request.forward = request.gradient = graph::ElementType::float4_121;
  request.currentScales = c.text("execution.float8_scaling") == "current";
  request.activationScale = scales[0];
  request.weightScale = scales[1];
  request.gradientScale = scales[2];
  request.allProducts = c.text("execution.float8_products") == "all";
  request.except = c.texts("execution.float8_except");
  return std::optional(std::move(request));
}

}  // namespace pipescope::app

#include "engine/compiler/lower_again.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "engine/compiler/network_rate.h"
#include "engine/devices/system_registry.h"

namespace pipescope::compile {

base::Status lowerAgain(Compilation& compilation, const std::string& system, base::Executor& executor) {
  PIPESCOPE_ASSIGN(const std::shared_ptr<const devices::System> other,
                   devices::makeSystem(system, compilation.systemOptions));
  if (other->family() != compilation.system->family() ||
      other->devices().size() != compilation.system->devices().size())
    return base::badInput(fmt::format("System {} has other devices than {}: compile the model for it.",
                                      system, compilation.system->name()));
  compilation.system = other;
  for (CompiledExecutable& executable : compilation.executables) {
    PIPESCOPE_ASSIGN(executable.lowered, lowerStages(executable.ir, *other, executor));
    executable.facts.host.networkRate = networkRate(executable.ir, *other, executable.facts.microBatchSize);
  }
  return {};
}

base::Result<std::vector<devices::LoweredDevice>> lowerStages(const ExecutableIr& ir,
                                                              const devices::System& system,
                                                              base::Executor& executor,
                                                              LoweredStages* known) {
  std::map<int, std::vector<const StageIr*>> byDevice;
  for (const StageIr& stage : ir.stages) byDevice[stage.place].push_back(&stage);
  std::vector<std::vector<const StageIr*>> held;
  for (auto& [device, stages] : byDevice) held.push_back(std::move(stages));
  std::vector<std::optional<base::Result<devices::LoweredDevice>>> lowered(held.size());
  executor.parallelFor(held.size(), [&](std::size_t i) {
    lowered[i] = known != nullptr ? known->lower(system, held[i]) : system.lower(held[i]);
  });
  std::vector<devices::LoweredDevice> devices;
  for (std::optional<base::Result<devices::LoweredDevice>>& device : lowered) {
    if (!device->ok()) return device->error();
    devices.push_back(std::move(*device).value());
  }
  return devices;
}

}  // namespace pipescope::compile

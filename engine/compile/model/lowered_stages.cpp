#include "engine/compile/model/lowered_stages.h"

#include <fmt/format.h>

#include "engine/compile/model/stage_text.h"
#include "engine/devices/system_registry.h"

namespace pipescope::compile {
namespace {

std::string textOf(const std::string& name, const devices::SystemOptions& options) {
  // All members are named, so that a new one does not compile until its text is added.
  const auto& [userFolder, devices, oneAtATime, settings] = options;
  std::string text;
  appendWord(text, name);
  appendWord(text, userFolder.string());
  text += fmt::format("{},{};", devices, oneAtATime);
  for (const devices::FamilySetting& setting : settings) {
    const auto& [key, value, device] = setting;
    appendWord(text, key);
    appendWord(text, std::visit([](const auto& each) { return fmt::format("{}", each); }, value));
    text += fmt::format("{},{};", value.index(), device);
  }
  return text;
}

}  // namespace

base::Result<std::shared_ptr<const devices::System>> LoweredStages::system(
    const std::string& name, const devices::SystemOptions& options) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const devices::System>& known = systems_[textOf(name, options)];
  if (known == nullptr) {
    PIPESCOPE_ASSIGN(known, devices::makeSystem(name, options));
  }
  return known;
}

base::Result<devices::LoweredDevice> LoweredStages::lower(const devices::System& system,
                                                          const std::vector<const StagePlan*>& stages) {
  // The systems live as long as this object, so that no other one gets the address of one of them.
  std::string key = fmt::format("{}:{};", static_cast<const void*>(&system), stages.size());
  for (const StagePlan* stage : stages) appendText(key, *stage);
  {
    const std::lock_guard lock(mutex_);
    if (const std::shared_ptr<const Device> known = devices_.find(key)) {
      ++found_;
      return *known;
    }
  }
  const auto device = std::make_shared<const Device>(system.lower(stages));
  const std::lock_guard lock(mutex_);
  ++lowered_;
  devices_.add(key, device);
  return *device;
}

std::shared_ptr<const PassedStages> LoweredStages::passed(const ExecutablePlan& part,
                                                          const std::string& options,
                                                          const std::function<PassedStages()>& run) {
  std::string key;
  appendWord(key, options);
  key += fmt::format("{},{},{};", static_cast<int>(part.kind), part.ordersForMemory, part.stages.size());
  for (const StagePlan& stage : part.stages) appendText(key, stage);
  for (const BoundaryTensor& boundary : part.boundaries) {
    appendWord(key, boundary.name);
    key += fmt::format("{},{},{};", boundary.fromStage, boundary.toStage, static_cast<int>(boundary.kind));
  }
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const PassedStages> known = passed_.find(key)) return known;
  }
  auto stages = std::make_shared<const PassedStages>(run());
  const std::lock_guard lock(mutex_);
  passed_.add(key, stages);
  return stages;
}

}  // namespace pipescope::compile

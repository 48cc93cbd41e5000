#include "engine/compiler/lowered_stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/compiler/stage_text.h"
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

base::Status LoweredStages::begin() {
  ++compilations_;
  return goOn();
}

base::Status LoweredStages::goOn() const {
  const base::Progress* const progress = progress_;
  if (progress != nullptr && progress->cancelled())
    return base::cancelled("The user stopped the compilation of the model.");
  return {};
}

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
                                                          const std::vector<const StageIr*>& stages) {
  if (!remembersStages_) return system.lower(stages);
  // The systems live as long as this object, so that no other one gets the address of one of them.
  std::string key = fmt::format("{}:{};", static_cast<const void*>(&system), stages.size());
  for (const StageIr* stage : stages) appendText(key, *stage);
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

PassedStages LoweredStages::passed(const ExecutableIr& part, const std::string& options,
                                   const std::function<PassedStages()>& run) {
  if (!remembersStages_) return run();
  // The structured bindings name all members, so that a new member does not compile until it is part of the
  // key.
  const auto& [name, kind, stages, boundaries, mesh, ordersForMemory, sharesCode, runsSideBySide] = part;
  const auto& [replicas, places, width, contexts, experts, mirrored, atOnce, placesOutermost, ringBytes] =
      mesh;
  std::string key;
  appendWord(key, options);
  appendWord(key, name);
  key += fmt::format("{},{},{},{},{};{},{},{},{},{},{},{},{},{};", static_cast<int>(kind), ordersForMemory,
                     sharesCode, runsSideBySide, stages.size(), replicas, places, width, contexts, experts,
                     mirrored, atOnce, placesOutermost, fmt::join(ringBytes, ","));
  for (const StageIr& stage : stages) appendText(key, stage);
  for (const BoundaryTensor& boundary : boundaries) {
    const auto& [tensor, type, fromStage, toStage, transfer] = boundary;
    appendWord(key, tensor);
    key += fmt::format("{},{},{},{},{};", static_cast<int>(type.element), fmt::join(type.shape, "x"),
                       fromStage, toStage, static_cast<int>(transfer));
  }
  {
    const std::lock_guard lock(mutex_);
    if (const std::shared_ptr<const PassedStages> known = passed_.find(key)) return *known;
  }
  const auto passed = std::make_shared<const PassedStages>(run());
  const std::lock_guard lock(mutex_);
  passed_.add(key, passed);
  return *passed;
}

}  // namespace pipescope::compile

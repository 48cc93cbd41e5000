#include "engine/compile/model/lowered_stages.h"

#include <fmt/format.h>

#include "engine/compile/model/stage_text.h"
#include "engine/devices/system_registry.h"

namespace pipescope::compile {
namespace {

/// What is kept grows with the plans of the stages: some ten bytes for each byte of a key.
constexpr std::size_t kMostKeyBytes = 32'000'000;

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
    std::unique_lock lock(mutex_);
    if (const auto known = devices_.find(key); known != devices_.end()) {
      ++found_;
      const std::shared_ptr<const Device> device = known->second;
      lock.unlock();
      return *device;
    }
  }
  const auto device = std::make_shared<const Device>(system.lower(stages));
  const std::lock_guard lock(mutex_);
  ++lowered_;
  if (devices_.emplace(key, device).second) {
    bytes_ += key.size();
    keys_.push_back(std::move(key));
  }
  while (bytes_ > kMostKeyBytes && keys_.size() > 1) {
    bytes_ -= keys_.front().size();
    devices_.erase(keys_.front());
    keys_.pop_front();
  }
  return *device;
}

}  // namespace pipescope::compile

#pragma once
// What lies in a card's HBM: tensors for good, and a workspace in which tensors that are not live at the same
// time share addresses.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

class HbmMemory {
 public:
  explicit HbmMemory(const Card& card) : card_(card) {}

  /// Adds a program step; returns its index.
  std::int32_t addStep(std::string name, std::string program, model::Pass pass);
  std::int32_t steps() const { return static_cast<std::int32_t>(memory_.steps.size()); }
  /// Returns the variable's place. Bytes are rounded up to whole cache lines.
  std::size_t add(LoweredVariable variable);
  void addLife(std::size_t variable, std::int32_t first, std::int32_t end);

  /// Works out liveness, addresses and overflow. Bytes by category are what is always live, and what the
  /// fullest step holds besides.
  LoweredMemory finish(const std::string& deviceName);

 private:
  void replay();
  /// Bytes of the workspace: each variable at the lowest address that is free all its life, large ones first.
  std::int64_t placeWorkspace() const;
  /// The step at which most is live.
  std::size_t peakStep() const;
  /// What is always live, and what is at a step.
  std::vector<const LoweredVariable*> heldAt(std::size_t step) const;
  std::string describeOverflow(const std::string& deviceName, std::int64_t needed) const;

  const Card& card_;
  LoweredMemory memory_;
};

}  // namespace pipescope::devices::gaudi

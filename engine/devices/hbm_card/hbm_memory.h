#pragma once
// The memory of a card: tensors that stay, and a workspace in which tensors with separate lives share
// addresses.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {

class HbmMemory {
 public:
  explicit HbmMemory(const CardFigures& card) : card_(card) {}

  /// Adds a program step; returns its index.
  std::int32_t addStep(std::string name, std::string program, model::Pass pass);
  std::int32_t steps() const { return static_cast<std::int32_t>(memory_.steps.size()); }
  /// Makes room for as many variables.
  void reserve(std::size_t variables) { memory_.variables.reserve(variables); }
  /// Adds a variable and returns its index. Bytes are rounded up to whole cache lines.
  std::size_t add(LoweredVariable variable);
  void addLife(std::size_t variable, std::int32_t first, std::int32_t end);

  /// Works out liveness, addresses and overflow. The bytes by category cover what is always live and what the
  /// fullest step holds besides.
  LoweredMemory finish(const std::string& deviceName);

 private:
  void replay();
  /// Gives what is not always live its address in the workspace, which begins at `first`. Large variables are
  /// placed first, each at the lowest address that is free during its whole life. Returns the bytes of the
  /// workspace.
  std::int64_t placeWorkspace(std::int64_t first);
  /// The step at which most bytes are live.
  std::size_t peakStep() const;
  /// Lists what is always live and what is live at a step.
  std::vector<const LoweredVariable*> heldAt(std::size_t step) const;
  std::string describeOverflow(const std::string& deviceName, std::int64_t needed) const;

  const CardFigures& card_;
  LoweredMemory memory_;
};

}  // namespace pipescope::devices::hbm_card

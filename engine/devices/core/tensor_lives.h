#pragma once
// Works out when the tensors of a stage are live, in program steps of the device.
#include <cstdint>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::devices {

/// Follows the operators of a stage in program order. A tensor lives from the step that writes it first to
/// its last reader before it is made anew. A buffer between stages, which nothing on this device makes, lives
/// from the start of the pass that reads it first. A tensor that nothing on the device reads leaves it, and
/// so lives to the end of its pass. The result of an operator that works in place takes over memory, so its
/// life begins when the operator ends. The result of an operator without Work is a view of its input.
class TensorLives {
 public:
  TensorLives() = default;
  /// `stashInPlace`: values of a stash lie where the forward pass made them. The entry of the micro-batch
  /// that runs then lives like an activation. `replaces`: results take the memory of IrOperator::replaced.
  explicit TensorLives(const compile::StageIr& stage, bool stashInPlace = false, bool replaces = false);

  void enterPass(model::Pass pass, std::int32_t firstStep);
  /// `writtenStep` is the first step of the operator that writes results.
  void operatorAt(const compile::IrOperator& op, std::int32_t writtenStep, std::int32_t endStep);
  void leavePass(std::int32_t endStep);

  /// Empty for tensors that are always live, for views, and for tensors that no operator uses.
  std::vector<LifeSteps> of(std::size_t tensor) const;
  /// True if the tensor comes from, or goes to, another device.
  bool crosses(std::size_t tensor) const;

 private:
  struct Life {
    LifeSteps interval;
    bool read = false;
    bool arrived = false;  ///< nothing on the device made it
    bool host = false;     ///< a host pass makes or reads it
  };

  std::size_t root(std::size_t tensor) const;
  bool stays(std::size_t tensor) const;
  void readAt(std::size_t tensor, std::int32_t endStep);
  void makeAt(std::size_t tensor, std::int32_t firstStep, std::int32_t endStep);

  const compile::StageIr* stage_ = nullptr;
  bool stashInPlace_ = false, replaces_ = false;
  std::vector<std::size_t> alias_;
  std::vector<std::vector<Life>> lives_;
  model::Pass pass_ = model::Pass::forward;
  std::int32_t passFirst_ = 0;
  std::vector<std::size_t> madeInPass_;
};

}  // namespace pipescope::devices

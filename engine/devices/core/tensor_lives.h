#pragma once
// When a stage's tensors are live, in program steps of its device.
#include <cstdint>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::devices {

/// Follows a stage's operators in program order. A tensor lives from the operator that makes it to the last
/// one that reads it before it is made anew; an inter-stage buffer, which nothing on the device makes, from
/// the start of the pass that reads it first; a tensor that nothing on the device reads (it leaves) to the
/// end of its pass. Where an operator works in place, its result takes over memory: it begins when the
/// operator ends. An operator without work is a view: its result is its input under another name.
class TensorLives {
 public:
  TensorLives() = default;
  explicit TensorLives(const compile::StagePlan& stage);

  void enterPass(model::Pass pass, std::int32_t firstStep);
  void operatorAt(const compile::PlanOperator& op, std::int32_t firstStep, std::int32_t endStep);
  void leavePass(std::int32_t endStep);

  /// Empty for always-live tensors, views, and those that nothing touches.
  std::vector<LifeInterval> of(std::size_t tensor) const;
  /// Whether the tensor comes from, or goes to, another device.
  bool crosses(std::size_t tensor) const;

 private:
  struct Life {
    LifeInterval interval;
    bool read = false;
    bool arrived = false;  ///< nothing on the device made it
    bool host = false;     ///< made or read by a host pass
  };

  std::size_t root(std::size_t tensor) const;
  void readAt(std::size_t tensor, std::int32_t endStep);
  void makeAt(std::size_t tensor, std::int32_t firstStep, std::int32_t endStep);

  const compile::StagePlan* stage_ = nullptr;
  std::vector<std::size_t> alias_;
  std::vector<std::vector<Life>> lives_;
  model::Pass pass_ = model::Pass::forward;
  std::int32_t passFirst_ = 0;
  std::vector<std::size_t> madeInPass_;
};

}  // namespace pipescope::devices

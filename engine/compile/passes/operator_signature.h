#pragma once
// Tells operators of a plan apart by what they compute, and not by the names of their tensors.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/compile/plan.h"

namespace pipescope::compile {

/// Gives operators that compute the same a common number, in the order in which they first appear.
class OperatorNumbers {
 public:
  std::int64_t of(const StagePlan& stage, const PlanOperator& op);

 private:
  std::map<std::string, std::int64_t> numbers_;
};

/// How `count` operators are connected: for each of their inputs and outputs the place where the tensor first
/// appears. Two runs of operators with equal numbers compute the same if their connections are equal.
std::vector<std::int64_t> connectionsOf(const PassPlan& pass, std::size_t first, std::size_t count);

}  // namespace pipescope::compile

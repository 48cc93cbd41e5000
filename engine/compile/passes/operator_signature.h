#pragma once
// Tells operators of an IR apart by what they compute, and not by the names of their tensors.
#include <cstdint>
#include <map>
#include <string>

#include "engine/compile/ir.h"

namespace pipescope::compile {

/// Gives operators that compute the same a common number, in the order in which they first appear.
class OperatorNumbers {
 public:
  std::int64_t of(const StageIr& stage, const IrOperator& op);

 private:
  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace pipescope::compile

#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {

/// Parameters whose settings differ from those of all others. The rule is the same, its settings are not.
struct OptimizerGroup {
  std::vector<std::string> parameters;
  std::shared_ptr<Optimizer> optimizer;
};
using OptimizerGroups = std::vector<OptimizerGroup>;

/// The group that holds a parameter; null: none does.
inline const OptimizerGroup* groupOf(const OptimizerGroups& groups, const std::string& parameter) {
  for (const OptimizerGroup& group : groups) {
    for (const std::string& name : group.parameters) {
      if (name == parameter) return &group;
    }
  }
  return nullptr;
}

}  // namespace pipescope::optimizers

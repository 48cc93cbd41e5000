#pragma once
// Which operator a program works for.
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// A program that states no operator, such as the packing of gradients for a collective, works for the one
/// that its name path begins with. Launches work for none.
class StepOperators {
 public:
  StepOperators(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable)
      : source_(source), catalog_(catalog), executable_(executable) {}

  /// Reads the operators' names when the first program states none.
  Result<model::OperatorId> of(model::ProgramId program);

 private:
  Result<model::OperatorId> byName(std::string_view path);

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  std::optional<std::map<std::string, model::OperatorId, std::less<>>> names_;
  std::unordered_map<model::ProgramId, model::OperatorId> found_;  ///< programs without one of their own
};

}  // namespace pipescope::analysis

#pragma once
// Operator that a program works for.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// A program that states no operator, such as the packing of gradients for a collective, works for the one
/// that its name path begins with. Launches work for none.
class StepOperators {
 public:
  StepOperators(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable)
      : source_(source), catalog_(catalog), executable_(executable) {
    if (auto blocks = source.blocks<model::Program>(); blocks.ok()) blocks_ = std::move(blocks).value();
    programs_.resize(blocks_.size());
  }

  struct Found {
    model::OperatorId id;
    bool stated = false;  ///< stated by the program itself
  };
  /// Reads the operators' names when the first program states none.
  Result<Found> of(model::ProgramId program);

 private:
  /// Columns of a block of programs that count. The rows themselves have texts and cost several times as
  /// much.
  struct Programs {
    std::int64_t firstRow = 0;
    std::shared_ptr<const model::ColumnBlock> columns;
  };
  Result<model::OperatorId> byName(std::string_view path);
  /// Null for a program that the table does not have, and for a damaged one.
  const Programs* programsWith(std::int64_t row);

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  std::optional<std::map<std::string, model::OperatorId, std::less<>>> names_;
  std::vector<model::BlockInfo> blocks_;
  std::vector<std::optional<Programs>> programs_;  ///< content of each block; empty if it was not read
  std::size_t lastBlock_ = 0;
  std::unordered_map<model::ProgramId, model::OperatorId> found_;  ///< programs without one of their own
};

}  // namespace pipescope::analysis

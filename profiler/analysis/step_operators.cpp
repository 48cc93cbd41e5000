#include "profiler/analysis/step_operators.h"

#include <algorithm>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {

Result<StepOperators::Found> StepOperators::of(model::ProgramId program) {
  static const std::size_t kOperator = columnOf<model::Program>("operator"),
                           kContext = columnOf<model::Program>("debug_context");
  const Programs* const block = program.valid() ? programsWith(program.value) : nullptr;
  if (block == nullptr) return Found{};
  const auto row = static_cast<std::size_t>(program.value - block->firstRow);
  const model::OperatorId stated(block->columns->columns[kOperator][row]);
  if (stated.valid()) return Found{stated, true};
  const auto [known, isNew] = found_.try_emplace(program);
  if (isNew) {
    const model::DebugContextId context(block->columns->columns[kContext][row]);
    PIPESCOPE_ASSIGN(known->second, byName(catalog_.namePath(context)));
  }
  return Found{known->second, false};
}

const StepOperators::Programs* StepOperators::programsWith(std::int64_t row) {
  const auto holds = [&](std::size_t block) {
    return block < blocks_.size() && blocks_[block].firstRow <= row &&
           row - blocks_[block].firstRow < blocks_[block].rows;
  };
  if (!holds(lastBlock_)) {
    const auto after = std::ranges::partition_point(
        blocks_, [&](const model::BlockInfo& block) { return block.firstRow <= row; });
    if (after == blocks_.begin()) return nullptr;
    lastBlock_ = static_cast<std::size_t>(after - blocks_.begin()) - 1;
    if (!holds(lastBlock_)) return nullptr;
  }
  std::optional<Programs>& kept = programs_[lastBlock_];
  if (!kept) {
    kept.emplace(Programs{blocks_[lastBlock_].firstRow, nullptr});
    // Damaged programs are unknown here; other questions name the damage.
    if (auto columns = source_.columns<model::Program>(lastBlock_); columns.ok())
      kept->columns = std::move(columns).value();
  }
  return kept->columns == nullptr ? nullptr : &*kept;
}

Result<model::OperatorId> StepOperators::byName(std::string_view path) {
  if (!names_) {
    names_.emplace();
    PIPESCOPE_TRY(forAllRows<model::Operator>(source_, [&](const model::Operator& row) {
      if (row.executable == executable_) names_->try_emplace(catalog_.namePath(row.debugContext), row.id);
    }));
  }
  for (; !path.empty(); path = path.substr(0, path.rfind('/'))) {
    if (const auto found = names_->find(path); found != names_->end()) return found->second;
    if (path.find('/') == std::string_view::npos) break;
  }
  return model::OperatorId();
}

}  // namespace pipescope::analysis

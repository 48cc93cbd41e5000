#include "profiler/analysis/step_operators.h"

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {

Result<model::OperatorId> StepOperators::of(model::ProgramId program) {
  const model::Program row = catalog_.programs[program];
  if (row.op.valid()) return row.op;
  const auto [known, isNew] = found_.try_emplace(program);
  if (isNew) {
    PIPESCOPE_ASSIGN(known->second, byName(catalog_.namePath(row.debugContext)));
  }
  return known->second;
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

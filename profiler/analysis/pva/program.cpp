#include <algorithm>

#include "profiler/analysis/pva/profile.h"

namespace pipescope::pva {

std::string Program::name() const {
  return profile_->catalog->namePath(profile_->program(id_).debugContext);
}
std::string Program::type() const {
  return profile_->program(id_).kind;
}
DebugContext Program::debugContext() const {
  return detail::contextOf(*profile_, profile_->program(id_).debugContext);
}

std::vector<Program> Program::children() const {
  std::vector<Program> found;
  for (const std::int64_t child : profile_->childrenOf(id_)) found.push_back(Program(profile_, child));
  return found;
}
std::int64_t Program::count() const {
  return std::max<std::int64_t>(1, profile_->program(id_).count);
}
std::optional<Program> Program::target() const {
  const model::ProgramId target = profile_->program(id_).target;
  return target.valid() ? std::optional(Program(profile_, target.value)) : std::nullopt;
}

Result<std::vector<std::int64_t>> Program::estimatedCyclesByTile() const {
  return profile_->cyclesByTile(id_);
}

std::optional<ComputeSet> Program::computeSet() const {
  return type() == "OnTileExecute" ? std::optional(ComputeSet(profile_, *this)) : std::nullopt;
}

void Program::accept(ProgramVisitor& visitor) const {
  const std::string kind = type();
  if (kind == "OnTileExecute") return visitor.visitOnTileExecute(*this);
  if (kind == "DoExchange") return visitor.visitDoExchange(*this);
  if (kind == "GlobalExchange") return visitor.visitGlobalExchange(*this);
  if (kind.starts_with("StreamCopy")) return visitor.visitStreamCopy(*this);
  if (kind.starts_with("Sync")) return visitor.visitSync(*this);
  if (kind == "Sequence") return visitor.visitSequence(*this);
  if (kind == "Repeat") return visitor.visitRepeat(*this);
  if (kind == "Call") return visitor.visitCall(*this);
  if (kind == "Function") return visitor.visitFunction(*this);
  visitor.visitProgram(*this);
}

}  // namespace pipescope::pva

#include "views/pages/parts/trace/trace_calls.h"

#include <vector>

#include "views/pages/parts/trace/trace_steps.h"

namespace pipescope::pages {

void TraceCalls::forget() {
  chosen_ = kLastCall;
  loaded_.reset();
}

analysis::TraceRequest TraceCalls::wanted() {
  const model::ExecutableId executable = context_.session.executable();
  const std::vector<const model::Run*> runs = context_.session.snapshot()->catalog->runsOf(executable);
  if (runs.empty()) return {executable, {}, {}};
  if (following_) chosen_ = runs.back()->id.value;
  if (chosen_ == RunToolbar::kAllCalls) return {executable, runs.front()->id, runs.back()->id};
  if (chosen_ == kLastCall) chosen_ = runs.back()->id.value;
  return {executable, model::RunId(chosen_), model::RunId(chosen_)};
}

bool TraceCalls::isLoaded(const analysis::TraceRequest& request) const {
  return loaded_ && request.executable == loaded_->executable && request.firstRun == loaded_->firstRun &&
         request.lastRun == loaded_->lastRun;
}

bool TraceCalls::isMore(const analysis::TraceRequest& request) const {
  return loaded_ && request.executable == loaded_->executable && chosen_ == RunToolbar::kAllCalls &&
         request.firstRun == loaded_->firstRun;
}

bool TraceCalls::shows(model::RunId call) const {
  return loaded_ && call >= loaded_->firstRun && call <= loaded_->lastRun;
}

std::optional<model::RunId> TraceCalls::beside(int direction) const {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (!loaded_ || chosen_ == RunToolbar::kAllCalls || snapshot == nullptr) return std::nullopt;
  return neighbourCall(snapshot->catalog->runsOf(context_.session.executable()), loaded_->firstRun,
                       direction);
}

}  // namespace pipescope::pages

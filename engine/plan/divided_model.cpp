#include "engine/plan/divided_model.h"

#include <fmt/format.h>

#include "engine/compiler/model_compiler.h"
#include "engine/plan/stage_split.h"

namespace pipescope::plan {
namespace {

/// splitIntoStages, which is found again for the same request with other numbers of micro-batches.
base::Result<SplitRequest> splitOnce(const compile::ModelRequest& request, const Compile& compile,
                                     SharedStages* known) {
  const bool again = compile::recomputes(request, request.layout.splitInto);
  if (known == nullptr || request.origin.empty() || request.layout.splitInto == 1)
    return splitIntoStages(request, again, compile);
  const std::string key = fmt::format("{};{};{}", microBatchesOfSplit(request), again, request.origin);
  if (const std::shared_ptr<const FoundSplit> found = known->split(key))
    return splitAgain(request, again, *found);
  base::Result<SplitRequest> split = splitIntoStages(request, again, compile);
  if (split.ok()) known->addSplit(key, split->found);
  return split;
}

}  // namespace

std::shared_ptr<const FoundSplit> SharedStages::split(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const FoundSplit> known = splits_.find(key);
  if (known != nullptr) ++foundSplits_;
  return known;
}

void SharedStages::addSplit(const std::string& key, FoundSplit split) {
  const std::lock_guard lock(mutex_);
  splits_.add(key, std::make_shared<const FoundSplit>(std::move(split)));
}

std::shared_ptr<const FoundSplit> SharedStages::lastSplit() {
  const std::lock_guard lock(mutex_);
  return last_;
}

void SharedStages::setLastSplit(std::shared_ptr<const FoundSplit> split) {
  const std::lock_guard lock(mutex_);
  last_ = std::move(split);
}

base::Result<compile::Compilation> compileDivided(const compile::ModelRequest& request,
                                                  base::Executor& executor, SharedStages* known) {
  if (request.layout.cuts.empty() && !request.layout.cutDevices.empty()) {
    return base::badInput(
        "execution.cut_devices belongs to execution.cuts, which makes no stages here: name the "
        "cuts, or give [[stages]] their devices.");
  }
  if (known != nullptr) known->setLastSplit(nullptr);
  if (!request.layout.cuts.empty()) {
    PIPESCOPE_ASSIGN(const compile::ModelRequest split, splitAtCuts(request));
    return compile::compileModel(split, executor, known);
  }
  if (request.layout.splitInto == 0) return compile::compileModel(request, executor, known);
  // The search compiles several splits, and then the best of them with all executables.
  // For one stage there is nothing to search, and what is remembered would be as large as the model.
  SharedStages own;
  SharedStages* const all = known != nullptr || request.layout.splitInto == 1 ? known : &own;
  const Compile compile = [&](const compile::ModelRequest& plain) {
    return compile::compileModel(plain, executor, all);
  };
  if (all != nullptr) all->searches(request.layout.splitInto > 1);
  PIPESCOPE_ASSIGN(SplitRequest split, splitOnce(request, compile, all));
  if (all != nullptr && split.found.shortened) all->searches(false);
  PIPESCOPE_ASSIGN(compile::Compilation compiled, compile::compileModel(split.request, executor, all));
  if (all != nullptr) all->searches(false);
  const std::vector<std::string>& notices = split.found.notices;
  compiled.notices.insert(compiled.notices.begin(), notices.begin(), notices.end());
  if (known != nullptr && request.layout.splitInto > 1)
    known->setLastSplit(std::make_shared<const FoundSplit>(std::move(split.found)));
  return compiled;
}

}  // namespace pipescope::plan

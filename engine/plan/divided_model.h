#pragma once
// Compiles a model whose stages are searched first: execution.stages asks for so many, execution.cuts names
// the operators with which they begin.
#include "engine/compiler/compilation.h"
#include "engine/compiler/lowered_stages.h"
#include "engine/compiler/model_request.h"
#include "engine/plan/stage_split.h"

namespace pipescope::plan {

/// Results that compilations of one model share: what devices made of stages, and how the model was divided.
/// Any thread may call it.
class SharedStages : public compile::LoweredStages {
 public:
  enum class Remembers {
    all,
    splits,  ///< lowered stages only as long as a split is searched
  };
  explicit SharedStages(Remembers remembers = Remembers::all) : remembers_(remembers) { searches(false); }

  /// Null: the split of this key has not been found yet.
  std::shared_ptr<const FoundSplit> split(const std::string& key);
  void addSplit(const std::string& key, FoundSplit split);
  /// The split of the model that compileDivided compiled last. Null: it was not searched.
  std::shared_ptr<const FoundSplit> lastSplit();
  void setLastSplit(std::shared_ptr<const FoundSplit> split);
  /// Splits that were found again.
  std::int64_t foundSplits() const { return foundSplits_; }
  /// A search for a split begins or ends.
  void searches(bool begins) { rememberStages(begins || remembers_ == Remembers::all); }

 private:
  Remembers remembers_;
  std::mutex mutex_;
  compile::ValuesByText<FoundSplit> splits_;
  std::shared_ptr<const FoundSplit> last_;
  std::int64_t foundSplits_ = 0;
};

/// Divides the model into the stages that its request asks for, then compiles it. A request that states its
/// stages is compiled as it is. The stages are those that are estimated fastest (splitIntoStages); where they
/// do not fit into the devices and others may, planModel searches the fastest ones that fit. If it finds
/// none, the first ones stay. The compilation begins its notices with those of the search. Errors: those of
/// splitIntoStages, splitAtCuts and compileModel.
base::Result<compile::Compilation> compileDivided(const compile::ModelRequest& request,
                                                  base::Executor& executor, SharedStages* known = nullptr);

}  // namespace pipescope::plan

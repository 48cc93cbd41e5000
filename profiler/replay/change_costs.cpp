// Costs of a stage: its passes per micro-batch, and its update.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "profiler/base/number_text.h"
#include "profiler/replay/change.h"

namespace pipescope::replay {
namespace {

using model::Pass;
using Takes = std::function<bool(Pass)>;

/// The lists of pieces of a stage that may hold the pass.
std::vector<Pieces*> listsOf(StageCosts& stage, bool update) {
  std::vector<Pieces*> lists;
  if (update) {
    for (Pieces& pieces : stage.updates) lists.push_back(&pieces);
    return lists;
  }
  for (StageWork& work : stage.works)
    for (Pieces* pieces : {&work.forward, &work.backward, &work.weight}) lists.push_back(pieces);
  return lists;
}

/// Mean ticks of the pass: per micro-batch, or of an update.
double meanTicks(const StageCosts& stage, bool update, const Takes& takes) {
  double sum = 0, count = 0;
  const auto add = [&](const Pieces& pieces) {
    for (const Piece& piece : pieces)
      if (takes(piece.pass)) sum += static_cast<double>(piece.ticks.count);
  };
  if (update) {
    for (const Pieces& pieces : stage.updates) add(pieces);
    count = static_cast<double>(stage.updates.size());
  } else {
    for (const int index : stage.workOf) {
      const StageWork& work = stage.works[static_cast<std::size_t>(index)];
      for (const Pieces* pieces : {&work.forward, &work.backward, &work.weight}) add(*pieces);
    }
    count = static_cast<double>(stage.workOf.size());
  }
  return count > 0 ? sum / count : 0;
}

ChangeKind costKind(const char* pass, const char* words, const char* doc, bool update, Takes takes) {
  const auto apply = [=](const ChangeContext&, Changed& changed, const std::string& name,
                         const std::string& value) -> base::Status {
    Recording& recording = changed.recording;
    PIPESCOPE_ASSIGN(const int stage, stageNamed(recording, name));
    const std::string key = fmt::format("stages.{}.{}", stage, pass);
    const auto s = static_cast<std::size_t>(stage);
    const double unit = ticksPerUnit(recording);
    const double before = meanTicks(recording.replicas.front().stages[s], update, takes) / unit;
    PIPESCOPE_ASSIGN(const double after, changedNumber(key, value, before));
    if (before <= 0) {
      if (after <= 0) return {};
      return base::badInput(
          fmt::format("The recording holds no {} of stage {}, so its cost cannot be changed.", pass, stage));
    }
    for (ReplicaCosts& replica : recording.replicas)
      for (Pieces* pieces : listsOf(replica.stages[s], update)) scale(*pieces, after / before, takes);
    return {};
  };
  return {fmt::format("stages.N.{}", pass), words, doc, apply};
}

/// Numbers that are separated by commas or blanks; none: there is something else, or one that is not
/// positive.
std::optional<std::vector<double>> positiveNumbers(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  std::vector<double> numbers;
  for (std::string word; words >> word;) {
    const std::optional<double> number = base::numberOf(word);
    if (!number || !(*number > 0) || *number > 1e3) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

/// Scales the compute of each micro-batch from its recorded factor to the wanted one.
base::Status changeMicroBatchCosts(const ChangeContext& context, Changed& changed, const std::string&,
                                   const std::string& value) {
  const auto wanted = positiveNumbers(value);
  if (!wanted)
    return base::badInput(fmt::format(
        "micro_batch_costs wants factors that are separated by commas (1,0.5,2), but got \"{}\".", value));
  Recording& recording = changed.recording;
  const std::string property =
      context.catalog.property(fmt::format("replay.{}.micro_batch_costs", recording.executable.id.value));
  const auto recorded = positiveNumbers(property).value_or(std::vector<double>{1});
  for (ReplicaCosts& replica : recording.replicas) {
    for (StageCosts& stage : replica.stages) {
      std::vector<StageWork> works;
      for (std::size_t i = 0; i < stage.workOf.size(); ++i) {
        const std::size_t microBatch = i % static_cast<std::size_t>(recording.recordedMicroBatches);
        StageWork work = stage.works[static_cast<std::size_t>(stage.workOf[i])];
        const double factor = (*wanted)[microBatch % wanted->size()] / recorded[microBatch % recorded.size()];
        for (Pieces* pieces : {&work.forward, &work.backward, &work.weight})
          scale(*pieces, factor, model::isComputePass);
        stage.workOf[i] = static_cast<int>(works.size());
        works.push_back(std::move(work));
      }
      stage.works = std::move(works);
    }
  }
  return {};
}

}  // namespace

std::vector<ChangeKind> costChanges() {
  const auto only = [](Pass wanted) { return [wanted](Pass pass) { return pass == wanted; }; };
  return {
      costKind("forward", "forward pass", "forward pass of stage N per micro-batch", false,
               only(Pass::forward)),
      costKind("recompute", "recomputation", "what stage N recomputes per micro-batch", false,
               only(Pass::recompute)),
      costKind("backward", "backward pass",
               "backward pass of stage N per micro-batch, with its weight gradients", false,
               [](Pass pass) { return pass == Pass::backward || pass == Pass::weightGradient; }),
      costKind("update", "weight update", "weight update of stage N, once per iteration", true,
               only(Pass::update)),
      {"micro_batch_costs", "compute of single micro-batches",
       "factors of the compute of single micro-batches, which repeat, such as 1,0.5,2",
       changeMicroBatchCosts},
  };
}

}  // namespace pipescope::replay

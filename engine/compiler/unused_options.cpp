#include "engine/compiler/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/compiler/stage_layout.h"

namespace pipescope::compile {
namespace {

bool usesPass(const devices::System& system, const std::string& name) {
  if (name == "outline") return system.sharesCode();
  if (name == "schedule") return system.ordersForMemory();
  if (name == "join_convolutions") return system.runsSideBySide();
  if (name == "in_place" || name == "fuse_elementwise") return system.takesProposals();
  return true;
}

bool hasOffChip(const Compilation& compilation, TensorUse use) {
  for (const CompiledExecutable& executable : compilation.executables) {
    for (const StageIr& stage : executable.ir.stages) {
      for (const IrTensor& tensor : stage.tensors)
        if (tensor.remote && tensor.use == use) return true;
    }
  }
  return false;
}

/// True if an executable has several places of several replicas, whose chips can lie one way or the other.
bool hasTwoAxes(const Compilation& compilation) {
  return std::ranges::any_of(compilation.executables, [](const CompiledExecutable& executable) {
    std::set<int> places;
    for (const StageIr& stage : executable.ir.stages) places.insert(stage.place);
    return executable.facts.replicas > 1 && places.size() > 1;
  });
}

/// Settings of the ranks of a place, where there are no such ranks.
void noteRanks(const ModelRequest& request, const Compilation& compilation,
               std::vector<std::string>& notices) {
  const RankRequest& ranks = request.ranks;
  const auto note = [&](bool given, const char* key, const char* why) {
    if (given) notices.push_back(fmt::format("execution.{} has no effect, because {}.", key, why));
  };
  note(ranks.context == 1 && !ranks.paired, "context_layout", "execution.context_parallel is 1");
  note(ranks.context == 1 && (ranks.exchangesHeads || ranks.ring), "context_exchange",
       "execution.context_parallel is 1");
  note(ranks.expert == 1 && (ranks.expertLoad.zipf != 0 || !ranks.expertLoad.weights.empty()), "expert_load",
       "execution.expert_parallel is 1");
  note(ranks.placesOutermost && !hasTwoAxes(compilation), "axis_order",
       "there are not both several places and several replicas");
}

}  // namespace

std::vector<std::string> unusedOptions(const ModelRequest& request, const Compilation& compilation) {
  std::vector<std::string> notices, passes;
  for (const std::string& name : request.passesOff)
    if (!usesPass(*compilation.system, name)) passes.push_back("compile." + name);
  if (!passes.empty())
    notices.push_back(fmt::format("{} {} no effect on system {}, whose framework decides this by itself.",
                                  fmt::join(passes, " and "), passes.size() == 1 ? "has" : "have",
                                  compilation.system->name()));
  noteRanks(request, compilation, notices);
  if (isPhased(request.layout.strategy)) return notices;  // it places tensors by itself
  const TensorLocations& where = request.locations;
  const auto note = [&](const TensorLocation& place, TensorUse use, const char* key, const char* what) {
    if (place.offChip && !hasOffChip(compilation, use))
      notices.push_back(
          fmt::format("execution.{} has no effect: there are no {} to keep off the chip.", key, what));
  };
  note(where.weights, TensorUse::weight, "offload_weights", "large weights");
  note(where.optimizerState, TensorUse::optimizerState, "offload_optimizer", "large states of the optimizer");
  note(where.activations, TensorUse::stash, "offload_activations",
       "results that wait for their backward pass");
  note(where.accumulators, TensorUse::accumulator, "offload_accumulators", "large sums of gradients");
  return notices;
}

}  // namespace pipescope::compile

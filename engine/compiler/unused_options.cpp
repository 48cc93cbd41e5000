#include "engine/compiler/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace

std::vector<std::string> unusedOptions(const ModelRequest& request, const Compilation& compilation) {
  std::vector<std::string> notices, passes;
  for (const std::string& name : request.passesOff)
    if (!usesPass(*compilation.system, name)) passes.push_back("compile." + name);
  if (!passes.empty())
    notices.push_back(fmt::format("{} {} no effect on system {}, whose framework decides this by itself.",
                                  fmt::join(passes, " and "), passes.size() == 1 ? "has" : "have",
                                  compilation.system->name()));
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

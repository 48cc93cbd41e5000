#include "engine/compile/ir.h"

#include <algorithm>

namespace pipescope::compile {

std::string toString(TensorUse use) {
  static constexpr const char* names[] = {"weight",   "constant",       "accumulator", "optimizer_state",
                                          "cache",    "stash",          "input",       "activation",
                                          "gradient", "gathered_weight"};
  return names[static_cast<std::size_t>(use)];
}

namespace {

/// Bytes that the collectives over all replicas send round their rings. An all-reduce goes round twice: it is
/// a reduce-scatter and an all-gather.
std::int64_t ringBytesOf(const StageIr& stage) {
  std::int64_t bytes = 0;
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* collective = std::get_if<ops::Collective>(&work.item);
        if (collective == nullptr || collective->group != 0 || collective->axis != model::MeshAxis::data)
          continue;
        const std::int64_t rounds = collective->kind == ops::Collective::Kind::allReduce ? 2 : 1;
        bytes += rounds * work.repeat * collective->elements * graph::sizeOf(collective->type);
      }
    }
  }
  return bytes;
}

}  // namespace

void noteRingBytes(ExecutableIr& ir) {
  Mesh& mesh = ir.mesh;
  if (!mesh.atOnce || mesh.places == 1) return;
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(mesh.places), 0);
  for (const StageIr& stage : ir.stages) bytes[static_cast<std::size_t>(stage.place)] += ringBytesOf(stage);
  const bool equal = std::ranges::adjacent_find(bytes, std::ranges::not_equal_to()) == bytes.end();
  mesh.ringBytes = equal ? std::vector<std::int64_t>() : bytes;
  for (StageIr& stage : ir.stages) stage.mesh = mesh;
}

}  // namespace pipescope::compile

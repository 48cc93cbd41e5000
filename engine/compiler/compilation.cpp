#include "engine/compiler/compilation.h"

#include <algorithm>
#include <vector>

#include "engine/emulate/record_memory.h"

namespace pipescope::compile {

std::int64_t tokensPerSample(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != "Gather" || node.inputs.size() < 2) continue;
    const graph::TensorId index = node.inputs[1];
    const graph::Shape& shape = graph.tensor(index).type.shape;
    if (std::ranges::find(graph.inputs, index) != graph.inputs.end() && shape.size() == 2) return shape[1];
  }
  return 0;
}

int Compilation::devicesWithStages() const {
  std::vector<bool> used;
  for (const CompiledExecutable& executable : executables) {
    for (const StageIr& stage : executable.ir.stages) {
      const Mesh& mesh = executable.ir.mesh;
      for (int rank = 0; rank < mesh.width; ++rank)
        for (const int chip : mesh.group(mesh.chip(0, stage.place, rank), {})) {
          if (used.size() <= static_cast<std::size_t>(chip)) used.resize(static_cast<std::size_t>(chip) + 1);
          used[static_cast<std::size_t>(chip)] = true;
        }
    }
  }
  return static_cast<int>(std::ranges::count(used, true));
}

std::vector<std::string> Compilation::overflow() const {
  std::vector<std::string> sentences;
  for (const CompiledExecutable& executable : executables) {
    const std::string host =
        executable.facts.host.memoryOverflow(executable.ir.mesh.replicas, executable.ir.mesh.width,
                                             emulate::streamedBytes(executable.ir, executable.facts));
    if (!host.empty()) sentences.push_back(host);
    for (const devices::LoweredDevice& device : executable.lowered) {
      for (const devices::LoweredMemory& memory : device.memory) {
        sentences.insert(sentences.end(), memory.overflow.begin(), memory.overflow.end());
      }
    }
  }
  return sentences;
}

}  // namespace pipescope::compile

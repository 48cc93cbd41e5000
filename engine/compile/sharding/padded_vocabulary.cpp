#include "engine/compile/sharding/padded_vocabulary.h"

#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {
namespace {

class PadPass : public GraphRewriter {
 public:
  PadPass(const graph::Graph& source, const std::map<std::int64_t, std::int64_t>& sizes,
          const ops::OperatorRegistry& registry)
      : GraphRewriter(source, registry), sizes_(sizes) {}

 protected:
  base::Result<graph::TensorId> copyRoot(const graph::Tensor& tensor) override {
    if (tensor.role != graph::TensorRole::parameter) return GraphRewriter::copyRoot(tensor);
    graph::TensorType type = tensor.type;
    for (std::int64_t& extent : type.shape)
      if (const auto size = sizes_.find(extent); size != sizes_.end()) extent = size->second;
    return type == tensor.type ? GraphRewriter::copyRoot(tensor)
                               : result_.addParameter(tensor.name, type, {});
  }

 private:
  const std::map<std::int64_t, std::int64_t>& sizes_;
};

}  // namespace

base::Result<PaddedVocabulary> padVocabulary(const graph::Graph& forward, std::int64_t ranks,
                                             std::int64_t leastRows, const ops::OperatorRegistry& registry) {
  PaddedVocabulary padded;
  for (const graph::Node& node : forward.nodes()) {
    if (node.op != "Gather" || graph::intAttribute(node, "axis", 0) != 0) continue;
    const graph::Tensor& table = forward.tensor(node.inputs[0]);
    if (table.role != graph::TensorRole::parameter || table.type.shape.empty()) continue;
    const std::int64_t rows = table.type.shape.front(), step = 128 * ranks;
    if (rows >= leastRows && rows % ranks != 0) padded.sizes[rows] = (rows + step - 1) / step * step;
  }
  if (!padded.sizes.empty()) {
    auto graph = PadPass(forward, padded.sizes, registry).run();
    if (graph.ok()) {
      padded.graph = std::move(*graph);
      return padded;
    }
    // The model states the size of its vocabulary in other places, too.
    padded.sizes.clear();
  }
  padded.graph = forward;
  return padded;
}

}  // namespace pipescope::compile

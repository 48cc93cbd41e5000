#include "engine/compile/sharding/gathered_again.h"

#include <map>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::compile {
namespace {

using graph::Node;
using graph::TensorId;

class BackwardGathers : public GraphRewriter {
 public:
  using GraphRewriter::GraphRewriter;

 protected:
  base::Status copyNode(const Node& node) override {
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) {
      const Node* gather = node.pass == model::Pass::backward ? gatherOf(input) : nullptr;
      if (gather == nullptr) {
        inputs.push_back(of(input));
        continue;
      }
      const auto [again, isNew] = again_.try_emplace(input);
      if (isNew) {
        Node backward = *gather;
        backward.pass = model::Pass::backward;
        PIPESCOPE_ASSIGN(again->second,
                         add(backward, "again", "RankGather", {of(gather->inputs[0])}, gather->attributes));
      }
      inputs.push_back(again->second);
    }
    return appendCopy(node, std::move(inputs));
  }

 private:
  /// The gather of a forward pass that made a tensor; null: something else did.
  const Node* gatherOf(TensorId id) const {
    if (!id.valid() || !source_.tensor(id).producer.valid()) return nullptr;
    const Node& maker = source_.node(source_.tensor(id).producer);
    const bool gathers = maker.op == "RankGather" && maker.pass == model::Pass::forward &&
                         ops::meshAxisOf(maker) == model::MeshAxis::tensor;
    return gathers ? &maker : nullptr;
  }

  std::map<TensorId, TensorId> again_;
};

}  // namespace

base::Result<graph::Graph> gatherAgain(const graph::Graph& trained, const ops::OperatorRegistry& registry) {
  return BackwardGathers(trained, registry).run();
}

}  // namespace pipescope::compile

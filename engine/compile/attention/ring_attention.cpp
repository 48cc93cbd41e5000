#include "engine/compile/attention/ring_attention.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::Node;
using graph::TensorId;

// Inputs of an attention: queries, keys, values, then what is done to the scores. Those of its gradient have
// dy, y and statistics before them.
constexpr std::size_t kGradientQueries = 3, kScoreInputs = 3;

bool isRing(const Node& node) {
  return node.op.ends_with("FusedAttention") && node.attributes.contains(ops::kRanks);
}

class RingExpander : public GraphRewriter {
 public:
  using GraphRewriter::GraphRewriter;

 protected:
  Status copyNode(const Node& node) override {
    if (!isRing(node)) return GraphRewriter::copyNode(node);
    return node.op == "FusedAttention" ? forward(node) : backward(node);
  }

 private:
  using Pair = std::array<TensorId, 2>;

  /// Keys that a rank computes with in each step.
  static std::vector<std::int64_t> keysOf(const Node& node) {
    return graph::intsAttribute(node, "keys_seen",
                                std::vector<std::int64_t>(static_cast<std::size_t>(ops::ranksOf(node)), 0));
  }

  static graph::Attributes ofStep(const Node& node, std::int64_t keys, bool merges) {
    graph::Attributes attributes = node.attributes;
    attributes.erase(ops::kRanks);
    attributes.erase(ops::kMeshAxis);
    attributes["keys_seen"] = std::vector<std::int64_t>{keys};
    if (merges) attributes["merges"] = std::int64_t{1};
    return attributes;
  }

  Result<std::vector<TensorId>> addStep(const Node& node, const std::string& suffix, const std::string& op,
                                        std::vector<TensorId> inputs, graph::Attributes attributes,
                                        std::size_t outputs, graph::TensorRole role) {
    Node step;
    step.op = op;
    step.name = node.name + "/" + suffix;
    step.block = node.block;
    step.pass = node.pass;
    step.inputs = std::move(inputs);
    step.attributes = std::move(attributes);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(step.name + "/out" + std::to_string(i));
    return ops::appendNode(result_, std::move(step), names, role, registry_);
  }

  /// `back`: to the rank before, instead of the next one.
  Result<Pair> send(const Node& node, const std::string& suffix, const Pair& tensors, graph::TensorRole role,
                    bool back) {
    graph::Attributes attributes{{ops::kRanks, ops::ranksOf(node)},
                                 {ops::kMeshAxis, model::toString(ops::meshAxisOf(node))}};
    if (back) attributes["back"] = std::int64_t{1};
    PIPESCOPE_ASSIGN(
        const std::vector<TensorId> received,
        addStep(node, suffix, "RankRing", {tensors[0], tensors[1]}, std::move(attributes), 2, role));
    return Pair{received[0], received[1]};
  }

  /// Adds the inputs behind queries, keys and values, which each step reads.
  void addScoreInputs(const Node& node, std::size_t queries, std::vector<TensorId>& inputs) const {
    for (std::size_t i = queries + kScoreInputs; i < node.inputs.size(); ++i)
      inputs.push_back(of(node.inputs[i]));
  }

  Status forward(const Node& node) {
    using enum graph::TensorRole;
    const std::vector<std::int64_t> keys = keysOf(node);
    Pair held{of(node.inputs[1]), of(node.inputs[2])};
    std::vector<TensorId> result;
    for (std::size_t step = 0; step < keys.size(); ++step) {
      std::vector<TensorId> inputs{of(node.inputs[0]), held[0], held[1]};
      Pair next = held;
      if (step + 1 < keys.size()) {
        PIPESCOPE_ASSIGN(next, send(node, "send" + std::to_string(step), held, activation, false));
      }
      addScoreInputs(node, 0, inputs);
      inputs.insert(inputs.end(), result.begin(), result.end());
      PIPESCOPE_ASSIGN(result, addStep(node, "step" + std::to_string(step), node.op, std::move(inputs),
                                       ofStep(node, keys[step], step > 0), 2, activation));
      if (step + 1 == keys.size()) last_[node.outputs[1]] = held;
      held = next;
    }
    became(node.outputs[0], result[0]);
    became(node.outputs[1], result[1]);
    return {};
  }

  Status backward(const Node& node) {
    using enum graph::TensorRole;
    const std::vector<std::int64_t> keys = keysOf(node);
    Pair held = last_.at(node.inputs[2]);
    std::vector<TensorId> sums;  // gradients of queries, keys and values
    for (std::size_t step = 0; step < keys.size(); ++step) {
      const std::string number = std::to_string(step);
      std::vector<TensorId> inputs{of(node.inputs[0]),
                                   of(node.inputs[1]),
                                   of(node.inputs[2]),
                                   of(node.inputs[kGradientQueries]),
                                   held[0],
                                   held[1]};
      const bool goesOn = step + 1 < keys.size();
      if (goesOn) {
        PIPESCOPE_ASSIGN(held, send(node, "send" + number, held, gradient, true));
      }
      addScoreInputs(node, kGradientQueries, inputs);
      inputs.insert(inputs.end(), sums.begin(), sums.end());
      PIPESCOPE_ASSIGN(sums, addStep(node, "step" + number, node.op, std::move(inputs),
                                     ofStep(node, keys[keys.size() - 1 - step], step > 0), 3, gradient));
      if (!goesOn) break;
      PIPESCOPE_ASSIGN(const Pair received,
                       send(node, "send_gradients" + number, {sums[1], sums[2]}, gradient, true));
      sums = {sums[0], received[0], received[1]};
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (node.outputs[i].valid()) became(node.outputs[i], sums[i]);
    return {};
  }

  std::map<TensorId, Pair> last_;  ///< keys and values of the last step, by the statistics of the attention
};

}  // namespace

Result<graph::Graph> expandRings(graph::Graph trained, const ops::OperatorRegistry& registry) {
  if (std::ranges::none_of(trained.nodes(), isRing)) return trained;
  return RingExpander(trained, registry).run();
}

}  // namespace pipescope::compile

#pragma once
// Copies a graph node by node, with changes: what passes over whole graphs share.
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

class GraphRewriter {
 public:
  GraphRewriter(const graph::Graph& source, const ops::OperatorRegistry& registry)
      : source_(source), registry_(registry) {}
  virtual ~GraphRewriter() = default;

  /// The copy; its types are inferred anew.
  base::Result<graph::Graph> run();

 protected:
  /// Adds the copy of a tensor that no node makes.
  virtual base::Result<graph::TensorId> copyRoot(const graph::Tensor& tensor);
  /// Adds the copy of a node, or what takes its place, and says with became() what its outputs are.
  virtual base::Status copyNode(const graph::Node& node);
  /// After all nodes: loss, outputs and the rest are taken over by the caller.
  virtual base::Status finish() { return {}; }

  graph::TensorId of(graph::TensorId old) const { return old.valid() ? map_.at(old) : old; }
  void became(graph::TensorId old, graph::TensorId copy) { map_[old] = copy; }
  /// A node with the given inputs; outputs that `node` leaves out stay out.
  base::Status appendCopy(graph::Node node, std::vector<graph::TensorId> inputs);
  /// A node of one output, "<of>/<suffix>", in the block and pass of `of`.
  base::Result<graph::TensorId> add(const graph::Node& of, const std::string& suffix, const std::string& op,
                                    std::vector<graph::TensorId> inputs, graph::Attributes attributes);

  const graph::Graph& source_;
  const ops::OperatorRegistry& registry_;
  graph::Graph result_;

 private:
  std::map<graph::TensorId, graph::TensorId> map_;
};

}  // namespace pipescope::compile

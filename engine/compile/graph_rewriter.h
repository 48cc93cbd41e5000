#pragma once
// Copies a graph node by node with changes. Rewrites of whole graphs derive from it.
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

  /// Returns the copy, whose types are inferred again.
  base::Result<graph::Graph> run();

 protected:
  /// Copies a tensor that no node computes.
  virtual base::Result<graph::TensorId> copyRoot(const graph::Tensor& tensor);
  /// Copies a node or adds something in its place, and tells became() which tensors its outputs are now.
  virtual base::Status copyNode(const graph::Node& node);
  /// Called after all nodes. The caller then copies the loss, the outputs and the rest.
  virtual base::Status finish() { return {}; }

  graph::TensorId of(graph::TensorId old) const { return old.valid() ? map_.at(old) : old; }
  void became(graph::TensorId old, graph::TensorId copy) { map_[old] = copy; }
  /// Adds a copy of `node` with the given inputs. Outputs that `node` leaves out are left out again.
  base::Status appendCopy(graph::Node node, std::vector<graph::TensorId> inputs);
  /// Adds a node with one output, called "<of>/<suffix>", in the block and pass of `of`.
  base::Result<graph::TensorId> add(const graph::Node& of, const std::string& suffix, const std::string& op,
                                    std::vector<graph::TensorId> inputs, graph::Attributes attributes);

  const graph::Graph& source_;
  const ops::OperatorRegistry& registry_;
  graph::Graph result_;

 private:
  std::map<graph::TensorId, graph::TensorId> map_;
};

}  // namespace pipescope::compile

#pragma once
// Assigns the nodes of a graph to blocks by their names.
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// True if the text fits the pattern: * stands for any text, ? for any one byte, everything else for itself.
bool matches(const std::string& pattern, const std::string& text);

/// One rule. A slash at the beginning of names and patterns is ignored. Exactly one of `nodes`, `prefix` and
/// `matching` must be given.
struct BlockRule {
  std::string name;                ///< name of the block; `matching` makes the blocks "name0", "name1" …
  std::vector<std::string> nodes;  ///< patterns for whole node names
  std::string prefix;  ///< a layer: the node with this name and all nodes below it ("encoder/layer.0")
  /// Pattern for names of layers. A node belongs to the layer whose path its name begins with. Each block
  /// consists of `every` layers, in the order in which they appear.
  std::string matching;
  std::int64_t every = 1;
};

/// Returns the graph with a block for every node. The first rule that fits the name of a node decides. If
/// none fits, the node joins what it reads (the last of those blocks, in the order of rules and layers). If
/// it reads only weights and inputs, it joins its first reader. Without rules all nodes are in the block
/// "model". Errors: a rule that fits no node, a rule that gives nothing or two things, no block at all for a
/// node to join.
base::Result<graph::Graph> assignBlocks(const graph::Graph& graph, const std::vector<BlockRule>& rules);

}  // namespace pipescope::onnx

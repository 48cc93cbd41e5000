#pragma once
// Which block each node of a graph belongs to, by the names of nodes.
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// True where the text is what the pattern says: * any text, ? any one byte, all else itself.
bool matches(const std::string& pattern, const std::string& text);

/// One rule. A slash at the beginning of names and patterns counts for nothing. Exactly one of `nodes`,
/// `prefix` and `matching` is given.
struct BlockRule {
  std::string name;                ///< of the block; of the blocks "name0", "name1" … with `matching`
  std::vector<std::string> nodes;  ///< patterns of whole node names
  std::string prefix;              ///< a layer: the node of that name and all below it ("encoder/layer.0")
  /// Pattern of a layer's name; a node belongs to the layer whose path it begins with. Every `every` layers,
  /// in the order in which they appear, are a block.
  std::string matching;
  std::int64_t every = 1;
};

/// The graph with the block of every node set: the first rule that its name fulfils; a node that fulfils none
/// goes with what it reads (the last of those blocks in the order of rules and layers), or, where it reads
/// weights and inputs only, with its first reader. Without rules all are of block "model". Errors: a rule
/// that no node fulfils, a rule that says nothing or two things, no node at all to take a block from.
base::Result<graph::Graph> assignBlocks(const graph::Graph& graph, const std::vector<BlockRule>& rules);

}  // namespace pipescope::onnx

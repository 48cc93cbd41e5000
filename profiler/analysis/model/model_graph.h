#pragma once
// The model as a graph: operators of the forward pass, and the tensors between them.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// A forward operator, or one that loads samples, with the cost of all its passes.
struct ModelNode {
  std::string name, kind, block;
  std::int32_t stage = -1;
  Ticks ticks;  ///< all passes of one iteration on one replica
  double flops = 0;
  Bytes memory;  ///< weights, optimizer state, stashes and code of the operator
};

struct ModelEdge {
  std::size_t from = 0, to = 0;  ///< indices of nodes
  std::string tensor, shape;
  Bytes bytes;
  Ticks ticks;  ///< ticks of the copy alone on the link between stages
};

struct ModelGraph {
  std::vector<ModelNode> nodes;  ///< sorted in the order of the program
  std::vector<ModelEdge> edges;
  /// Stages that hold the same operators as an earlier one, for a pipeline that runs from both ends, with
  /// that earlier stage. Their operators are in the graph once.
  std::map<std::int32_t, std::int32_t> mirrors;
  bool edgesKnown = false;  ///< false if the profile has operators, but no tensors between them
};

/// Reads the graph of an executable's model. Fails if the rows of the profile cannot be read.
Result<ModelGraph> modelGraph(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable);

/// A box of the drawing: an operator, or a group of operators with a common beginning of their paths.
struct GraphBox {
  std::string name, path;          ///< path: of the group, "encoder0/attention"; of an operator its name
  bool group = false;              ///< it can be opened
  bool outside = false;            ///< a neighbour of the open group
  std::int32_t stage = -1;         ///< the stage of all its operators; −1: several
  std::string kind;                ///< kind of a single operator; otherwise the number of operators
  std::vector<std::size_t> nodes;  ///< indices of its operators
  Ticks ticks;
  double flops = 0;
  Bytes memory;
};
/// All tensors between two boxes.
struct GraphLink {
  std::size_t from = 0, to = 0;
  std::int64_t tensors = 0;
  Bytes bytes;
  Ticks ticks;        ///< ticks of the copies between stages
  bool cut = false;   ///< it crosses between stages
  std::string label;  ///< shape of a single tensor, or how many they are
};
struct GraphView {
  std::vector<GraphBox> boxes;
  std::vector<GraphLink> links;
  std::size_t left = 0;  ///< boxes beyond the most that are shown
};

/// The boxes in an open group, with the neighbours that it exchanges tensors with. The root is the empty
/// path; below it are the blocks of the model, then the parts of names. Groups of several
/// stages, and those with more than half of the operators, are shown opened as long as the drawing has few
/// boxes.
GraphView graphView(const ModelGraph& graph, const std::string& open, std::size_t most);

/// The path of the group that directly contains an operator.
std::string groupOf(const ModelNode& node);

}  // namespace pipescope::analysis

#pragma once
// Builds the graph of instantiate(). Only instantiate.cpp, simplify.cpp and unroll.cpp use it.
#include <string>
#include <vector>

#include "engine/onnx/evaluate.h"
#include "engine/onnx/instantiate.h"

namespace pipescope::onnx {

/// Result of a value of the model: a tensor of the graph, a known value, or both if a node needs the known
/// value as a tensor. If it has neither, it is left out.
struct Slot {
  graph::TensorId id;
  std::shared_ptr<const TensorValue> known;
  std::string name;
  bool given() const { return id.valid() || known; }
};

/// A whole-number attribute of a node, or `fallback`.
std::int64_t intOf(const OnnxNode& node, const std::string& name, std::int64_t fallback);
/// Whole numbers or truth values as a tensor: a list, or a scalar of one number.
std::shared_ptr<const TensorValue> intsTensor(const std::vector<std::int64_t>& values, bool scalar,
                                              ElementType element = ElementType::int64);
/// True for the types of values that model.assume may give.
bool canBeAssumed(ElementType element);

class Instantiator {
 public:
  Instantiator(const Model& model, const ops::OperatorRegistry& registry, const InstantiateOptions& options);
  base::Result<Instance> run();

 private:
  /// A graph of the model during the walk, with the path of the loops and branches around it.
  struct Frame {
    const OnnxGraph& graph;
    std::string path;
    base::IdVector<ValueId, Slot> slots;
    Slot& at(ValueId id) { return slots[id]; }
  };

  base::Status addInputs(Frame& frame);
  void addWeights(Frame& frame);
  std::set<ValueId> learningWeights(const OnnxGraph& graph) const;
  base::Status addNodes(Frame& frame);
  base::Status addNode(Frame& frame, const OnnxNode& node);
  base::Status addOutputs(Frame& frame);
  /// Treatment of the mean and variance of a batch norm: weights that training updates, or fixed values of
  /// the file.
  enum class Statistics { fixed, learned };
  base::Status appendTo(Frame& frame, const OnnxNode& node, Statistics statistics);
  base::Status addStateUpdates(const OnnxNode& node, const std::vector<graph::TensorId>& inputs,
                               const std::vector<graph::TensorId>& outputs);
  base::Status addAssignment(const OnnxNode& node, graph::TensorId old, graph::TensorId result);
  /// True if the tensor is the new value of a parameter, from AssignState.
  bool isAssigned(graph::TensorId id) const;
  base::Status assume(Frame& frame, const OnnxNode& node);
  std::string adviceFor(Frame& frame, const OnnxNode& node, const std::string& message) const;
  /// Fails if an assumption has a name that nothing in the model has.
  base::Status checkNames() const;
  base::Status fillOpenExtents();
  /// Fails if nothing in the model needs an assumption.
  base::Status checkAssumptions() const;
  /// Fails if something else also reads running statistics.
  base::Status checkStatistics() const;

  // These are in simplify.cpp.
  /// Replaces a node by something simpler in inference. Returns true if it did.
  base::Result<bool> simplified(Frame& frame, const OnnxNode& node);
  bool untied(Frame& frame, const OnnxNode& node, const Slot& data);
  base::Result<bool> folded(Frame& frame, const OnnxNode& node);

  // These are in unroll.cpp.
  base::Status addIf(Frame& frame, const OnnxNode& node);
  base::Status addLoop(Frame& frame, const OnnxNode& node);
  base::Status addScan(Frame& frame, const OnnxNode& node);
  /// Walks through a body with the given values for its inputs, and returns those of its outputs.
  base::Result<std::vector<Slot>> addBody(Frame& outer, const OnnxGraph& body, const std::string& path,
                                          const std::vector<Slot>& inputs);
  /// Adds a node that is not in the file.
  base::Result<Slot> addOwn(const std::string& op, const std::string& name, std::vector<Slot> inputs,
                            graph::Attributes attributes);
  base::Result<Slot> stack(const std::string& name, std::vector<Slot> slices, std::int64_t axis);

  graph::TensorId idOf(Slot& slot);
  /// Returns a constant copy of a trained weight for an input that only holds a setting.
  graph::TensorId settingOf(graph::TensorId id);
  graph::TensorType typeOf(const Slot& slot) const;
  std::string unique(const std::string& name);

  const Model& model_;
  const ops::OperatorRegistry& registry_;
  const InstantiateOptions& options_;
  Instance instance_;
  std::set<std::string> names_, nodeNames_;
  std::map<graph::TensorId, graph::TensorId> settings_;  ///< setting of each parameter
  std::map<std::string, std::int64_t> extents_;          ///< extent of each symbol
  std::set<std::string> usedAssumptions_;
};

}  // namespace pipescope::onnx

#pragma once
// Brings nodes of older opsets up to opset 17: one table, so that operators implement opset 17 only.
// Source of the rules: ONNX's Changelog.md (the versions of each operator) and its version converter's notes.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// A node as the file has it: values by name.
struct RawNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  ///< empty: left out
  graph::Attributes attributes;
  int source = -1;  ///< index among the file's nodes, which holds the bodies; −1: added by an upgrade
};

/// What an upgrade may ask of the graph around the node, and add to it.
class UpgradeContext {
 public:
  virtual ~UpgradeContext() = default;
  /// What the file says of a value; none where it says nothing.
  virtual const ModelValue* valueOf(const std::string& name) const = 0;
  /// Adds a constant and returns its name, "<near>/<word>" made unique.
  virtual std::string addConstant(const std::string& near, const std::string& word, TensorValue value) = 0;
  /// A new name for a value.
  virtual std::string freshName(const std::string& near, const std::string& word) = 0;
};

/// The nodes of opset 17 that do what `node` does in `opset`, mostly one. Errors: opsets and corners that
/// cannot be expressed.
base::Result<std::vector<RawNode>> upgradeNode(RawNode node, std::int64_t opset, UpgradeContext& context);

/// Operators that older opsets know by a name that opset 17 does not.
bool isRenamed(const std::string& op);

}  // namespace pipescope::onnx

#pragma once
// Raises nodes of older opsets to opset 17 with one table, so that operators implement opset 17 only. Source
// of the rules: ONNX's Changelog.md (the versions of each operator) and the notes of its version converter.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

/// A node as it is in the file, with values by name.
struct RawNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;  ///< an empty name is left out
  graph::Attributes attributes;
  int source = -1;  ///< index among the nodes of the file, which hold the bodies; −1: added by an upgrade
};

/// Services for an upgrade: it may ask about the graph around the node, and add to it.
class UpgradeContext {
 public:
  virtual ~UpgradeContext() = default;
  /// Returns what the file declares about a value, or null.
  virtual const ModelValue* valueOf(const std::string& name) const = 0;
  /// Adds a constant and returns its name: "<near>/<word>", made unique.
  virtual std::string addConstant(const std::string& near, const std::string& word, TensorValue value) = 0;
  /// A new name for a value.
  virtual std::string freshName(const std::string& near, const std::string& word) = 0;
};

/// Returns the nodes of opset 17 that do what `node` does in `opset`; mostly one. Errors: opsets and special
/// cases that cannot be expressed.
base::Result<std::vector<RawNode>> upgradeNode(RawNode node, std::int64_t opset, UpgradeContext& context);

/// True for operators that older opsets know by a name that opset 17 does not have.
bool isRenamed(const std::string& op);

}  // namespace pipescope::onnx

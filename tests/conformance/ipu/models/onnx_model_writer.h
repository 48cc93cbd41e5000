#pragma once
// Writes models node by node, as exporters of ONNX do.
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace pipescope::conformance {

/// Collects the nodes of one graph. Each node has one output, which has the node's name.
class OnnxModelWriter {
 public:
  using Proto = ::onnx::TensorProto;
  using Shape = std::vector<std::int64_t>;

  explicit OnnxModelWriter(const std::string& graph);

  void addInput(const std::string& name, int type, const Shape& shape);
  void addOutput(const std::string& name, int type, const Shape& shape);
  /// Adds a node with lists of integers as attributes, and returns its name.
  std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, Shape>>& lists = {});
  /// Gives the last node an integer as an attribute.
  void setInteger(const std::string& key, std::int64_t value);
  /// Gives the last node a further output.
  void addOutputOfNode(const std::string& name);

  // Constants. Each function adds one and returns its name.
  /// Adds a float32 tensor of zeros, whose elements lie in the file of weights beside the model.
  std::string weight(const std::string& name, const Shape& shape);
  std::string number(const std::string& name, float value);
  std::string numbers(const std::string& name, const Shape& shape, const std::vector<float>& values);
  std::string integers(const std::string& name, const Shape& values);

  std::string reshape(const std::string& name, const std::string& x, const Shape& shape);

  /// Writes `model.onnx` into the folder and returns its path. All weights are zeros from one sparse file.
  std::filesystem::path write(const std::filesystem::path& folder) const;

 private:
  ::onnx::ModelProto file_;
  std::int64_t largest_ = 0;  ///< bytes of the largest weight
};

}  // namespace pipescope::conformance

#pragma once
// Makes ONNX files in memory with protobuf, for tests of the reader and of what follows it.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <functional>

#include "engine/numerics/interpreter/interpreter.h"
#include "engine/onnx/instantiate.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::onnx_test {

using Proto = ::onnx::TensorProto;
using Names = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// A graph under construction.
class GraphMaker {
 public:
  explicit GraphMaker(::onnx::GraphProto* graph) : graph_(graph) {}

  /// Extents −1 … −9 are the symbols "n1" … "n9".
  GraphMaker& input(const std::string& name, int type, const Ints& shape) {
    describe(graph_->add_input(), name, type, shape);
    return *this;
  }
  GraphMaker& output(const std::string& name, int type = Proto::FLOAT, const Ints& shape = {},
                     bool shaped = false) {
    auto* info = graph_->add_output();
    describe(info, name, type, shape);
    if (!shaped) info->mutable_type()->mutable_tensor_type()->clear_shape();
    return *this;
  }
  GraphMaker& floats(const std::string& name, const Ints& shape, const Floats& values) {
    Proto* tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(Proto::FLOAT);
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    for (const float value : values) tensor->add_float_data(value);
    return *this;
  }
  GraphMaker& ints(const std::string& name, const Ints& shape, const Ints& values) {
    Proto* tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(Proto::INT64);
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    for (const std::int64_t value : values) tensor->add_int64_data(value);
    return *this;
  }
  ::onnx::NodeProto& node(const std::string& op, const Names& inputs, const Names& outputs,
                          const std::string& name = "") {
    ::onnx::NodeProto* made = graph_->add_node();
    made->set_op_type(op);
    made->set_name(name.empty() ? outputs.empty() ? op : "make_" + outputs[0] : name);
    for (const std::string& each : inputs) made->add_input(each);
    for (const std::string& each : outputs) made->add_output(each);
    return *made;
  }
  ::onnx::GraphProto* operator->() { return graph_; }

 private:
  static void describe(::onnx::ValueInfoProto* info, const std::string& name, int type, const Ints& shape) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const std::int64_t extent : shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (extent >= 0) dim->set_dim_value(extent);
      if (extent < 0) dim->set_dim_param("n" + std::to_string(-extent));
    }
  }
  ::onnx::GraphProto* graph_;
};

inline void setInt(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}
inline void setInts(::onnx::NodeProto& node, const std::string& name, const Ints& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}
inline void setFloat(::onnx::NodeProto& node, const std::string& name, float value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}
inline GraphMaker setGraph(::onnx::NodeProto& node, const std::string& name) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  return GraphMaker(attribute->mutable_g());
}

/// A file with one graph.
inline ::onnx::ModelProto makeModel(std::int64_t opset, const std::function<void(GraphMaker&)>& fill) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  GraphMaker graph(model.mutable_graph());
  graph->set_name("test");
  fill(graph);
  return model;
}

inline base::Result<onnx::Model> read(const ::onnx::ModelProto& proto,
                                      const std::filesystem::path& folder = {}) {
  const std::string bytes = proto.SerializeAsString();
  return onnx::parseModel(std::as_bytes(std::span(bytes)), folder, "model.onnx", ops::standardOperators());
}

/// The sentence with which a file is refused, or "" if it is accepted.
inline std::string refusal(const ::onnx::ModelProto& proto, const std::filesystem::path& folder = {}) {
  const auto model = read(proto, folder);
  return model.ok() ? "" : model.error().message;
}

template <class T>
graph::TensorValue tensor(graph::ElementType element, const Ints& shape, const std::vector<T>& values) {
  graph::TensorValue value{{element, shape}, {}};
  value.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(value.bytes.data(), values.data(), value.bytes.size());
  return value;
}
inline graph::TensorValue floatTensor(const Ints& shape, const Floats& values) {
  return tensor(graph::ElementType::float32, shape, values);
}
inline graph::TensorValue intTensor(const Ints& shape, const Ints& values) {
  return tensor(graph::ElementType::int64, shape, values);
}
template <class T>
std::vector<T> valuesOf(const graph::TensorValue& value) {
  std::vector<T> values(value.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), value.bytes.data(), value.bytes.size());
  return values;
}

using Tensors = std::vector<graph::TensorValue>;

inline base::Result<Tensors> interpret(const ::onnx::ModelProto& proto, const Tensors& inputs,
                                       numerics::InterpreterOptions options = {}) {
  PIPESCOPE_ASSIGN(onnx::Model model, read(proto));
  base::SerialExecutor executor;
  numerics::Interpreter interpreter(std::make_shared<const onnx::Model>(std::move(model)),
                                    ops::standardOperators(), executor, options);
  return interpreter.run(inputs);
}

}  // namespace pipescope::onnx_test

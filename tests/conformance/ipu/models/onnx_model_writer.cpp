#include "onnx_model_writer.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <numeric>

namespace pipescope::conformance {
namespace {

using Proto = ::onnx::TensorProto;
using Shape = std::vector<std::int64_t>;

void describe(::onnx::ValueInfoProto* info, const std::string& name, int type, const Shape& shape) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  for (const std::int64_t extent : shape) tensor->mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

OnnxModelWriter::OnnxModelWriter(const std::string& graph) {
  file_.set_ir_version(8);
  file_.add_opset_import()->set_version(13);
  file_.mutable_graph()->set_name(graph);
}

void OnnxModelWriter::addInput(const std::string& name, int type, const Shape& shape) {
  describe(file_.mutable_graph()->add_input(), name, type, shape);
}

void OnnxModelWriter::addOutput(const std::string& name, int type, const Shape& shape) {
  describe(file_.mutable_graph()->add_output(), name, type, shape);
}

std::string OnnxModelWriter::node(const std::string& op, const std::string& name,
                                  const std::vector<std::string>& inputs,
                                  const std::vector<std::pair<std::string, Shape>>& lists) {
  ::onnx::NodeProto* made = file_.mutable_graph()->add_node();
  made->set_op_type(op);
  made->set_name(name);
  for (const std::string& input : inputs) made->add_input(input);
  made->add_output(name);
  for (const auto& [key, values] : lists) {
    auto* attribute = made->add_attribute();
    attribute->set_name(key);
    attribute->set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute->add_ints(value);
  }
  return name;
}

void OnnxModelWriter::setInteger(const std::string& key, std::int64_t value) {
  auto* attribute = file_.mutable_graph()->mutable_node()->rbegin()->add_attribute();
  attribute->set_name(key);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void OnnxModelWriter::addOutputOfNode(const std::string& name) {
  file_.mutable_graph()->mutable_node()->rbegin()->add_output(name);
}

std::string OnnxModelWriter::weight(const std::string& name, const Shape& shape) {
  Proto* tensor = file_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(Proto::FLOAT);
  for (const std::int64_t extent : shape) tensor->add_dims(extent);
  const std::int64_t bytes =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{4}, std::multiplies<>());
  largest_ = std::max(largest_, bytes);
  tensor->set_data_location(Proto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"location", "weights.bin"}, {"length", std::to_string(bytes)}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return name;
}

std::string OnnxModelWriter::number(const std::string& name, float value) {
  return numbers(name, {}, {value});
}

std::string OnnxModelWriter::numbers(const std::string& name, const Shape& shape,
                                     const std::vector<float>& values) {
  Proto* tensor = file_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(Proto::FLOAT);
  for (const std::int64_t extent : shape) tensor->add_dims(extent);
  for (const float value : values) tensor->add_float_data(value);
  return name;
}

std::string OnnxModelWriter::integers(const std::string& name, const Shape& values) {
  Proto* tensor = file_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(Proto::INT64);
  tensor->add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor->add_int64_data(value);
  return name;
}

std::string OnnxModelWriter::reshape(const std::string& name, const std::string& x, const Shape& shape) {
  return node("Reshape", name, {x, integers(name + "/shape", shape)});
}

std::filesystem::path OnnxModelWriter::write(const std::filesystem::path& folder) const {
  std::ofstream(folder / "weights.bin").flush();
  std::filesystem::resize_file(folder / "weights.bin", static_cast<std::uintmax_t>(largest_));
  std::ofstream stream(folder / "model.onnx", std::ios::binary);
  file_.SerializeToOstream(&stream);
  return folder / "model.onnx";
}

}  // namespace pipescope::conformance

#include "squad_bert_file.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace pipescope::conformance {
namespace {

using Proto = ::onnx::TensorProto;
using Shape = std::vector<std::int64_t>;

class SquadBertWriter {
 public:
  explicit SquadBertWriter(const SquadBert& model) : m_(model) {
    file_.set_ir_version(8);
    file_.add_opset_import()->set_version(13);
    file_.mutable_graph()->set_name("squad_bert");
  }

  ::onnx::ModelProto write() {
    const Shape samples{m_.batch, m_.sequence};
    for (const char* name : {"input_ids", "input_mask", "segment_ids"})
      describe(file_.mutable_graph()->add_input(), name, Proto::INT32, samples);
    std::string x = embeddings();
    mask_ = mask();
    for (std::int64_t layer = 0; layer < m_.layers; ++layer)
      x = encoderLayer("bert/encoder/layer_" + std::to_string(layer), x);
    answers(x);
    return std::move(file_);
  }

  std::int64_t largestWeight() const { return largest_; }

 private:
  static void describe(::onnx::ValueInfoProto* info, const std::string& name, int type, const Shape& shape) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::int64_t extent : shape) tensor->mutable_shape()->add_dim()->set_dim_value(extent);
  }

  std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, Shape>>& lists = {}) {
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
  void setInteger(const std::string& key, std::int64_t value) {
    auto* attribute = file_.mutable_graph()->mutable_node()->rbegin()->add_attribute();
    attribute->set_name(key);
    attribute->set_type(::onnx::AttributeProto::INT);
    attribute->set_i(value);
  }

  std::string weight(const std::string& name, const Shape& shape) {
    Proto* tensor = file_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(Proto::FLOAT);
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    const std::int64_t bytes =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{4}, std::multiplies<>());
    largest_ = std::max(largest_, bytes);
    tensor->set_data_location(Proto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "weights.bin"},
                                     {"length", std::to_string(bytes)}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return name;
  }
  std::string number(const std::string& name, float value) {
    Proto* tensor = file_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(Proto::FLOAT);
    tensor->add_float_data(value);
    return name;
  }
  std::string integers(const std::string& name, const Shape& values) {
    Proto* tensor = file_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(Proto::INT64);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor->add_int64_data(value);
    return name;
  }
  std::string reshape(const std::string& name, const std::string& x, const Shape& shape) {
    return node("Reshape", name, {x, integers(name + "/shape", shape)});
  }

  std::string dense(const std::string& name, const std::string& x, std::int64_t inputs,
                    std::int64_t outputs) {
    const std::string product =
        node("MatMul", name + "/MatMul", {x, weight(name + "/kernel", {inputs, outputs})});
    return node("Add", name + "/BiasAdd", {product, weight(name + "/bias", {outputs})});
  }

  std::string norm(const std::string& name, const std::string& x, std::int64_t rank) {
    const Shape last{rank - 1};
    const std::string mean = node("ReduceMean", name + "/mean", {x}, {{"axes", last}});
    const std::string centred = node("Sub", name + "/centred", {x, mean});
    const std::string squares = node("Mul", name + "/squares", {centred, centred});
    const std::string variance = node("ReduceMean", name + "/variance", {squares}, {{"axes", last}});
    const std::string sum = node("Add", name + "/add", {variance, number(name + "/epsilon", 1e-12F)});
    const std::string inverse = node("Reciprocal", name + "/Rsqrt", {node("Sqrt", name + "/sqrt", {sum})});
    const std::string factor = node("Mul", name + "/mul", {inverse, weight(name + "/gamma", {m_.hidden})});
    const std::string shift = node("Mul", name + "/mul_2", {mean, factor});
    const std::string rest = node("Sub", name + "/sub", {weight(name + "/beta", {m_.hidden}), shift});
    return node("Add", name + "/add_1", {node("Mul", name + "/mul_1", {x, factor}), rest});
  }

  std::string embeddings() {
    const std::string at = "bert/embeddings";
    const Shape rows{m_.batch, m_.sequence, m_.hidden};
    std::string words = node("Gather", at + "/GatherV2",
                             {weight(at + "/word_embeddings", {m_.vocabulary, m_.hidden}),
                              reshape(at + "/Reshape", "input_ids", {-1})});
    words = reshape(at + "/Reshape_1", words, rows);
    // The type of a token is found by a product with a matrix of zeros and ones.
    Proto* values = file_.mutable_graph()->add_initializer();
    values->set_name(at + "/one_hot/values");
    values->set_data_type(Proto::FLOAT);
    values->add_dims(2);
    for (const float value : {0.0F, 1.0F}) values->add_float_data(value);
    const std::string one = node("OneHot", at + "/one_hot",
                                 {reshape(at + "/Reshape_2", "segment_ids", {-1}),
                                  integers(at + "/one_hot/depth", {2}), at + "/one_hot/values"});
    std::string types =
        node("MatMul", at + "/MatMul", {one, weight(at + "/token_type_embeddings", {2, m_.hidden})});
    types = reshape(at + "/Reshape_3", types, rows);
    std::string x = node("Add", at + "/add", {words, types});
    std::string places =
        node("Slice", at + "/Slice",
             {weight(at + "/position_embeddings", {m_.positions, m_.hidden}),
              integers(at + "/Slice/begin", {0, 0}), integers(at + "/Slice/end", {m_.sequence, m_.hidden})});
    places = reshape(at + "/Reshape_4", places, {1, m_.sequence, m_.hidden});
    x = norm(at + "/LayerNorm", node("Add", at + "/add_1", {x, places}), 3);
    return reshape("bert/encoder/Reshape_1", x, {-1, m_.hidden});
  }

  /// 0 where a token may look, −10,000 where not: [batch, 1, sequence, sequence].
  std::string mask() {
    const std::string at = "bert/encoder";
    const std::string to =
        node("Cast", at + "/Cast", {reshape(at + "/Reshape", "input_mask", {m_.batch, 1, m_.sequence})});
    setInteger("to", Proto::FLOAT);
    Proto* ones = file_.mutable_graph()->add_initializer();
    ones->set_name(at + "/ones");
    ones->set_data_type(Proto::FLOAT);
    for (const std::int64_t extent : {m_.batch, m_.sequence, std::int64_t{1}}) ones->add_dims(extent);
    for (std::int64_t i = 0; i < m_.batch * m_.sequence; ++i) ones->add_float_data(1);
    std::string x = node("Mul", at + "/mul", {at + "/ones", to});
    x = node("Unsqueeze", at + "/ExpandDims", {x, integers(at + "/ExpandDims/axis", {1})});
    x = node("Sub", at + "/sub", {number(at + "/sub/x", 1), x});
    return node("Mul", at + "/mul_1", {x, number(at + "/mul_1/y", -10000)});
  }

  std::string split(const std::string& name, const std::string& x, const Shape& order) {
    const Shape shape{m_.batch, m_.sequence, m_.heads, m_.hidden / m_.heads};
    return node("Transpose", name + "/transpose",
                {reshape(name + "/Reshape", dense(name, x, m_.hidden, m_.hidden), shape)}, {{"perm", order}});
  }

  std::string attention(const std::string& at, const std::string& x) {
    const std::string queries = split(at + "/query", x, {0, 2, 1, 3}),
                      keys = split(at + "/key", x, {0, 2, 3, 1});
    std::string scores = node("MatMul", at + "/MatMul", {queries, keys});
    const auto depth = static_cast<float>(m_.hidden / m_.heads);
    scores = node("Mul", at + "/Mul", {scores, number(at + "/Mul/y", 1 / std::sqrt(depth))});
    const std::string shares = node("Softmax", at + "/Softmax", {node("Add", at + "/add", {scores, mask_})});
    const std::string values = split(at + "/value", x, {0, 2, 1, 3});
    const std::string context =
        node("Transpose", at + "/transpose_3", {node("MatMul", at + "/MatMul_1", {shares, values})},
             {{"perm", {0, 2, 1, 3}}});
    return reshape(at + "/Reshape_3", context, {m_.batch * m_.sequence, m_.hidden});
  }

  std::string gelu(const std::string& at, const std::string& x) {
    std::string gate;
    if (m_.oneGelu) {
      gate = node("Erf", at + "/Erf",
                  {node("Div", at + "/truediv", {x, number(at + "/root", std::sqrt(2.0F))})});
    } else {
      const std::string cube = node("Pow", at + "/Pow", {x, number(at + "/Pow/y", 3)});
      const std::string small = node("Mul", at + "/mul", {cube, number(at + "/mul/x", 0.044715F)});
      const std::string sum = node("Add", at + "/add", {x, small});
      gate = node("Tanh", at + "/Tanh",
                  {node("Mul", at + "/mul_1", {sum, number(at + "/mul_1/x", 0.7978846F)})});
    }
    gate = node("Add", at + "/add_1", {gate, number(at + "/add_1/x", 1)});
    gate = node("Mul", at + "/mul_2", {gate, number(at + "/mul_2/x", 0.5F)});
    return node("Mul", at + "/mul_3", {x, gate});
  }

  std::string encoderLayer(const std::string& at, const std::string& x) {
    std::string y =
        dense(at + "/attention/output/dense", attention(at + "/attention/self", x), m_.hidden, m_.hidden);
    y = norm(at + "/attention/output/LayerNorm", node("Add", at + "/attention/output/add", {y, x}), 2);
    std::string z = dense(at + "/intermediate/dense", y, m_.hidden, m_.feedForward);
    z = dense(at + "/output/dense", gelu(at + "/intermediate/dense", z), m_.feedForward, m_.hidden);
    return norm(at + "/output/LayerNorm", node("Add", at + "/output/add", {z, y}), 2);
  }

  /// The scores of each token as the start and as the end of the answer: two outputs.
  void answers(const std::string& x) {
    const std::string turned =
        node("Transpose", "kernel/transpose", {weight("output_weights", {2, m_.hidden})}, {{"perm", {1, 0}}});
    std::string scores =
        node("Add", "BiasAdd", {node("MatMul", "MatMul", {x, turned}), weight("output_bias", {2})});
    scores = reshape("Reshape", scores, {m_.batch, m_.sequence, 2});
    scores = node("Transpose", "transpose", {scores}, {{"perm", {2, 0, 1}}});
    node("Split", "unstack/split", {scores});
    auto* parts = &*file_.mutable_graph()->mutable_node()->rbegin();
    parts->add_output("unstack/split:1");
    for (const std::string part : {"unstack/split", "unstack/split:1"}) {
      const std::string result = node("Squeeze", part + "/Squeeze", {part, integers(part + "/axis", {0})});
      describe(file_.mutable_graph()->add_output(), result, Proto::FLOAT, {m_.batch, m_.sequence});
    }
  }

  SquadBert m_;
  ::onnx::ModelProto file_;
  std::string mask_;
  std::int64_t largest_ = 0;
};

}  // namespace

std::filesystem::path writeSquadBert(const SquadBert& model, const std::filesystem::path& folder) {
  SquadBertWriter writer(model);
  const ::onnx::ModelProto file = writer.write();
  std::ofstream(folder / "weights.bin").flush();
  std::filesystem::resize_file(folder / "weights.bin", static_cast<std::uintmax_t>(writer.largestWeight()));
  std::ofstream stream(folder / "model.onnx", std::ios::binary);
  file.SerializeToOstream(&stream);
  return folder / "model.onnx";
}

}  // namespace pipescope::conformance

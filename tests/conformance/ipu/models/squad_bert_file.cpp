#include "squad_bert_file.h"

#include <cmath>
#include <string>
#include <vector>

#include "onnx_model_writer.h"

namespace pipescope::conformance {
namespace {

class SquadBertWriter : private OnnxModelWriter {
 public:
  explicit SquadBertWriter(const SquadBert& model) : OnnxModelWriter("squad_bert"), m_(model) {}

  std::filesystem::path write(const std::filesystem::path& folder) {
    const Shape samples{m_.batch, m_.sequence};
    for (const char* name : {"input_ids", "input_mask", "segment_ids"}) addInput(name, Proto::INT32, samples);
    std::string x = embeddings();
    mask_ = mask();
    for (std::int64_t layer = 0; layer < m_.layers; ++layer)
      x = encoderLayer("bert/encoder/layer_" + std::to_string(layer), x);
    answers(x);
    return OnnxModelWriter::write(folder);
  }

 private:
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
    numbers(at + "/one_hot/values", {2}, {0, 1});
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
    numbers(at + "/ones", {m_.batch, m_.sequence, 1},
            std::vector<float>(static_cast<std::size_t>(m_.batch * m_.sequence), 1));
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
    addOutputOfNode("unstack/split:1");
    for (const std::string part : {"unstack/split", "unstack/split:1"}) {
      const std::string result = node("Squeeze", part + "/Squeeze", {part, integers(part + "/axis", {0})});
      addOutput(result, Proto::FLOAT, {m_.batch, m_.sequence});
    }
  }

  SquadBert m_;
  std::string mask_;
};

}  // namespace

std::filesystem::path writeSquadBert(const SquadBert& model, const std::filesystem::path& folder) {
  return SquadBertWriter(model).write(folder);
}

}  // namespace pipescope::conformance

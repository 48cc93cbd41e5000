// BERT (Devlin et al., NAACL 2019): an encoder with post-norm and learned positions. The heads are SQuAD
// (start and end of the answer), masked tokens, and classification of the sequence by its first token.
#include <fmt/format.h>

#include "engine/builders/attention.h"

namespace pipescope::builders {
namespace {

constexpr double kBertEpsilon = 1e-12;

class Bert {
 public:
  explicit Bert(ModelWriter& writer) : w_(writer), s_(writer.settings()) {
    const std::int64_t heads = s_.integer("heads");
    shape_ = {w_.microBatch(), s_.integer("sequence"), heads, heads, s_.integer("hidden") / heads};
  }

  void build() {
    const std::int64_t hidden = s_.integer("hidden"), heads = s_.integer("heads");
    if (hidden % heads != 0)
      return w_.fail(fmt::format("model.hidden is {}; it must divide by model.heads = {}", hidden, heads));
    if (s_.integer("sequence") > s_.integer("positions")) {
      return w_.fail(fmt::format("model.sequence is {}, but there are only model.positions = {}",
                                 s_.integer("sequence"), s_.integer("positions")));
    }
    const TensorId samples =
        w_.input("samples", {graph::ElementType::int32, {shape_.batch, shape_.positions}});
    const std::int64_t predictions = s_.integer("max_predictions");
    if (predictions > shape_.positions) {
      return w_.fail(fmt::format("model.max_predictions is {}, but model.sequence has only {} positions",
                                 predictions, shape_.positions));
    }
    if (predictions > 0)
      masked_ = w_.input("masked_positions", {graph::ElementType::int32, {shape_.batch, predictions, 1}});
    TensorId x = embeddings(samples);
    for (std::int64_t layer = 0; layer < s_.integer("layers"); ++layer) {
      const std::string name = fmt::format("encoder/layer{}", layer);
      w_.block(name);
      const ModelWriter::Scope scope(w_, name);
      x = encoderLayer(x);
    }
    w_.block("head");
    const ModelWriter::Scope scope(w_, "head");
    const std::string& head = s_.text("head");
    if (head == "squad") squad(x);
    if (head == "mlm") maskedTokens(x);
    if (head == "classification") classification(x);
  }

 private:
  std::int64_t rows() const { return shape_.batch * shape_.positions; }
  ModelWriter::Linear to(std::int64_t outputs) const { return {.outputs = outputs, .initializer = normal_}; }

  TensorId embeddings(TensorId samples) {
    w_.block("embeddings");
    const ModelWriter::Scope scope(w_, "embeddings");
    const std::int64_t hidden = s_.integer("hidden");
    tokens_ = w_.parameter("tokens/weight", {s_.integer("vocabulary"), hidden}, normal_);
    const TensorId positions = w_.parameter("positions/weight", {s_.integer("positions"), hidden}, normal_);
    TensorId x = w_.node("Gather", "tokens", {tokens_, samples}, {{"axis", std::int64_t{0}}});
    TensorId places = positions;
    if (s_.integer("sequence") != s_.integer("positions")) {
      places = w_.node(
          "Slice", "positions",
          {positions, w_.integers("positions/first", {0}),
           w_.integers("positions/end", {s_.integer("sequence")}), w_.integers("positions/axis", {0})});
    }
    x = w_.node("Add", "add_positions", {x, places});
    if (const std::int64_t types = s_.integer("token_types"); types > 0) {
      // All tokens have the first type, because samples contain no types.
      const TensorId table = w_.parameter("types/weight", {types, hidden}, normal_);
      const TensorId type =
          w_.node("Gather", "types", {table, w_.integers("types/first", {0})}, {{"axis", std::int64_t{0}}});
      x = w_.node("Add", "add_types", {x, type});
    }
    x = w_.reshape("rows", x, {rows(), hidden});
    return w_.dropout("dropout", w_.layerNorm("norm", x, kBertEpsilon), s_.real("dropout"));
  }

  double attentionDropout() const {
    return s_.real("attention_dropout") < 0 ? s_.real("dropout") : s_.real("attention_dropout");
  }

  TensorId encoderLayer(TensorId x) {
    TensorId y;
    {
      const ModelWriter::Scope scope(w_, "attention");
      y = w_.dropout("output_dropout", selfAttention(w_, x, shape_, normal_, attentionDropout()),
                     s_.real("dropout"));
      y = w_.layerNorm("norm", w_.node("Add", "add", {y, x}), kBertEpsilon);
    }
    const ModelWriter::Scope scope(w_, "feed_forward");
    TensorId z = w_.activation("activation", w_.linear("in", y, to(s_.integer("feed_forward"))),
                               s_.text("activation"));
    z = w_.dropout("dropout", w_.linear("out", z, to(s_.integer("hidden"))), s_.real("dropout"));
    return w_.layerNorm("norm", w_.node("Add", "add", {z, y}), kBertEpsilon);
  }

  void squad(TensorId x) {
    TensorId scores = w_.linear("answer", x, to(2));
    scores = w_.reshape("answer/positions", scores, {shape_.batch, shape_.positions, 2});
    w_.output(scores);
    // The positions are the classes. Start and end have one label each.
    if (w_.training()) w_.crossEntropy(scores, {shape_.batch, 2});
  }

  /// The hidden states of the positions that are scored.
  TensorId scored(TensorId x) {
    const std::int64_t hidden = s_.integer("hidden"), predictions = s_.integer("max_predictions");
    if (predictions == 0) return x;
    x = w_.reshape("positions", x, {shape_.batch, shape_.positions, hidden});
    x = w_.node("GatherND", "masked", {x, masked_}, {{"batch_dims", std::int64_t{1}}});
    return w_.reshape("masked/rows", x, {shape_.batch * predictions, hidden});
  }

  void maskedTokens(TensorId x) {
    x = scored(x);
    x = w_.activation("activation", w_.linear("transform", x, to(s_.integer("hidden"))),
                      s_.text("activation"));
    x = w_.layerNorm("norm", x, kBertEpsilon);
    if (s_.boolean("tie_embeddings")) {
      const TensorId bias = w_.parameter("tokens/bias", {s_.integer("vocabulary")}, {});
      x = w_.node("Gemm", "tokens", {x, tokens_, bias}, {{"transB", std::int64_t{1}}});
    } else {
      x = w_.linear("tokens", x, to(s_.integer("vocabulary")));
    }
    // A call returns only the loss in training, because scores for every token would take gigabytes.
    if (w_.training()) return w_.crossEntropy(x, {w_.shapeOf(x).front()});
    w_.output(x);
  }

  void classification(TensorId x) {
    x = w_.reshape("positions", x, {shape_.batch, shape_.positions, s_.integer("hidden")});
    x = w_.node("Gather", "first", {x, w_.integers("first/index", {0})}, {{"axis", std::int64_t{1}}});
    x = w_.reshape("first/rows", x, {shape_.batch, s_.integer("hidden")});
    x = w_.activation("pooler/activation", w_.linear("pooler", x, to(s_.integer("hidden"))), "tanh");
    x = w_.linear("classes", w_.dropout("dropout", x, s_.real("dropout")), to(s_.integer("classes")));
    w_.output(x);
    if (w_.training()) w_.crossEntropy(x, {shape_.batch});
  }

  const graph::Initializer normal_{graph::Initializer::Kind::normal, 0.02, {}};
  ModelWriter& w_;
  const BuilderSettings& s_;
  AttentionShape shape_;
  TensorId tokens_, masked_;
};

base::Result<graph::Graph> buildBert(const BuildContext& context) {
  if (context.settings.integer("max_predictions") > 0 && context.settings.text("head") != "mlm") {
    return base::badInput("model.max_predictions needs model.head = \"mlm\": no other head scores tokens");
  }
  if (context.settings.boolean("tie_embeddings") && context.settings.text("head") != "mlm") {
    return base::badInput("model.tie_embeddings needs model.head = \"mlm\": no other head has token scores");
  }
  ModelWriter writer(context);
  Bert(writer).build();
  return writer.finish();
}

}  // namespace

PIPESCOPE_REGISTER_BUILDER(bert) {
  registry.add({"bert",
                "BERT encoder for sequences of tokens",
                {{"layers", std::int64_t{12}, 1, 10000, {}, "Layers."},
                 {"hidden", std::int64_t{768}, 1, 1e6, {}, "Width of the hidden states."},
                 {"heads", std::int64_t{12}, 1, 1e5, {}, "Attention heads."},
                 {"feed_forward", std::int64_t{3072}, 1, 1e7, {}, "Width within the feed-forward part."},
                 {"sequence", std::int64_t{128}, 1, 1e6, {}, "Tokens of a sample."},
                 {"positions", std::int64_t{512}, 1, 1e7, {}, "Positions that have an embedding."},
                 {"vocabulary", std::int64_t{30522}, 1, 1e7, {}, "Different tokens."},
                 {"token_types", std::int64_t{2}, 0, 1e6, {}, "Token types that have an embedding."},
                 {"head",
                  std::string("squad"),
                  0,
                  0,
                  {"squad", "mlm", "classification"},
                  "What the model answers: squad, mlm or classification."},
                 {"classes", std::int64_t{2}, 1, 1e7, {}, "With head classification: classes."},
                 {"max_predictions",
                  std::int64_t{0},
                  0,
                  1e6,
                  {},
                  "With head mlm: positions of a sample that are scored, whose indices are a further input; "
                  "0: all."},
                 {"activation",
                  std::string("gelu"),
                  0,
                  0,
                  {"gelu", "relu", "silu"},
                  "Activation of the feed-forward part."},
                 {"dropout", 0.0, 0, 0.999999, {}, "Ratio of values that training drops."},
                 {"attention_dropout",
                  -1.0,
                  -1,
                  0.999999,
                  {},
                  "Ratio of attention weights that training drops; -1: as many as of other values."},
                 {"tie_embeddings",
                  false,
                  0,
                  0,
                  {},
                  "With head mlm: token scores use the token embedding's weights."}},
                buildBert});
}

}  // namespace pipescope::builders

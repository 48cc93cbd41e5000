// Decoder-only language models. They have grouped or multi-query attention (Shazeer 2019; Ainslie et al.
// 2023), rotary positions (Su et al.: RoFormer, 2021, with the halves turned as in Llama), a gated
// feed-forward layer (Shazeer: "GLU variants improve transformer", 2020), and optionally blocks whose
// attention and feed-forward layer run in parallel (GPT-J, Falcon). Training reads all positions at once.
// Inference is either the prefill of a prompt, which scores the next token, or the decoding of one token
// after `cache` earlier ones, whose keys and values are kept.
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "engine/builders/decoder_attention.h"
#include "engine/builders/experts.h"

namespace pipescope::builders {
namespace {

using graph::ElementType;

class Decoder {
 public:
  explicit Decoder(ModelWriter& writer)
      : w_(writer), s_(writer.settings()), attention_(writer), hidden_(s_.integer("hidden")) {
    parts_ = attention_.decodes() || writer.training() ? 1 : s_.integer("batch_split");
  }

  void build() {
    if (!check()) return;
    const TensorId samples =
        w_.input("samples", {ElementType::int32, {attention_.batch(), attention_.positions()}});
    const TensorId x = embeddings(samples);
    attention_.makeShared();
    if (parts_ == 1) {
      head(layers({x}).front());
    } else {
      head(joined(layers(split(x))));
    }
    for (const TensorId each : attention_.kept()) w_.output(each);
  }

 private:
  bool check() {
    if (!attention_.check()) return false;
    if (parts_ > attention_.batch()) {
      w_.fail(fmt::format(
          "model.batch_split is {}, but a micro-batch has {} samples: lower it, or give more samples", parts_,
          attention_.batch()));
    } else if (parts_ > 1 && attention_.hasHostCache()) {
      w_.fail(
          "model.batch_split is for caches on the device, but model.cache_at is host: leave one of them out");
    } else if (s_.integer("experts") > 0 && s_.boolean("feed_forward_bias")) {
      w_.fail("experts have no biases: leave model.feed_forward_bias out, or model.experts");
    } else if (s_.integer("experts") == 0 && s_.integer("shared_experts") > 0) {
      w_.fail(
          "model.shared_experts stand beside experts that are chosen, but model.experts is 0: give their "
          "number");
    } else {
      return true;
    }
    return false;
  }

  /// Hidden states of a part of the batch. What the last half of a layer adds to them is added where the next
  /// half begins.
  struct Hidden {
    TensorId states, added;
    std::string layer, name;  ///< layer and name of the addition
  };

  /// The layers of all parts of the batch. Each half of a layer is written for one part after another, so
  /// that what the ranks of a place sum for one part is on its way while they compute the next one.
  std::vector<TensorId> layers(const std::vector<TensorId>& states) {
    std::vector<Hidden> parts;
    for (const TensorId each : states) parts.push_back({each, {}, {}, {}});
    for (std::int64_t layer = 0; layer < s_.integer("layers"); ++layer) {
      const std::string name = fmt::format("decoder/layer{}", layer);
      routes_ = s_.integer("experts") > 0 && layer >= s_.integer("dense_layers");
      if (s_.boolean("parallel")) {
        eachPart(parts, name, "add", [&](TensorId x) { return bothHalves(x); });
      } else {
        eachPart(parts, name, "attention_add", [&](TensorId x) {
          return drop("attention_dropout", attention_.add(norm("attention_norm", x)));
        });
        eachPart(parts, name, "feed_forward_add", [&](TensorId x) {
          return drop("feed_forward_dropout", feedForward(norm("feed_forward_norm", x)));
        });
      }
    }
    std::vector<TensorId> results;
    forParts(parts, [&](Hidden& part) { results.push_back(sumOf(part)); });
    return results;
  }

  /// Writes a half of a layer for each part.
  template <class Half>
  void eachPart(std::vector<Hidden>& parts, const std::string& layer, const char* name, const Half& half) {
    forParts(parts, [&](Hidden& part) {
      const TensorId x = sumOf(part);
      w_.block(layer);
      const ModelWriter::Scope scope(w_, layer);
      part = {x, half(x), layer, name};
    });
  }

  TensorId sumOf(const Hidden& part) {
    if (part.name.empty()) return part.states;
    w_.block(part.layer);
    return w_.node("Add", part.layer + "/" + part.name, {part.states, part.added});
  }

  template <class Write>
  void forParts(std::vector<Hidden>& parts, const Write& write) {
    if (parts.size() == 1) return write(parts[0]);
    const std::int64_t batch = attention_.batch();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const ModelWriter::Part part(w_, i);
      attention_.setBatch(samplesOf(i, batch));
      write(parts[i]);
    }
    attention_.setBatch(batch);
  }

  /// Samples of a part; the first parts have one more if they do not divide.
  std::int64_t samplesOf(std::size_t part, std::int64_t batch) const {
    return batch / parts_ + (static_cast<std::int64_t>(part) < batch % parts_ ? 1 : 0);
  }

  std::vector<TensorId> split(TensorId x) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < static_cast<std::size_t>(parts_); ++i)
      sizes.push_back(samplesOf(i, attention_.batch()) * attention_.positions());
    const ModelWriter::Scope scope(w_, "embeddings");
    return w_.nodes("Split", "parts", {x, w_.integers("parts/sizes", sizes)}, {{"axis", std::int64_t{0}}},
                    sizes.size());
  }

  TensorId joined(std::vector<TensorId> parts) {
    return w_.node("Concat", "decoder/parts", std::move(parts), {{"axis", std::int64_t{0}}});
  }

  std::int64_t rows() const { return attention_.rows(); }
  TensorId project(const std::string& name, TensorId x, std::int64_t outputs, const char* bias) {
    return w_.linear(name, x, {outputs, s_.boolean(bias), normal_, 0});
  }
  TensorId norm(const std::string& name, TensorId x) {
    return s_.text("norm") == "rms" ? w_.rmsNorm(name, x, s_.real("norm_epsilon"))
                                    : w_.layerNorm(name, x, s_.real("norm_epsilon"));
  }
  TensorId drop(const std::string& name, TensorId x) { return w_.dropout(name, x, s_.real("dropout")); }

  TensorId embeddings(TensorId samples) {
    w_.block("embeddings");
    const ModelWriter::Scope scope(w_, "embeddings");
    tokens_ = w_.parameter("tokens/weight", {s_.integer("vocabulary"), hidden_}, normal_);
    TensorId x = w_.node("Gather", "tokens", {tokens_, samples}, {{"axis", std::int64_t{0}}});
    if (s_.text("position") == "learned") {
      const std::int64_t all = attention_.cached() + s_.integer("sequence");
      const TensorId table = w_.parameter("positions/weight", {all, hidden_}, normal_);
      const TensorId places =
          w_.node("Slice", "positions",
                  {table, w_.integers("positions/first", {attention_.cached()}),
                   w_.integers("positions/end", {attention_.cached() + attention_.positions()}),
                   w_.integers("positions/axis", {0})});
      x = w_.node("Add", "add_positions", {x, places});
    }
    return drop("dropout", w_.reshape("rows", x, {rows(), hidden_}));
  }

  TensorId feedForward(TensorId x) {
    if (!routes_) return dense("feed_forward", x, s_.integer("feed_forward"));
    const ModelWriter::Scope scope(w_, "mixture");
    const std::int64_t own = s_.integer("expert_feed_forward");
    const MixtureOfExperts spec{.experts = s_.integer("experts"),
                                .perToken = s_.integer("experts_per_token"),
                                .width = hidden_,
                                .inner = own == 0 ? s_.integer("feed_forward") : own,
                                .gated = s_.boolean("gated"),
                                .activation = s_.text("activation"),
                                .sigmoid = s_.text("router_scores") == "sigmoid",
                                .normalised = s_.boolean("router_normalised"),
                                .scale = s_.real("router_scale"),
                                .biased = s_.boolean("router_bias"),
                                .groups = s_.integer("router_groups"),
                                .groupChoices = s_.integer("router_group_choices"),
                                .capacity = s_.real("expert_capacity"),
                                .auxiliaryLoss = s_.real("router_loss"),
                                .initializer = normal_};
    const MixtureResult routed = addMixture(w_, spec, x);
    if (routed.loss.valid())
      balance_ = balance_.valid() ? w_.node("Add", "balance", {balance_, routed.loss}) : routed.loss;
    const std::int64_t shared = s_.integer("shared_experts");
    if (shared == 0) return routed.y;
    return w_.node("Add", "add_shared", {routed.y, dense("shared", x, shared * spec.inner)});
  }

  /// A feed-forward part that all tokens take.
  TensorId dense(const char* name, TensorId x, std::int64_t inner) {
    const ModelWriter::Scope scope(w_, name);
    const char* bias = "feed_forward_bias";
    TensorId y = s_.boolean("gated") ? project("gate", x, inner, bias) : project("up", x, inner, bias);
    y = w_.activation("activation", y, s_.text("activation"));
    if (s_.boolean("gated")) y = w_.node("Mul", "gated", {y, project("up", x, inner, bias)});
    return project("down", y, hidden_, bias);
  }

  /// Attention and feed-forward part of a layer in which both read the same input.
  TensorId bothHalves(TensorId x) {
    const TensorId normed = norm("attention_norm", x);
    const TensorId attended = drop("attention_dropout", attention_.add(normed));
    const TensorId other = s_.boolean("shared_norm") ? normed : norm("feed_forward_norm", x);
    const TensorId fed = drop("feed_forward_dropout", feedForward(other));
    return w_.node("Add", "add_parts", {attended, fed});
  }

  void head(TensorId x) {
    w_.block("head");
    const ModelWriter::Scope scope(w_, "head");
    if (!w_.training() && attention_.positions() > 1) {
      // Only the token after the prompt is wanted.
      x = w_.reshape("positions", x, {attention_.batch(), attention_.positions(), hidden_});
      x = w_.node("Gather", "last", {x, w_.integers("last/index", {attention_.positions() - 1})},
                  {{"axis", std::int64_t{1}}});
      x = w_.reshape("last/rows", x, {attention_.batch(), hidden_});
    }
    x = norm("norm", x);
    const std::int64_t vocabulary = s_.integer("vocabulary");
    if (s_.boolean("tie_embeddings")) {
      std::vector<TensorId> inputs{x, tokens_};
      if (s_.boolean("head_bias")) inputs.push_back(w_.parameter("tokens/bias", {vocabulary}, {}));
      x = w_.node("Gemm", "tokens", inputs, {{"transB", std::int64_t{1}}});
    } else {
      x = project("tokens", x, vocabulary, "head_bias");
    }
    // A call returns only the loss in training, because scores for every token would take gigabytes.
    if (w_.training()) return w_.crossEntropy(x, {rows()}, balance_);
    if (s_.boolean("next_token"))
      x = w_.node("ArgMax", "next_token", {x}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
    w_.output(x);
  }

  const graph::Initializer normal_{graph::Initializer::Kind::normal, 0.02, {}};
  ModelWriter& w_;
  const BuilderSettings& s_;
  DecoderAttention attention_;
  std::int64_t hidden_;
  std::int64_t parts_ = 1;  // of the batch
  bool routes_ = false;     // the present layer has experts
  TensorId tokens_;
  TensorId balance_;  // sum of the losses that balance experts
};

base::Result<graph::Graph> buildDecoder(const BuildContext& context) {
  ModelWriter writer(context);
  Decoder(writer).build();
  return writer.finish();
}

}  // namespace

PIPESCOPE_REGISTER_BUILDER(decoder) {
  registry.add(
      {"decoder",
       "decoder-only language model",
       {{"layers", std::int64_t{12}, 1, 10000, {}, "Layers."},
        {"hidden", std::int64_t{768}, 1, 1e6, {}, "Width of the hidden states."},
        {"heads", std::int64_t{12}, 1, 1e5, {}, "Attention heads."},
        {"key_heads",
         std::int64_t{0},
         0,
         1e5,
         {},
         "Heads of keys and values; 0: as many as heads; 1: multi-query attention."},
        {"head_size", std::int64_t{0}, 0, 1e6, {}, "Width of a head; 0: hidden / heads."},
        {"feed_forward", std::int64_t{3072}, 1, 1e7, {}, "Width within the feed-forward part."},
        {"latent_width",
         std::int64_t{0},
         0,
         1e6,
         {},
         "Multi-head latent attention (DeepSeek-V2 and V3): width of what keys and values are computed from, "
         "and "
         "what the cache holds. A key has head_size elements of it and rotary_size that all heads share. 0: "
         "keys and values are projections of the hidden states."},
        {"query_width",
         std::int64_t{0},
         0,
         1e6,
         {},
         "With latent_width: width of what queries are computed from; 0: of the hidden states."},
        {"value_size",
         std::int64_t{0},
         0,
         1e6,
         {},
         "With latent_width: width of a head's values; 0: head_size."},
        {"experts", std::int64_t{0}, 0, 1e5, {}, "Experts of a layer's feed-forward part; 0: it has none."},
        {"experts_per_token", std::int64_t{2}, 1, 1e5, {}, "Experts that each token chooses."},
        {"shared_experts", std::int64_t{0}, 0, 1e5, {}, "Experts that all tokens take besides."},
        {"expert_feed_forward", std::int64_t{0}, 0, 1e7, {}, "Width within an expert; 0: feed_forward."},
        {"dense_layers", std::int64_t{0}, 0, 10000, {}, "First layers, which have no experts."},
        {"expert_capacity",
         0.0,
         0,
         1e5,
         {},
         "Most tokens of an expert, divided by the mean over all experts. Later tokens are dropped. 0: none "
         "is dropped."},
        {"router_scores",
         std::string("softmax"),
         0,
         0,
         {"softmax", "sigmoid"},
         "How the router scores experts."},
        {"router_normalised", true, 0, 0, {}, "The weights of a token's experts add up to router_scale."},
        {"router_bias",
         false,
         0,
         0,
         {},
         "A bias of each expert counts in the choice, but not in the weights (DeepSeek-V3). It starts at 0, "
         "and no "
         "gradient trains it."},
        {"router_groups",
         std::int64_t{1},
         1,
         1e5,
         {},
         "Groups of experts. A token chooses among the experts of its best groups only."},
        {"router_group_choices", std::int64_t{1}, 1, 1e5, {}, "Groups that a token chooses."},
        {"router_scale", 1.0, 0, 1e6, {}, "Factor of the weights of experts."},
        {"router_loss",
         0.01,
         0,
         1e6,
         {},
         "Coefficient of the loss that balances experts: experts · Σ share of tokens · mean probability, "
         "summed over layers."},
        {"sequence", std::int64_t{128}, 1, 1e6, {}, "Tokens of a sample."},
        {"vocabulary", std::int64_t{50257}, 1, 1e7, {}, "Different tokens."},
        {"norm", std::string("layer"), 0, 0, {"layer", "rms"}, "Kind of normalization."},
        {"norm_epsilon", 1e-5, 1e-20, 1, {}, "Added to the variance."},
        {"position",
         std::string("rotary"),
         0,
         0,
         {"rotary", "learned", "none"},
         "How the model knows the positions of tokens."},
        {"head_norm",
         false,
         0,
         0,
         {},
         "RMS norm of the queries and keys of each head before they are turned, as in Qwen3; the heads share "
         "its "
         "weights."},
        {"rotary_size", std::int64_t{0}, 0, 1e6, {}, "Elements of a head that are turned; 0: all."},
        {"rotary_base", 10000.0, 1, 1e12, {}, "Base of the rotary frequencies."},
        {"activation",
         std::string("gelu"),
         0,
         0,
         {"gelu", "relu", "silu"},
         "Activation of the feed-forward part."},
        {"gated", false, 0, 0, {}, "Gated feed-forward part: activation(gate)·up."},
        {"parallel", false, 0, 0, {}, "Attention and feed-forward part of a layer read the same input."},
        {"shared_norm", true, 0, 0, {}, "With parallel: one norm for both parts."},
        {"attention_bias", false, 0, 0, {}, "Biases in the attention."},
        {"feed_forward_bias", false, 0, 0, {}, "Biases in the feed-forward part."},
        {"head_bias", false, 0, 0, {}, "Bias of the token scores."},
        {"tie_embeddings", false, 0, 0, {}, "Token scores use the token embedding's weights."},
        {"dropout", 0.0, 0, 0.999999, {}, "Ratio of values that training drops."},
        {"phase",
         std::string("prefill"),
         0,
         0,
         {"prefill", "decode"},
         "Inference: prefill of a whole prompt, or decode of one token."},
        {"cache",
         std::int64_t{0},
         0,
         1e7,
         {},
         "With phase decode: tokens before this one, whose keys and values are kept."},
        {"cache_room",
         std::int64_t{0},
         0,
         1e7,
         {},
         "Inference: tokens of a sample for whose keys and values the device keeps memory, as software that "
         "allocates a cache for the whole answer does. 0: for those that the step reads, and none with phase "
         "prefill."},
        {"batch_split",
         std::int64_t{1},
         1,
         64,
         {},
         "Inference of prompts: parts of a micro-batch that go through each layer one after another, so that "
         "the ranks of execution.tensor_parallel sum one part while they compute another one "
         "(--attn_batch_split of Optimum Habana)."},
        {"next_token",
         false,
         0,
         0,
         {},
         "Inference: the model returns the most likely next token of each sample, not the scores of all "
         "tokens. A run with phase decode, whose caches lie on the device, does so unless told otherwise."},
        {"cache_reuse",
         true,
         0,
         0,
         {},
         "With phase decode: a token's keys and values are added to the cache in place. Otherwise each token "
         "copies the cache, as a framework does that passes the cache through its graph."},
        {"cache_at",
         std::string("device"),
         0,
         0,
         {"device", "host"},
         "Where kept keys and values are: on the device, or on the host, which streams them in and out."}},
       buildDecoder});
}

}  // namespace pipescope::builders

// Vision transformer (Dosovitskiy et al., ICLR 2021) as torchvision implements it: an encoder with pre-norm
// and a class token.
#include <fmt/format.h>

#include <cmath>

#include "engine/builders/attention.h"

namespace pipescope::builders {
namespace {

constexpr double kVitEpsilon = 1e-6;
using Ints = std::vector<std::int64_t>;

class Vit {
 public:
  explicit Vit(ModelWriter& writer) : w_(writer), s_(writer.settings()), hidden_(s_.integer("hidden")) {
    const std::int64_t heads = s_.integer("heads");
    across_ = s_.integer("image_size") / s_.integer("patch_size");
    shape_ = {w_.microBatch(), across_ * across_ + 1, heads, heads, hidden_ / heads};
  }

  void build() {
    if (hidden_ % s_.integer("heads") != 0) {
      return w_.fail(fmt::format("model.hidden is {}; it must divide by model.heads = {}", hidden_,
                                 s_.integer("heads")));
    }
    if (s_.integer("image_size") % s_.integer("patch_size") != 0) {
      return w_.fail(fmt::format("model.image_size is {}; it must divide by model.patch_size = {}",
                                 s_.integer("image_size"), s_.integer("patch_size")));
    }
    TensorId x = embeddings();
    for (std::int64_t layer = 0; layer < s_.integer("layers"); ++layer) {
      const std::string name = fmt::format("encoder/layer{}", layer);
      w_.block(name);
      const ModelWriter::Scope scope(w_, name);
      x = encoderLayer(x);
    }
    head(x);
  }

 private:
  ModelWriter::Linear to(std::int64_t outputs) const { return {.outputs = outputs, .initializer = normal_}; }

  TensorId embeddings() {
    w_.block("embeddings");
    const std::int64_t edge = s_.integer("image_size"), patch = s_.integer("patch_size"),
                       channels = s_.integer("channels");
    const TensorId samples =
        w_.input("samples", {graph::ElementType::float32, {shape_.batch, channels, edge, edge}});
    const ModelWriter::Scope scope(w_, "embeddings");
    const double bound = 1 / std::sqrt(static_cast<double>(channels * patch * patch));
    const TensorId weight = w_.parameter("patches/weight", {hidden_, channels, patch, patch},
                                         {graph::Initializer::Kind::uniform, bound, {}});
    TensorId x = w_.node("Conv", "patches", {samples, weight, w_.parameter("patches/bias", {hidden_}, {})},
                         {{"kernel_shape", Ints{patch, patch}}, {"strides", Ints{patch, patch}}});
    x = w_.reshape("patches/flat", x, {shape_.batch, hidden_, across_ * across_});
    x = w_.transpose("patches/rows", x, {0, 2, 1});
    TensorId first = w_.parameter("class", {1, 1, hidden_}, {});
    if (shape_.batch > 1)
      first =
          w_.node("Expand", "class/each", {first, w_.integers("class/shape", {shape_.batch, 1, hidden_})});
    x = w_.node("Concat", "tokens", {first, x}, {{"axis", std::int64_t{1}}});
    x = w_.node("Add", "add_positions",
                {x, w_.parameter("positions", {1, shape_.positions, hidden_}, normal_)});
    x = w_.reshape("rows", x, {shape_.batch * shape_.positions, hidden_});
    return w_.dropout("dropout", x, s_.real("dropout"));
  }

  TensorId encoderLayer(TensorId x) {
    TensorId y;
    {
      const ModelWriter::Scope scope(w_, "attention");
      y = selfAttention(w_, w_.layerNorm("norm", x, kVitEpsilon), shape_, normal_, s_.real("dropout"));
      y = w_.node("Add", "add", {w_.dropout("output_dropout", y, s_.real("dropout")), x});
    }
    const ModelWriter::Scope scope(w_, "feed_forward");
    TensorId z = w_.linear("in", w_.layerNorm("norm", y, kVitEpsilon), to(s_.integer("feed_forward")));
    z = w_.linear("out", w_.activation("activation", z, s_.text("activation")), to(hidden_));
    return w_.node("Add", "add", {w_.dropout("dropout", z, s_.real("dropout")), y});
  }

  void head(TensorId x) {
    w_.block("head");
    const ModelWriter::Scope scope(w_, "head");
    // Only the class token is read, so only the class token is normalised. The numbers are the same.
    x = w_.reshape("positions", x, {shape_.batch, shape_.positions, hidden_});
    x = w_.node("Gather", "class", {x, w_.integers("class/index", {0})}, {{"axis", std::int64_t{1}}});
    x = w_.layerNorm("norm", w_.reshape("class/rows", x, {shape_.batch, hidden_}), kVitEpsilon);
    x = w_.linear("classes", x, to(s_.integer("classes")));
    w_.output(x);
    if (w_.training()) w_.crossEntropy(x, {shape_.batch});
  }

  const graph::Initializer normal_{graph::Initializer::Kind::normal, 0.02, {}};
  ModelWriter& w_;
  const BuilderSettings& s_;
  std::int64_t hidden_, across_ = 1;
  AttentionShape shape_;
};

base::Result<graph::Graph> buildVit(const BuildContext& context) {
  ModelWriter writer(context);
  Vit(writer).build();
  return writer.finish();
}

}  // namespace

PIPESCOPE_REGISTER_BUILDER(vit) {
  registry.add({"vit",
                "vision transformer for images",
                {{"layers", std::int64_t{12}, 1, 10000, {}, "Layers."},
                 {"hidden", std::int64_t{768}, 1, 1e6, {}, "Width of the hidden states."},
                 {"heads", std::int64_t{12}, 1, 1e5, {}, "Attention heads."},
                 {"feed_forward", std::int64_t{3072}, 1, 1e7, {}, "Width within the feed-forward part."},
                 {"image_size", std::int64_t{224}, 1, 16384, {}, "Edge of the square images."},
                 {"patch_size", std::int64_t{16}, 1, 16384, {}, "Edge of a patch."},
                 {"channels", std::int64_t{3}, 1, 4096, {}, "Channels of the images."},
                 {"classes", std::int64_t{1000}, 1, 1e7, {}, "Classes."},
                 {"activation",
                  std::string("gelu"),
                  0,
                  0,
                  {"gelu", "relu", "silu"},
                  "Activation of the feed-forward part."},
                 {"dropout", 0.0, 0, 0.999999, {}, "Ratio of values that training drops."}},
                buildVit});
}

}  // namespace pipescope::builders

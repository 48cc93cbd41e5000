// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1; DeepSeek-V3, 2412.19437). Keys and
// values are computed from a narrow latent vector of each token, and one rotated key is shared by all heads.
// The cache holds the latent vector and the rotated key only. A decoding step does not compute keys and
// values of earlier tokens: it moves the products with their weights to the query and to the result
// ("absorbed").
#include <fmt/format.h>

#include <cmath>

#include "engine/builders/decoder_attention.h"

namespace pipescope::builders {

bool DecoderAttention::checkLatent() {
  if (!isLatent()) {
    for (const char* key : {"query_width", "value_size"}) {
      if (s_.integer(key) == 0) continue;
      w_.fail(
          fmt::format("model.{} is for latent attention: set model.latent_width, too, or leave it out", key));
      return false;
    }
    return true;
  }
  if (rotary_ == 0) {
    w_.fail("model.latent_width needs rotary positions: leave model.position out");
  } else if (s_.integer("head_size") == 0 || s_.integer("rotary_size") == 0) {
    w_.fail(
        "model.latent_width needs model.head_size, the elements of a key without position, and "
        "model.rotary_size, those with one");
  } else if (s_.boolean("head_norm")) {
    w_.fail("model.latent_width has norms of its own: leave model.head_norm out");
  } else if (shape_.keyHeads != shape_.heads) {
    w_.fail("model.latent_width gives each head its own keys: leave model.key_heads out");
  } else if (hostCache_ || !s_.boolean("cache_reuse")) {
    w_.fail(
        "model.latent_width keeps its cache on the device and writes it in place: leave model.cache_at and "
        "model.cache_reuse out");
  } else {
    return true;
  }
  return false;
}

TensorId DecoderAttention::latent(TensorId x) {
  const TensorId query = latentQuery(x);
  const std::vector<TensorId> parts = w_.nodes(
      "Split", "latent/split",
      {project("latent", x, latentWidth_ + rotary_), w_.integers("latent/sizes", {latentWidth_, rotary_})},
      {{"axis", std::int64_t{-1}}}, 2);
  const std::int64_t b = shape_.batch, n = shape_.positions;
  TensorId vector = w_.rmsNorm("latent_norm", parts[0], s_.real("norm_epsilon"));
  TensorId turnedKey = turned("key", parts[1], 1, rotary_);
  vector = hold("latent_cache", w_.reshape("latent/tokens", vector, {b, n, latentWidth_}), 1);
  turnedKey = hold("key_cache", w_.reshape("key/tokens", turnedKey, {b, n, rotary_}), 1);
  const TensorId context =
      decode_ ? attendLatentCache(query, vector, turnedKey) : attendLatent(query, vector, turnedKey);
  return project("output", context, hidden_);
}

/// The heads of the queries: batch × positions × heads × (plain elements, then rotated ones).
TensorId DecoderAttention::latentQuery(TensorId x) {
  const std::int64_t width = s_.integer("query_width"), plain = shape_.headSize - rotary_;
  if (width > 0) {
    x = w_.rmsNorm("query_norm", project("query_down", x, width), s_.real("norm_epsilon"));
  }
  const TensorId heads = w_.reshape("query/heads", project("query", x, shape_.queries()),
                                    {shape_.batch, shape_.positions, shape_.heads, shape_.headSize});
  std::vector<TensorId> parts =
      w_.nodes("Split", "query/parts", {heads, w_.integers("query/sizes", {plain, rotary_})},
               {{"axis", std::int64_t{-1}}}, 2);
  parts[1] = turned("query", parts[1], shape_.heads, rotary_);
  return w_.node("Concat", "query/all", std::move(parts), {{"axis", std::int64_t{-1}}});
}

/// Attention over the tokens that the model reads.
TensorId DecoderAttention::attendLatent(TensorId query, TensorId vector, TensorId turnedKey) {
  const std::int64_t b = shape_.batch, n = shape_.positions, heads = shape_.heads,
                     plain = shape_.headSize - rotary_,
                     valueSize = s_.integer("value_size") == 0 ? plain : s_.integer("value_size");
  const TensorId rows = w_.reshape("latent/rows", vector, {b * n, latentWidth_});
  const TensorId keys =
      w_.reshape("key_up/heads", project("key_up", rows, heads * plain), {b, n, heads, plain});
  const TensorId shared = w_.node("Expand", "key/shared",
                                  {w_.reshape("key/one", turnedKey, {b, n, 1, rotary_}),
                                   w_.integers("key/shared/shape", {b, n, heads, rotary_})});
  const TensorId key = w_.node("Concat", "key/all", {keys, shared}, {{"axis", std::int64_t{-1}}});
  AttentionShape ofValues = shape_;
  ofValues.headSize = valueSize;
  const TensorId value =
      splitHeads(w_, "value", project("value_up", rows, heads * valueSize), ofValues, heads);
  const TensorId context =
      attend(w_, w_.transpose("query/rows", query, {0, 2, 1, 3}), w_.transpose("key/rows", key, {0, 2, 3, 1}),
             value, mask_, shape_, s_.real("dropout"));
  return mergeHeads(w_, "merge", context, ofValues);
}

/// Attention of one token over the cache. The scores of a head are latent · (weight of its keys)ᵀ · query,
/// and its result is the weight of its values times the weighted sum of latent vectors.
TensorId DecoderAttention::attendLatentCache(TensorId query, TensorId, TensorId) {
  const std::int64_t b = shape_.batch, heads = shape_.heads, n = cached_ + 1,
                     plain = shape_.headSize - rotary_,
                     valueSize = s_.integer("value_size") == 0 ? plain : s_.integer("value_size");
  const auto floats = [](Shape shape) {
    return graph::TensorType{graph::ElementType::float32, std::move(shape)};
  };
  const TensorId vectors = w_.resident("latent_cache", floats({b, n, latentWidth_})),
                 keys = w_.resident("key_cache", floats({b, n, rotary_}));
  const double factor = 1 / std::sqrt(static_cast<double>(shape_.headSize));
  const TensorId scaled = w_.node("Mul", "scale", {query, w_.scalar("scale/factor", factor)});
  const std::vector<TensorId> parts =
      w_.nodes("Split", "scale/parts",
               {w_.reshape("scale/heads", scaled, {b, heads, shape_.headSize}),
                w_.integers("scale/sizes", {plain, rotary_})},
               {{"axis", std::int64_t{-1}}}, 2);
  // Products of each head with its own weight, for all samples. Software stores these weights by heads.
  const TensorId keyWeight = w_.parameter("key_up/weight", {heads, plain, latentWidth_}, normal_);
  const TensorId absorbed =
      w_.node("MatMul", "key_up", {w_.transpose("scale/samples", parts[0], {1, 0, 2}), keyWeight});
  const TensorId ofVectors =
      w_.node("MatMul", "scores/latent", {vectors, w_.transpose("key_up/columns", absorbed, {1, 2, 0})});
  const TensorId ofKeys =
      w_.node("MatMul", "scores/key", {keys, w_.transpose("scale/columns", parts[1], {0, 2, 1})});
  const TensorId scores =
      w_.transpose("scores/heads", w_.node("Add", "scores", {ofVectors, ofKeys}), {0, 2, 1});
  const TensorId weights = w_.node("Softmax", "softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const TensorId sums = w_.node("MatMul", "context", {weights, vectors});
  const TensorId valueWeight = w_.parameter("value_up/weight", {heads, valueSize, latentWidth_}, normal_);
  const TensorId context =
      w_.node("MatMul", "value_up", {valueWeight, w_.transpose("context/columns", sums, {1, 2, 0})});
  return w_.reshape("context/rows", w_.transpose("context/samples", context, {2, 0, 1}),
                    {b, heads * valueSize});
}

}  // namespace pipescope::builders

// Attention with grouped or several query heads for each key head (Shazeer 2019; Ainslie et al. 2023) and
// rotary positions (Su et al.: RoFormer, 2021, with the halves turned as in Llama).
#include "engine/builders/decoder_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace pipescope::builders {

using graph::ElementType;

DecoderAttention::DecoderAttention(ModelWriter& writer)
    : w_(writer),
      s_(writer.settings()),
      decode_(!writer.training() && s_.text("phase") == "decode"),
      hostCache_(!writer.training() && s_.text("cache_at") == "host"),
      hidden_(s_.integer("hidden")),
      latentWidth_(s_.integer("latent_width")),
      cached_(decode_ ? s_.integer("cache") : 0),
      room_(writer.training() ? 0 : s_.integer("cache_room")) {
  const std::int64_t heads = s_.integer("heads"), keyHeads = s_.integer("key_heads"),
                     size = s_.integer("head_size");
  shape_ = {w_.microBatch(), decode_ ? 1 : s_.integer("sequence"), heads, keyHeads == 0 ? heads : keyHeads,
            size == 0 ? hidden_ / heads : size};
  if (s_.text("position") == "rotary")
    rotary_ = s_.integer("rotary_size") == 0 ? shape_.headSize : s_.integer("rotary_size");
  if (isLatent()) shape_.headSize += rotary_;
}

bool DecoderAttention::check() {
  const std::int64_t plain = shape_.headSize - (isLatent() ? rotary_ : 0);
  if (s_.integer("head_size") == 0 && hidden_ % shape_.heads != 0) {
    w_.fail(fmt::format("model.hidden is {}; it must divide by model.heads = {}, or give model.head_size",
                        hidden_, shape_.heads));
  } else if (shape_.heads % shape_.keyHeads != 0) {
    w_.fail(fmt::format("model.heads is {}; it must divide by model.key_heads = {}", shape_.heads,
                        shape_.keyHeads));
  } else if (rotary_ % 2 != 0 || (!isLatent() && rotary_ > shape_.headSize)) {
    w_.fail(fmt::format("model.rotary_size is {}; it must be even and at most the head's size, {}", rotary_,
                        plain));
  } else if (decode_ && cached_ < 1) {
    w_.fail("model.phase is decode: set model.cache to the number of tokens before this one, at least 1");
  } else if (room_ > 0 && hostCache_) {
    w_.fail("model.cache_room is memory of the device, but model.cache_at is host: leave one of them out");
  } else if (room_ > 0 && room_ < cached_ + shape_.positions) {
    w_.fail(fmt::format("model.cache_room is {}; the cache holds {} tokens, so it needs room for as many",
                        room_, cached_ + shape_.positions));
  } else if (hostCache_ && !s_.boolean("cache_reuse")) {
    w_.fail(
        "model.cache_reuse is false, but model.cache_at is host, so the device keeps no cache: leave one of "
        "them out");
  } else {
    return checkLatent();
  }
  return false;
}

void DecoderAttention::makeShared() {
  const std::int64_t n = shape_.positions;
  if (n > 1) {
    const auto seen = [n] {
      std::vector<std::byte> mask(static_cast<std::size_t>(n * n), std::byte{0});
      for (std::int64_t row = 0; row < n; ++row) std::fill_n(mask.begin() + row * n, row + 1, std::byte{1});
      return mask;
    };
    mask_ = w_.laterConstant("causal_mask", {ElementType::boolean, {n, n}}, seen,
                             graph::Constant::Pattern::lowerTriangle);
  }
  if (rotary_ == 0) return;
  const auto rotations = [&](const char* name, double (*of)(double)) {
    return w_.laterConstant(
        name, {ElementType::float32, {n, 1, rotary_ / 2}},
        [n, first = cached_, size = rotary_, base = s_.real("rotary_base"), of] {
          std::vector<float> values;
          for (std::int64_t row = 0; row < n; ++row) {
            for (std::int64_t i = 0; i < size / 2; ++i) {
              const double frequency =
                  std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(size));
              values.push_back(static_cast<float>(of(static_cast<double>(first + row) * frequency)));
            }
          }
          const auto bytes = std::as_bytes(std::span(values));
          return std::vector<std::byte>(bytes.begin(), bytes.end());
        });
  };
  cosines_ = rotations("rotary/cosines", [](double angle) { return std::cos(angle); });
  sines_ = rotations("rotary/sines", [](double angle) { return std::sin(angle); });
}

TensorId DecoderAttention::add(TensorId x) {
  const ModelWriter::Scope scope(w_, "attention");
  if (isLatent()) return latent(x);
  const TensorId q = turned("query", project("query", x, shape_.queries()), shape_.heads, shape_.headSize);
  const TensorId k = turned("key", project("key", x, shape_.keys()), shape_.keyHeads, shape_.headSize);
  const TensorId query = w_.transpose("query/heads", q, {0, 2, 1, 3});
  TensorId key = w_.transpose("key/heads", k, {0, 2, 3, 1}),
           value = splitHeads(w_, "value", project("value", x, shape_.keys()), shape_, shape_.keyHeads);
  holdRoom(key, value);
  if (hostCache_) kept_.insert(kept_.end(), {key, value});
  const TensorId context =
      decode_ ? hostCache_ ? attendHostCache(query, key, value) : attendResidentCache(query, key, value)
              : attend(w_, query, key, value, mask_, shape_, s_.real("dropout"));
  return project("output", mergeHeads(w_, "merge", context, shape_), hidden_);
}

TensorId DecoderAttention::project(const std::string& name, TensorId x, std::int64_t outputs) {
  return w_.linear(name, x, {outputs, s_.boolean("attention_bias"), normal_, 0});
}

/// Splits x into heads (batch × positions × heads × size), normalises them if the model does, and rotates
/// their first elements by position.
TensorId DecoderAttention::turned(const std::string& name, TensorId x, std::int64_t heads,
                                  std::int64_t size) {
  x = w_.reshape(name + "/split", x, {shape_.batch, shape_.positions, heads, size});
  if (s_.boolean("head_norm")) x = w_.rmsNorm(name + "/norm", x, s_.real("norm_epsilon"));
  if (rotary_ == 0) return x;
  const ModelWriter::Scope scope(w_, name + "/rotary");
  std::vector<std::int64_t> parts{rotary_ / 2, rotary_ / 2};
  if (rotary_ < size) parts.push_back(size - rotary_);
  std::vector<TensorId> half = w_.nodes("Split", "split", {x, w_.integers("sizes", parts)},
                                        {{"axis", std::int64_t{-1}}}, parts.size());
  const auto times = [&](const char* each, TensorId a, TensorId b) { return w_.node("Mul", each, {a, b}); };
  const TensorId first = w_.node(
      "Sub", "first", {times("first_cosine", half[0], cosines_), times("second_sine", half[1], sines_)});
  const TensorId second = w_.node(
      "Add", "second", {times("second_cosine", half[1], cosines_), times("first_sine", half[0], sines_)});
  half[0] = first;
  half[1] = second;
  return w_.node("Concat", "concat", half, {{"axis", std::int64_t{-1}}});
}

/// Keeps memory for the part of a cache that this step does not read; `axis` of x are the tokens. A decoding
/// step reads the tokens so far. A prefill reads what it has just computed, which software copies to the
/// cache as it computes it.
TensorId DecoderAttention::hold(const std::string& name, TensorId x, std::size_t axis) {
  const std::int64_t rest = room_ - (decode_ ? cached_ + 1 : 0);
  if (rest <= 0 || !x.valid()) return x;
  Shape shape = w_.shapeOf(x);
  shape[axis] = rest;
  return w_.node("Hold", name + "/hold", {x, w_.resident(name + "/room", {ElementType::float32, shape})});
}

void DecoderAttention::holdRoom(TensorId& key, TensorId& value) {
  key = hold("key_cache", key, 3);
  value = hold("value_cache", value, 2);
}

/// The scaled query heads, in groups of those that share a key head.
TensorId DecoderAttention::groupedQuery(TensorId query) {
  const double factor = 1 / std::sqrt(static_cast<double>(shape_.headSize));
  const TensorId q = w_.node("Mul", "scale", {query, w_.scalar("scale/factor", factor)});
  return w_.reshape("groups", q,
                    {shape_.batch, shape_.keyHeads, shape_.heads / shape_.keyHeads, shape_.headSize});
}

/// True for the last place of a cache, where the token itself stands.
TensorId DecoderAttention::lastPlace(const char* name, const Shape& shape) {
  std::vector<std::byte> places(static_cast<std::size_t>(cached_ + 1), std::byte{0});
  places.back() = std::byte{1};
  return w_.constant(name, {ElementType::boolean, shape}, std::move(places));
}

/// Attends with the query of one token over caches on the device, which have a place for this token. If the
/// cache is reused, the token's key and value are written there, and nothing else moves.
TensorId DecoderAttention::attendResidentCache(TensorId query, TensorId key, TensorId value) {
  const std::int64_t b = shape_.batch, heads = shape_.keyHeads, size = shape_.headSize, n = cached_ + 1;
  const TensorId keys = w_.resident("key_cache", {ElementType::float32, {b, heads, size, n}}),
                 values = w_.resident("value_cache", {ElementType::float32, {b, heads, n, size}});
  if (!s_.boolean("cache_reuse")) {
    // The next token finds its caches in these copies.
    w_.node("Where", "key_cache/next", {lastPlace("key_cache/place", {1, 1, 1, n}), key, keys});
    w_.node("Where", "value_cache/next", {lastPlace("value_cache/place", {1, 1, n, 1}), value, values});
  }
  const TensorId scores = w_.node("MatMul", "scores", {groupedQuery(query), keys});
  const TensorId weights = w_.node("Softmax", "softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const TensorId context = w_.node("MatMul", "context", {weights, values});
  return w_.reshape("context/heads", context, {b, shape_.heads, 1, size});
}

/// Attends with the query of one token over the keys that the host streams in and its own key, without
/// copying either cache.
TensorId DecoderAttention::attendHostCache(TensorId query, TensorId key, TensorId value) {
  const std::int64_t b = shape_.batch, heads = shape_.keyHeads, size = shape_.headSize;
  const TensorId keys = w_.cacheInput("key_cache", {ElementType::float32, {b, heads, size, cached_}}),
                 values = w_.cacheInput("value_cache", {ElementType::float32, {b, heads, cached_, size}});
  const TensorId q = groupedQuery(query);
  const TensorId scores =
      w_.node("Concat", "scores",
              {w_.node("MatMul", "scores/cached", {q, keys}), w_.node("MatMul", "scores/own", {q, key})},
              {{"axis", std::int64_t{-1}}});
  const TensorId weights = w_.node("Softmax", "softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::vector<TensorId> part = w_.nodes(
      "Split", "split", {weights, w_.integers("split/sizes", {cached_, 1})}, {{"axis", std::int64_t{-1}}}, 2);
  const TensorId context = w_.node("Add", "context",
                                   {w_.node("MatMul", "context/cached", {part[0], values}),
                                    w_.node("MatMul", "context/own", {part[1], value})});
  return w_.reshape("context/heads", context, {b, shape_.heads, 1, size});
}

}  // namespace pipescope::builders

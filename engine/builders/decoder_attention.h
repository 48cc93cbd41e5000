#pragma once
// Attention of decoders with what all layers share: the causal mask, the rotations of positions, and where
// keys and values of earlier tokens are.
#include <vector>

#include "engine/builders/attention.h"

namespace pipescope::builders {

class DecoderAttention {
 public:
  explicit DecoderAttention(ModelWriter& writer);

  /// Fails the writer if settings contradict each other.
  bool check();
  /// Makes the causal mask and the rotations as constants that all layers share.
  void makeShared();
  /// Adds attention below the current path to x (rows × width). The result is the output of its last
  /// projection.
  TensorId add(TensorId x);

  /// Samples and positions of the present part of the batch.
  std::int64_t batch() const { return shape_.batch; }
  void setBatch(std::int64_t samples) { shape_.batch = samples; }
  std::int64_t positions() const { return shape_.positions; }
  std::int64_t rows() const { return shape_.batch * shape_.positions; }
  bool decodes() const { return decode_; }
  bool hasHostCache() const { return hostCache_; }
  /// Tokens before the ones that the model reads.
  std::int64_t cached() const { return cached_; }
  /// Keys and values that the host keeps: outputs of the model.
  const std::vector<TensorId>& kept() const { return kept_; }

 private:
  bool isLatent() const { return latentWidth_ > 0; }
  bool checkLatent();
  TensorId project(const std::string& name, TensorId x, std::int64_t outputs);
  TensorId turned(const std::string& name, TensorId x, std::int64_t heads, std::int64_t size);
  TensorId hold(const std::string& name, TensorId x, std::size_t axis);
  void holdRoom(TensorId& key, TensorId& value);
  TensorId groupedQuery(TensorId query);
  TensorId lastPlace(const char* name, const Shape& shape);
  TensorId attendResidentCache(TensorId query, TensorId key, TensorId value);
  TensorId attendHostCache(TensorId query, TensorId key, TensorId value);
  /// Multi-head latent attention (latent_attention.cpp).
  TensorId latent(TensorId x);
  TensorId latentQuery(TensorId x);
  TensorId attendLatent(TensorId query, TensorId latent, TensorId turnedKey);
  TensorId attendLatentCache(TensorId query, TensorId latent, TensorId turnedKey);

  ModelWriter& w_;
  const BuilderSettings& s_;
  bool decode_, hostCache_;
  std::int64_t hidden_;
  std::int64_t latentWidth_;  // 0: keys and values are projections of the hidden states
  std::int64_t cached_;
  std::int64_t room_;  // tokens for which the device keeps memory in caches; 0: for those that a step reads
  std::int64_t rotary_ = 0;
  AttentionShape shape_;  // with latent attention, the size of a head is that of its queries and keys
  TensorId mask_, cosines_, sines_;
  std::vector<TensorId> kept_;
  const graph::Initializer normal_{graph::Initializer::Kind::normal, 0.02, {}};
};

}  // namespace pipescope::builders

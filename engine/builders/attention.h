#pragma once
// Attention over heads, as BERT, ViT and decoders share it. Hidden states are matrices of (batch · positions)
// × width.
#include "engine/builders/model_writer.h"

namespace pipescope::builders {

struct AttentionShape {
  std::int64_t batch = 1, positions = 1;
  std::int64_t heads = 1, keyHeads = 1, headSize = 1;
  std::int64_t queries() const { return heads * headSize; }
  std::int64_t keys() const { return keyHeads * headSize; }
};

/// (batch · positions) × (heads · size) → batch × heads × positions × size.
TensorId splitHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape,
                    std::int64_t heads);
/// The same for keys, transposed: batch × heads × size × positions.
TensorId splitKeys(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape);
/// batch × heads × positions × size → (batch · positions) × (heads · size).
TensorId mergeHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape);

/// softmax(q·k / √size)·v of split heads, each group of queries with its own keys; dropout on the softmax.
/// `mask` (positions × positions, bool) says what may be seen; not valid: everything.
TensorId attend(ModelWriter& writer, TensorId query, TensorId key, TensorId value, TensorId mask,
                const AttentionShape& shape, double dropout);

/// Query, key and value of `x`, attended to, merged and projected: the plain attention of encoders. Weights
/// are "query", "key", "value" and "output" below the present path.
TensorId selfAttention(ModelWriter& writer, TensorId x, const AttentionShape& shape,
                       const graph::Initializer& initializer, double dropout);

}  // namespace pipescope::builders

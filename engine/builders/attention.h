#pragma once
// Attention with several heads, shared by BERT, ViT and decoders. Hidden states are matrices of (batch ·
// positions) × width.
#include "engine/builders/model_writer.h"

namespace pipescope::builders {

struct AttentionShape {
  std::int64_t batch = 1, positions = 1;
  std::int64_t heads = 1, keyHeads = 1, headSize = 1;
  std::int64_t queries() const { return heads * headSize; }
  std::int64_t keys() const { return keyHeads * headSize; }
};

/// Turns (batch · positions) × (heads · size) into batch × heads × positions × size.
TensorId splitHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape,
                    std::int64_t heads);
/// The same for keys, transposed: batch × heads × size × positions.
TensorId splitKeys(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape);
/// Turns batch × heads × positions × size into (batch · positions) × (heads · size).
TensorId mergeHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape);

/// Computes softmax(q·k / √size)·v for split heads. Each group of query heads has its own key head. Dropout
/// applies to the softmax. `mask` (positions × positions, bool) is true where a query may see a key; without
/// a valid mask it sees all.
TensorId attend(ModelWriter& writer, TensorId query, TensorId key, TensorId value, TensorId mask,
                const AttentionShape& shape, double dropout);

/// The plain attention of encoders: projects `x` to query, key and value, attends, merges the heads and
/// projects the result. The weights are called "query", "key", "value" and "output" below the current path.
TensorId selfAttention(ModelWriter& writer, TensorId x, const AttentionShape& shape,
                       const graph::Initializer& initializer, double dropout);

}  // namespace pipescope::builders

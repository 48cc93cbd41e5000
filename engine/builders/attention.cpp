#include "engine/builders/attention.h"

#include <cmath>

namespace pipescope::builders {

TensorId splitHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape,
                    std::int64_t heads) {
  const TensorId split =
      writer.reshape(name + "/split", x, {shape.batch, shape.positions, heads, shape.headSize});
  return writer.transpose(name + "/heads", split, {0, 2, 1, 3});
}

TensorId splitKeys(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape) {
  const TensorId split =
      writer.reshape(name + "/split", x, {shape.batch, shape.positions, shape.keyHeads, shape.headSize});
  return writer.transpose(name + "/heads", split, {0, 2, 3, 1});
}

TensorId mergeHeads(ModelWriter& writer, const std::string& name, TensorId x, const AttentionShape& shape) {
  const TensorId rows = writer.transpose(name + "/rows", x, {0, 2, 1, 3});
  return writer.reshape(name, rows, {shape.batch * shape.positions, shape.queries()});
}

TensorId attend(ModelWriter& writer, TensorId query, TensorId key, TensorId value, TensorId mask,
                const AttentionShape& shape, double dropout) {
  const std::int64_t grouped = shape.heads / shape.keyHeads * shape.positions;
  const double factor = 1 / std::sqrt(static_cast<double>(shape.headSize));
  TensorId q = writer.node("Mul", "scale", {query, writer.scalar("scale/factor", factor)});
  q = writer.reshape("groups", q, {shape.batch, shape.keyHeads, grouped, shape.headSize});
  TensorId scores = writer.node("MatMul", "scores", {q, key});
  const Shape flat = writer.shapeOf(scores);
  if (mask.valid()) {
    scores = writer.reshape("scores/heads", scores,
                            {shape.batch, shape.heads, shape.positions, writer.shapeOf(mask).back()});
    // This is the most negative number of half precision. The exponential of that number is 0 in every type.
    scores = writer.node("Where", "mask", {mask, scores, writer.scalar("mask/hidden", -65504.0)});
    scores = writer.reshape("mask/groups", scores, flat);
  }
  TensorId weights = writer.node("Softmax", "softmax", {scores}, {{"axis", std::int64_t{-1}}});
  weights = writer.dropout("dropout", weights, dropout);
  const TensorId context = writer.node("MatMul", "context", {weights, value});
  return writer.reshape("context/heads", context,
                        {shape.batch, shape.heads, shape.positions, writer.shapeOf(value).back()});
}

TensorId selfAttention(ModelWriter& writer, TensorId x, const AttentionShape& shape,
                       const graph::Initializer& initializer, double dropout) {
  const auto project = [&](const char* name) {
    return writer.linear(name, x, {.outputs = shape.queries(), .initializer = initializer});
  };
  const TensorId query = splitHeads(writer, "query", project("query"), shape, shape.heads);
  const TensorId key = splitKeys(writer, "key", project("key"), shape);
  const TensorId value = splitHeads(writer, "value", project("value"), shape, shape.keyHeads);
  const TensorId context = attend(writer, query, key, value, {}, shape, dropout);
  return writer.linear("output", mergeHeads(writer, "merge", context, shape),
                       {.outputs = shape.queries(), .initializer = initializer});
}

}  // namespace pipescope::builders

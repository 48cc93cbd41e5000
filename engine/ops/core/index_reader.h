#pragma once
// Reads indices as ONNX gives them: int32 or int64, and negative ones count from the end.
#include <cstring>
#include <string>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

class IndexReader {
 public:
  IndexReader(const std::byte* data, bool wide) : data_(data), wide_(wide) {}
  std::int64_t operator[](std::int64_t at) const {
    if (wide_) return reinterpret_cast<const std::int64_t*>(data_)[at];
    return reinterpret_cast<const std::int32_t*>(data_)[at];
  }

 private:
  const std::byte* data_;
  bool wide_;
};

/// Reads an input that holds indices; fails with a sentence if it has another type.
Status requireIndices(const OperatorCall& call, std::size_t input);
inline bool wideIndices(const OperatorCall& call, std::size_t input) {
  return call.input(input).element == ElementType::int64;
}
/// The error for an index outside [−extent, extent).
base::Error indexOutside(const std::string& title, std::int64_t index, std::int64_t extent);
/// Fails with a sentence unless every index is within [−extent, extent).
Status checkIndices(const std::string& title, const IndexReader& indices, std::int64_t count,
                    std::int64_t extent);

}  // namespace pipescope::ops

#pragma once
// What the loader reads from. A format (IDX, synthetic …) is one file that implements Dataset and registers
// itself.
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"

namespace pipescope::data {

enum class Split : std::uint8_t { train, test };
/// "training" or "test".
std::string toString(Split split);

/// Samples and labels by index. Implementations are immutable once opened: read() may be called from any
/// thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// For messages: which data, from where.
  virtual std::string description() const = 0;
  /// Number of samples, at least 1.
  virtual std::int64_t size() const = 0;
  /// One sample without a batch dimension, float32 ("1x28x28 float32").
  virtual graph::TensorType sampleType() const = 0;
  /// One label without a batch dimension, int32; a scalar for classification.
  virtual graph::TensorType labelType() const = 0;
  /// Labels are 0 … classes() − 1.
  virtual std::int64_t classes() const = 0;
  /// Writes the samples and labels of `indices` (each 0 … size() − 1) one after the other. The spans hold
  /// exactly indices × elements of the types above. Fails where a file that is read on demand fails.
  virtual base::Status read(std::span<const std::int64_t> indices, std::span<float> samples,
                            std::span<std::int32_t> labels) const = 0;
};

}  // namespace pipescope::data

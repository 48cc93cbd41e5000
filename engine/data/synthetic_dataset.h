#pragma once
// Random samples and labels of any shape, for models without data: nothing can be learnt from them.
#include <memory>

#include "engine/data/dataset.h"

namespace pipescope::data {

/// Sample i depends on (seed, split, i) only; nothing is stored.
class SyntheticDataset : public Dataset {
 public:
  struct Options {
    Split split = Split::train;
    std::int64_t count = 0;     ///< samples: 1…10⁸
    graph::Shape sampleShape;   ///< extents of at least 1
    graph::Shape labelShape;    ///< empty: a scalar
    std::int64_t classes = 10;  ///< labels are uniform in 0 … classes − 1; at least 1
    std::uint64_t seed = 0;
    /// 0: samples are uniform in [−1, 1); else whole numbers, uniform in 0 … tokens − 1, at most 2²⁴ so that
    /// a float holds each exactly.
    std::int64_t tokens = 0;
  };

  /// Refuses counts, extents, classes and tokens outside their ranges, and samples of more than 2³¹ elements.
  static base::Result<std::unique_ptr<SyntheticDataset>> create(const Options& options);

  std::string description() const override;
  std::int64_t size() const override { return options_.count; }
  graph::TensorType sampleType() const override {
    return {graph::ElementType::float32, options_.sampleShape};
  }
  graph::TensorType labelType() const override { return {graph::ElementType::int32, options_.labelShape}; }
  std::int64_t classes() const override { return options_.classes; }
  base::Status read(std::span<const std::int64_t> indices, std::span<float> samples,
                    std::span<std::int32_t> labels) const override;

 private:
  explicit SyntheticDataset(Options options) : options_(std::move(options)) {}

  Options options_;
};

}  // namespace pipescope::data

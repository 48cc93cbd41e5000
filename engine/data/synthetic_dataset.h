#pragma once
// Random rows of any type and shape, for models without data. A model cannot learn anything from them.
#include <memory>

#include "engine/data/dataset_registry.h"

namespace pipescope::data {

/// Row i depends only on (seed, split, i) and the position of the field. Nothing is stored.
class SyntheticDataset : public Dataset {
 public:
  struct Options {
    DataSplit split = DataSplit::train;
    std::int64_t count = 0;  ///< rows: 1…10⁸
    /// Extents of at least 1. Whole numbers are uniform in 0 … limit − 1, real ones in [low, high).
    std::vector<FieldRequest> fields;
    std::uint64_t seed = 0;
  };

  /// Refuses counts, extents and limits outside their ranges, and fields of more than 2³¹ elements.
  static base::Result<std::unique_ptr<SyntheticDataset>> create(const Options& options);

  std::string description() const override;
  std::int64_t size() const override { return options_.count; }
  std::vector<Field> fields() const override;
  std::int64_t classes() const override;
  base::Status read(std::span<const std::int64_t> indices,
                    std::span<const std::span<std::byte>> values) const override;

 private:
  explicit SyntheticDataset(Options options) : options_(std::move(options)) {}

  Options options_;
};

}  // namespace pipescope::data

#pragma once
// Images and labels in MNIST's IDX files.
#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/data/idx_file.h"
#include "engine/data/labelled_images.h"
#include "engine/data/preprocessing.h"

namespace pipescope::data {

/// Holds the bytes of all images in memory and converts on reading.
class IdxDataset : public LabelledImages {
 public:
  struct Options {
    Preprocessing preprocessing;
    std::int64_t classes = 10;
    /// Shape that samples are presented in; it must have as many elements as an image. Empty: 1 × rows ×
    /// columns.
    graph::Shape sampleShape;
  };

  /// Reads both files of a split. Besides what readIdx refuses: image and label counts that differ, labels
  /// outside 0 … classes − 1, a sample shape of another size.
  static base::Result<std::unique_ptr<IdxDataset>> open(const std::filesystem::path& directory,
                                                        DataSplit split, const Options& options);

  std::string description() const override { return description_; }
  std::int64_t size() const override { return images_.extents[0]; }
  std::int64_t classes() const override { return classes_; }

 private:
  graph::Shape sampleShape() const override { return shape_; }
  base::Status readImages(std::span<const std::int64_t> indices, std::span<float> samples,
                          std::span<std::int32_t> labels) const override;
  IdxDataset() = default;

  std::string description_;
  IdxArray images_;
  std::vector<std::uint8_t> labels_;
  graph::Shape shape_;
  std::int64_t classes_ = 0;
  std::array<float, 256> table_{};
};

}  // namespace pipescope::data

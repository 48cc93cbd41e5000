#pragma once
// Base of all data sets of images with a class.
#include "engine/data/dataset.h"
#include "profiler/base/check.h"

namespace pipescope::data {

/// Two fields: "samples" in float32, and "labels", an int32 for each.
class LabelledImages : public Dataset {
 public:
  std::vector<Field> fields() const final {
    return {{"samples", {graph::ElementType::float32, sampleShape()}},
            {"labels", {graph::ElementType::int32, {}}}};
  }
  base::Status read(std::span<const std::int64_t> indices,
                    std::span<const std::span<std::byte>> values) const final {
    const auto width = static_cast<std::size_t>(graph::elementCount(sampleShape()));
    PIPESCOPE_CHECK(values.size() == 2 && values[0].size() == indices.size() * width * sizeof(float) &&
                        values[1].size() == indices.size() * sizeof(std::int32_t),
                    "buffers of another size than the samples");
    for (const std::int64_t index : indices)
      PIPESCOPE_CHECK(index >= 0 && index < size(), "an index outside the data set");
    return readImages(indices, {reinterpret_cast<float*>(values[0].data()), indices.size() * width},
                      {reinterpret_cast<std::int32_t*>(values[1].data()), indices.size()});
  }

 protected:
  virtual graph::Shape sampleShape() const = 0;
  /// The spans have the right sizes, and the indices are within the set.
  virtual base::Status readImages(std::span<const std::int64_t> indices, std::span<float> samples,
                                  std::span<std::int32_t> labels) const = 0;
};

}  // namespace pipescope::data

#include "engine/data/synthetic_dataset.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <utility>

#include "engine/data/dataset_registry.h"
#include "engine/data/random.h"
#include "profiler/base/check.h"

namespace pipescope::data {

namespace {

constexpr std::int64_t mostElements = std::int64_t{1} << 31U;
constexpr std::int64_t mostSamples = 100'000'000;  ///< an epoch's order takes 8 bytes for each
constexpr std::int64_t mostTokens = std::int64_t{1} << 24U;

base::Status checkShape(const graph::Shape& shape, std::string_view what) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) {
      return base::badInput(fmt::format(
          "synthetic {} cannot have an extent of {}; give a shape of extents from 1", what, extent));
    }
    if (extent > mostElements / elements) {
      return base::badInput(
          fmt::format("synthetic {} of more than {} elements each cannot be made; give a smaller shape", what,
                      mostElements));
    }
    elements *= extent;
  }
  return {};
}

/// Training and test samples are different sequences of the same purpose: stream 2i and 2i + 1.
std::uint64_t streamOf(Split split, std::int64_t index) {
  return static_cast<std::uint64_t>(index) * 2 + (split == Split::test ? 1 : 0);
}

}  // namespace

base::Result<std::unique_ptr<SyntheticDataset>> SyntheticDataset::create(const Options& options) {
  if (options.count < 1 || options.count > mostSamples) {
    return base::badInput(
        fmt::format("a synthetic data set of {} samples cannot be made; give a count of 1…{}", options.count,
                    mostSamples));
  }
  PIPESCOPE_TRY(checkShape(options.sampleShape, "samples"));
  PIPESCOPE_TRY(checkShape(options.labelShape, "labels"));
  if (options.classes < 1 || options.classes > std::numeric_limits<std::int32_t>::max()) {
    return base::badInput(fmt::format("synthetic labels of {} classes cannot be made; give 1…{}",
                                      options.classes, std::numeric_limits<std::int32_t>::max()));
  }
  if (options.tokens < 0 || options.tokens > mostTokens) {
    return base::badInput(fmt::format(
        "synthetic samples of {} different tokens cannot be made; give 1…{}, or 0 for real numbers",
        options.tokens, mostTokens));
  }
  return std::unique_ptr<SyntheticDataset>(new SyntheticDataset(options));
}

std::string SyntheticDataset::description() const {
  return fmt::format("{} synthetic {} samples (seed {})", options_.count, toString(options_.split),
                     options_.seed);
}

base::Status SyntheticDataset::read(std::span<const std::int64_t> indices, std::span<float> samples,
                                    std::span<std::int32_t> labels) const {
  const auto sampleElements = static_cast<std::size_t>(graph::elementCount(options_.sampleShape));
  const auto labelElements = static_cast<std::size_t>(graph::elementCount(options_.labelShape));
  PIPESCOPE_CHECK(
      samples.size() == indices.size() * sampleElements && labels.size() == indices.size() * labelElements,
      "buffers of another size than the samples");
  for (std::size_t row = 0; row < indices.size(); ++row) {
    PIPESCOPE_CHECK(indices[row] >= 0 && indices[row] < options_.count, "an index outside the data set");
    const std::uint64_t stream = streamOf(options_.split, indices[row]);
    RandomSequence values(options_.seed, RandomPurpose::syntheticSamples, stream);
    for (float& value : samples.subspan(row * sampleElements, sampleElements)) {
      value = options_.tokens > 0
                  ? static_cast<float>(values.below(static_cast<std::uint64_t>(options_.tokens)))
                  : values.between(-1.0F, 1.0F);
    }
    RandomSequence classes(options_.seed, RandomPurpose::syntheticLabels, stream);
    for (std::int32_t& label : labels.subspan(row * labelElements, labelElements)) {
      label = static_cast<std::int32_t>(classes.below(static_cast<std::uint64_t>(options_.classes)));
    }
  }
  return {};
}

PIPESCOPE_REGISTER_DATASET(synthetic) {
  registry.add({"synthetic", "random samples and labels of the model's shapes, by seed and count",
                [](const DatasetRequest& request) -> base::Result<std::unique_ptr<Dataset>> {
                  PIPESCOPE_ASSIGN(auto dataset,
                                   SyntheticDataset::create({request.split, request.count,
                                                             request.sampleShape, request.labelShape,
                                                             request.classes, request.seed, request.tokens}));
                  return std::unique_ptr<Dataset>(std::move(dataset));
                }});
}

}  // namespace pipescope::data

#include "engine/data/synthetic_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/data/data_random.h"
#include "engine/ops/core/cast_elements.h"
#include "profiler/base/check.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {

namespace {

constexpr std::int64_t mostElements = std::int64_t{1} << 31U;
constexpr std::int64_t mostSamples = 100'000'000;  ///< the order of an epoch takes 8 bytes for each sample

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

/// Training and test samples use different random streams: 2i and 2i + 1 for row i. Each further field uses
/// streams 2³² higher, which is more than twice the number of rows.
std::uint64_t streamOf(DataSplit split, std::int64_t index, std::size_t field) {
  return (static_cast<std::uint64_t>(field) << 32U) + static_cast<std::uint64_t>(index) * 2 +
         (split == DataSplit::test ? 1 : 0);
}

bool syntheticDatasetIsReal(graph::ElementType type) {
  using enum graph::ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

/// The largest limit for which the type can hold every number below it.
std::int64_t mostOf(graph::ElementType type) {
  using enum graph::ElementType;
  switch (type) {
    case boolean:
      return 2;
    case int8:
      return 128;
    case uint8:
      return 256;
    case int16:
      return 32768;
    case uint16:
      return 65536;
    default:
      return std::numeric_limits<std::int32_t>::max();
  }
}

base::Status checkField(const FieldRequest& field) {
  PIPESCOPE_TRY(checkShape(field.type.shape, field.name));
  if (syntheticDatasetIsReal(field.type.element)) {
    if (field.low < field.high) return {};
    return base::badInput(
        fmt::format("synthetic {} in [{}, {}) cannot be made; give a lower end below the upper one",
                    field.name, field.low, field.high));
  }
  const std::int64_t most = mostOf(field.type.element);
  if (field.limit >= 1 && field.limit <= most) return {};
  return base::badInput(fmt::format("synthetic {} of {} different {} cannot be made; give 1…{}", field.name,
                                    field.limit, toString(field.type.element), most));
}

/// Fills one row of a field. `scratch` is memory that all rows reuse.
void fill(const FieldRequest& field, DataRandom& random, std::span<std::byte> row,
          std::vector<std::byte>& scratch) {
  const bool real = syntheticDatasetIsReal(field.type.element);
  scratch.resize(static_cast<std::size_t>(field.type.elements()) * 4);
  for (std::size_t at = 0; at < scratch.size(); at += 4) {
    if (real) {
      const float value = random.between(static_cast<float>(field.low), static_cast<float>(field.high));
      std::memcpy(scratch.data() + at, &value, sizeof value);
    } else {
      const auto value = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(field.limit)));
      std::memcpy(scratch.data() + at, &value, sizeof value);
    }
  }
  ops::castElements(real ? graph::ElementType::float32 : graph::ElementType::int32, scratch.data(),
                    field.type.element, row.data(), field.type.elements());
}

}  // namespace

base::Result<std::unique_ptr<SyntheticDataset>> SyntheticDataset::create(const Options& options) {
  if (options.count < 1 || options.count > mostSamples) {
    return base::badInput(
        fmt::format("a synthetic data set of {} samples cannot be made; give a count of 1…{}",
                    base::groupedText(options.count), base::groupedText(mostSamples)));
  }
  if (options.fields.empty())
    return base::badInput("synthetic data takes its fields from the model, but there is none");
  for (const FieldRequest& field : options.fields) PIPESCOPE_TRY(checkField(field));
  return std::unique_ptr<SyntheticDataset>(new SyntheticDataset(options));
}

std::string SyntheticDataset::description() const {
  return fmt::format("{} synthetic {} samples (seed {})", base::groupedText(options_.count),
                     toString(options_.split), options_.seed);
}

std::vector<Field> SyntheticDataset::fields() const {
  std::vector<Field> fields;
  for (const FieldRequest& field : options_.fields) fields.push_back({field.name, field.type});
  return fields;
}

std::int64_t SyntheticDataset::classes() const {
  const auto labels = std::ranges::find(options_.fields, true, &FieldRequest::labels);
  return labels == options_.fields.end() || syntheticDatasetIsReal(labels->type.element) ? 0 : labels->limit;
}

base::Status SyntheticDataset::read(std::span<const std::int64_t> indices,
                                    std::span<const std::span<std::byte>> values) const {
  PIPESCOPE_CHECK(values.size() == options_.fields.size(), "as many buffers as fields");
  std::vector<std::byte> scratch;
  std::size_t samples = 0;
  for (std::size_t f = 0; f < values.size(); ++f) {
    const FieldRequest& field = options_.fields[f];
    const auto width = static_cast<std::size_t>(field.type.bytes().count);
    PIPESCOPE_CHECK(values[f].size() == indices.size() * width, "buffers of another size than the samples");
    const std::size_t place = field.labels ? 0 : samples++;
    for (std::size_t row = 0; row < indices.size(); ++row) {
      PIPESCOPE_CHECK(indices[row] >= 0 && indices[row] < options_.count, "an index outside the data set");
      DataRandom random(options_.seed,
                        field.labels ? RandomPurpose::syntheticLabels : RandomPurpose::syntheticSamples,
                        streamOf(options_.split, indices[row], place));
      fill(field, random, values[f].subspan(row * width, width), scratch);
    }
  }
  return {};
}

PIPESCOPE_REGISTER_DATASET(synthetic) {
  registry.add({"synthetic", "random rows of the model's types and shapes, by seed and count",
                [](const DatasetRequest& request) -> base::Result<std::unique_ptr<Dataset>> {
                  PIPESCOPE_ASSIGN(auto dataset, SyntheticDataset::create({request.split, request.count,
                                                                           request.fields, request.seed}));
                  return std::unique_ptr<Dataset>(std::move(dataset));
                }});
}

}  // namespace pipescope::data

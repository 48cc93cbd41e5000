#include "engine/data/idx_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/data/dataset_registry.h"
#include "engine/data/digits/mnist_files.h"
#include "profiler/base/check.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {

namespace fs = std::filesystem;

namespace {

/// Refuses files that do not belong together, or images of another size than the model takes.
base::Status checkIdxExtents(const fs::path& imageFile, const std::vector<std::int64_t>& images,
                             const fs::path& labelFile, const std::vector<std::int64_t>& labels,
                             const graph::Shape& sampleShape) {
  if (images[0] != labels[0]) {
    return base::badInput(fmt::format(
        "'{}' holds {} images but '{}' holds {} labels; use two files of the same data set",
        imageFile.string(), base::groupedText(images[0]), labelFile.string(), base::groupedText(labels[0])));
  }
  const graph::Shape shape = {1, images[1], images[2]};
  if (!sampleShape.empty() && graph::elementCount(sampleShape) != graph::elementCount(shape)) {
    return base::badInput(fmt::format(
        "the images of '{}' are {}, the model takes {}; use another data set, or change the model's input",
        imageFile.string(), toString(graph::TensorType{graph::ElementType::float32, shape}),
        toString(graph::TensorType{graph::ElementType::float32, sampleShape})));
  }
  return {};
}

base::Status checkIdxRequest(const DatasetRequest& request) {
  if (!request.labels() || request.labels()->type.shape.empty()) return {};
  return base::badInput(fmt::format(
      "IDX files hold one label per image, the model takes {}; use another data set, or change the model's "
      "labels",
      toString(request.labels()->type)));
}

graph::Shape idxSampleShape(const DatasetRequest& request) {
  const FieldRequest* sample = request.onlySample();
  return sample ? sample->type.shape : graph::Shape();
}

/// Counts the images from the headers of both files.
base::Result<std::int64_t> countIdx(const DatasetRequest& request) {
  PIPESCOPE_TRY(checkIdxRequest(request));
  PIPESCOPE_ASSIGN(const fs::path imageFile,
                   findMnistFile(request.directory, request.split, IdxKind::images));
  PIPESCOPE_ASSIGN(const fs::path labelFile,
                   findMnistFile(request.directory, request.split, IdxKind::labels));
  PIPESCOPE_ASSIGN(const auto images, readIdxExtents(imageFile, IdxKind::images));
  PIPESCOPE_ASSIGN(const auto labels, readIdxExtents(labelFile, IdxKind::labels));
  PIPESCOPE_TRY(checkIdxExtents(imageFile, images, labelFile, labels, idxSampleShape(request)));
  return images[0];
}

}  // namespace

base::Result<std::unique_ptr<IdxDataset>> IdxDataset::open(const fs::path& directory, DataSplit split,
                                                           const Options& options) {
  PIPESCOPE_ASSIGN(const auto table, preprocessingTable(options.preprocessing));
  PIPESCOPE_ASSIGN(const fs::path imageFile, findMnistFile(directory, split, IdxKind::images));
  PIPESCOPE_ASSIGN(const fs::path labelFile, findMnistFile(directory, split, IdxKind::labels));
  PIPESCOPE_ASSIGN(IdxArray images, readIdx(imageFile, IdxKind::images));
  PIPESCOPE_ASSIGN(IdxArray labels, readIdx(labelFile, IdxKind::labels));
  PIPESCOPE_TRY(checkIdxExtents(imageFile, images.extents, labelFile, labels.extents, options.sampleShape));
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [&](std::uint8_t label) { return label >= options.classes; });
  if (bad != labels.values.end()) {
    return base::badInput(
        fmt::format("'{}': label {} of item {} is outside 0…{}; use the labels that belong to the images",
                    labelFile.string(), *bad, bad - labels.values.begin(), options.classes - 1));
  }
  const graph::Shape shape = {1, images.extents[1], images.extents[2]};
  std::unique_ptr<IdxDataset> dataset(new IdxDataset);
  dataset->description_ = fmt::format("{} {} images of '{}'", base::groupedText(images.extents[0]),
                                      toString(split), imageFile.parent_path().string());
  dataset->images_ = std::move(images);
  dataset->labels_ = std::move(labels.values);
  dataset->shape_ = options.sampleShape.empty() ? shape : options.sampleShape;
  dataset->classes_ = options.classes;
  dataset->table_ = table;
  return dataset;
}

base::Status IdxDataset::readImages(std::span<const std::int64_t> indices, std::span<float> samples,
                                    std::span<std::int32_t> labels) const {
  const auto pixels = static_cast<std::size_t>(graph::elementCount(shape_));
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const auto index = static_cast<std::size_t>(indices[row]);
    const auto image = std::span(images_.values).subspan(index * pixels, pixels);
    std::transform(image.begin(), image.end(), samples.begin() + static_cast<std::ptrdiff_t>(row * pixels),
                   [this](std::uint8_t byte) { return table_[byte]; });
    labels[row] = labels_[index];
  }
  return {};
}

PIPESCOPE_REGISTER_DATASET(idx) {
  registry.add({"mnist", "images and labels in MNIST's IDX files, plain or gzipped, in a folder",
                [](const DatasetRequest& request) -> base::Result<std::unique_ptr<Dataset>> {
                  PIPESCOPE_TRY(checkIdxRequest(request));
                  PIPESCOPE_ASSIGN(auto dataset,
                                   IdxDataset::open(request.directory, request.split,
                                                    {request.preprocessing, 10, idxSampleShape(request)}));
                  return std::unique_ptr<Dataset>(std::move(dataset));
                },
                preprocessingSettings(), countIdx});
}

}  // namespace pipescope::data

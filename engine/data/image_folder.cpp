// Images in folders that have the names of their classes: train/cat/1.png, test/dog/7.jpg. Classes are
// numbered in the order of their names.
#include <fmt/format.h>

#include <algorithm>

#include "engine/data/dataset_registry.h"
#include "engine/data/image_file.h"
#include "engine/data/labelled_images.h"
#include "profiler/base/check.h"
#include "profiler/base/number_text.h"
#include "profiler/record/host_span.h"

namespace pipescope::data {
namespace {

namespace fs = std::filesystem;
using base::badInput;

bool isImage(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// Returns the entries of a folder sorted by name, or an error if the folder cannot be listed.
base::Result<std::vector<fs::path>> entriesOf(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error)
    return base::ioError(fmt::format("cannot list the folder '{}': {}", folder.string(), error.message()));
  std::ranges::sort(entries);
  return entries;
}

/// Decodes each image when it is read, because a set may be larger than memory.
class ImageFolder : public LabelledImages {
 public:
  static base::Result<std::unique_ptr<Dataset>> open(const DatasetRequest& request) {
    if (request.directory.empty())
      return badInput("the folder of the images is missing: give it with --data");
    const FieldRequest* sample = request.onlySample();
    if (!sample) return badInput("a data set of images fits models of one input; use another data set");
    const graph::Shape& shape = sample->type.shape;
    if (shape.size() != 3 || (shape[0] != 1 && shape[0] != 3)) {
      return badInput(
          fmt::format("images are 1 or 3 channels x height x width, the model takes {}; use another data "
                      "set, or change its input",
                      toString(sample->type)));
    }
    const fs::path folder = request.directory / (request.split == DataSplit::train ? "train" : "test");
    auto dataset = std::unique_ptr<ImageFolder>(new ImageFolder);
    PIPESCOPE_ASSIGN(dataset->table_, preprocessingTable(request.preprocessing));
    dataset->shape_ = shape;
    PIPESCOPE_ASSIGN(const std::vector<fs::path> classes, entriesOf(folder));
    std::error_code error;
    for (const fs::path& each : classes) {
      if (!fs::is_directory(each, error)) continue;
      PIPESCOPE_ASSIGN(const std::vector<fs::path> files, entriesOf(each));
      for (const fs::path& file : files) {
        if (isImage(file)) dataset->files_.emplace_back(file, static_cast<std::int32_t>(dataset->classes_));
      }
      ++dataset->classes_;
    }
    if (dataset->files_.empty()) {
      return badInput(fmt::format(
          "'{}' has no images: it needs a folder for each class, with .png or .jpg files", folder.string()));
    }
    dataset->description_ =
        fmt::format("{} images of {} classes in '{}'", base::groupedText(std::ssize(dataset->files_)),
                    dataset->classes_, folder.string());
    return std::unique_ptr<Dataset>(std::move(dataset));
  }

  std::string description() const override { return description_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  std::int64_t classes() const override { return classes_; }

 private:
  ImageFolder() = default;
  graph::Shape sampleShape() const override { return shape_; }
  base::Result<Image> decoded(const fs::path& file) const {
    PIPESCOPE_HOST_SPAN(span, "data", "decode an image");
    return readImage(file, shape_[0]);
  }
  base::Status readImages(std::span<const std::int64_t> indices, std::span<float> samples,
                          std::span<std::int32_t> labels) const override {
    const auto width = static_cast<std::size_t>(graph::elementCount(shape_));
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const auto& [file, label] = files_.at(static_cast<std::size_t>(indices[row]));
      PIPESCOPE_ASSIGN(const Image image, decoded(file));
      PIPESCOPE_HOST_SPAN(span, "data", "resize and normalise an image");
      const std::vector<std::uint8_t> pixels = fitted(image, shape_[2], shape_[1]);
      std::ranges::transform(pixels, samples.begin() + static_cast<std::ptrdiff_t>(row * width),
                             [this](std::uint8_t byte) { return table_[byte]; });
      labels[row] = label;
    }
    return {};
  }

  std::vector<std::pair<fs::path, std::int32_t>> files_;
  std::string description_;
  graph::Shape shape_;
  std::int64_t classes_ = 0;
  std::array<float, 256> table_{};
};

}  // namespace

PIPESCOPE_REGISTER_DATASET(images) {
  registry.add({"images", "PNG and JPEG images in folders called as their classes, below train and test",
                ImageFolder::open, preprocessingSettings()});
}

}  // namespace pipescope::data

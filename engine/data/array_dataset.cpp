// Samples and labels in two arrays whose first axis counts them: NumPy's files and ONNX's TensorProto.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/data/dataset_registry.h"
#include "engine/data/npy_file.h"
#include "engine/graph/onnx/reader.h"
#include "engine/ops/half.h"
#include "profiler/base/check.h"

namespace pipescope::data {
namespace {

namespace fs = std::filesystem;
using base::badInput;
using base::Result;
using graph::ElementType;
using graph::TensorValue;

template <class T>
double numberAt(const std::byte* values, std::size_t i) {
  T value{};
  std::memcpy(&value, values + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

/// Element i of an array of any type.
double elementOf(const TensorValue& array, std::size_t i) {
  const std::byte* values = array.bytes.data();
  switch (array.type.element) {
    case ElementType::float32: return numberAt<float>(values, i);
    case ElementType::float64: return numberAt<double>(values, i);
    case ElementType::float16: {
      ops::Float16 half;
      std::memcpy(&half, values + i * 2, 2);
      return static_cast<double>(ops::widened(half));
    }
    case ElementType::bfloat16: {
      ops::BFloat16 half;
      std::memcpy(&half, values + i * 2, 2);
      return static_cast<double>(ops::widened(half));
    }
    case ElementType::int8: return numberAt<std::int8_t>(values, i);
    case ElementType::int16: return numberAt<std::int16_t>(values, i);
    case ElementType::int32: return numberAt<std::int32_t>(values, i);
    case ElementType::int64: return numberAt<std::int64_t>(values, i);
    case ElementType::uint16: return numberAt<std::uint16_t>(values, i);
    case ElementType::uint32: return numberAt<std::uint32_t>(values, i);
    case ElementType::uint64: return numberAt<std::uint64_t>(values, i);
    case ElementType::uint8:
    case ElementType::boolean: return numberAt<std::uint8_t>(values, i);
  }
  return 0;
}

/// Bytes are scaled and normalised like images; all other samples are taken as they are.
class ArrayDataset : public Dataset {
 public:
  static Result<std::unique_ptr<Dataset>> create(std::string description, TensorValue samples, TensorValue labels,
                                                 const Preprocessing& preprocessing) {
    const auto refuse = [&](const std::string& why) { return badInput(description + ": " + why); };
    if (samples.type.shape.empty() || labels.type.shape.empty() || samples.type.shape[0] < 1)
      return refuse("samples and labels need a first axis that counts them, of at least 1");
    if (samples.type.shape[0] != labels.type.shape[0]) {
      return refuse(fmt::format("there are {} samples, but {} labels; give as many", samples.type.shape[0],
                                labels.type.shape[0]));
    }
    if (samples.type.elements() == 0 || labels.type.elements() == 0)
      return refuse("samples or labels have an axis of no elements");
    auto dataset = std::unique_ptr<ArrayDataset>(new ArrayDataset);
    PIPESCOPE_ASSIGN(dataset->table_, preprocessingTable(preprocessing));
    dataset->description_ = fmt::format("{} samples of {}", samples.type.shape[0], description);
    const auto count = static_cast<std::size_t>(labels.type.elements());
    for (std::size_t i = 0; i < count; ++i) {
      const double label = elementOf(labels, i);
      if (!(label >= 0) || label != std::floor(label) || label > 2147483646.0) {
        return refuse(fmt::format("label {} of sample {} is no class; labels are whole numbers from 0", label,
                                  i / (count / static_cast<std::size_t>(labels.type.shape[0]))));
      }
      dataset->labels_.push_back(static_cast<std::int32_t>(label));
      dataset->classes_ = std::max<std::int64_t>(dataset->classes_, static_cast<std::int64_t>(label) + 1);
    }
    dataset->labelShape_.assign(labels.type.shape.begin() + 1, labels.type.shape.end());
    // One label per sample may stand in a column.
    if (dataset->labelShape_ == graph::Shape{1}) dataset->labelShape_.clear();
    dataset->samples_ = std::move(samples);
    return std::unique_ptr<Dataset>(std::move(dataset));
  }

  std::string description() const override { return description_; }
  std::int64_t size() const override { return samples_.type.shape[0]; }
  graph::TensorType sampleType() const override {
    return {ElementType::float32, graph::Shape(samples_.type.shape.begin() + 1, samples_.type.shape.end())};
  }
  graph::TensorType labelType() const override { return {ElementType::int32, labelShape_}; }
  std::int64_t classes() const override { return classes_; }
  base::Status read(std::span<const std::int64_t> indices, std::span<float> samples,
                    std::span<std::int32_t> labels) const override {
    const auto width = static_cast<std::size_t>(sampleType().elements()),
               labelWidth = static_cast<std::size_t>(labelType().elements());
    PIPESCOPE_CHECK(samples.size() == indices.size() * width && labels.size() == indices.size() * labelWidth,
                    "buffers of another size than the samples");
    const bool bytes = samples_.type.element == ElementType::uint8;
    for (std::size_t row = 0; row < indices.size(); ++row) {
      PIPESCOPE_CHECK(indices[row] >= 0 && indices[row] < size(), "an index outside the data set");
      const auto index = static_cast<std::size_t>(indices[row]);
      for (std::size_t i = 0; i < width; ++i) {
        const double value = elementOf(samples_, index * width + i);
        samples[row * width + i] = bytes ? table_[static_cast<std::size_t>(value)] : static_cast<float>(value);
      }
      std::copy_n(labels_.begin() + static_cast<std::ptrdiff_t>(index * labelWidth), labelWidth,
                  labels.begin() + static_cast<std::ptrdiff_t>(row * labelWidth));
    }
    return {};
  }

 private:
  ArrayDataset() = default;
  std::string description_;
  TensorValue samples_;
  std::vector<std::int32_t> labels_;
  graph::Shape labelShape_;
  std::int64_t classes_ = 0;
  std::array<float, 256> table_{};
};

std::string splitName(const DatasetRequest& request) {
  return request.split == Split::train ? "train" : "test";
}

base::Status requireDirectory(const DatasetRequest& request, const char* what) {
  if (!request.directory.empty()) return {};
  return badInput(fmt::format("the folder of the {} is missing: give it with --data", what));
}

/// train.npz with the arrays samples and labels, or train_samples.npy and train_labels.npy; test likewise.
Result<std::unique_ptr<Dataset>> openNumpy(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "NumPy files"));
  const std::string split = splitName(request);
  const fs::path archive = request.directory / (split + ".npz");
  std::error_code error;
  if (fs::exists(archive, error)) {
    PIPESCOPE_ASSIGN(auto arrays, readNpz(archive));
    for (const char* name : {"samples", "labels"}) {
      if (!arrays.contains(name))
        return badInput(fmt::format("'{}' has no array called {}", archive.string(), name));
    }
    return ArrayDataset::create("'" + archive.string() + "'", std::move(arrays["samples"]),
                                std::move(arrays["labels"]), request.preprocessing);
  }
  PIPESCOPE_ASSIGN(TensorValue samples, readNpy(request.directory / (split + "_samples.npy")));
  PIPESCOPE_ASSIGN(TensorValue labels, readNpy(request.directory / (split + "_labels.npy")));
  return ArrayDataset::create(fmt::format("'{}' ({})", request.directory.string(), split), std::move(samples),
                              std::move(labels), request.preprocessing);
}

/// train_samples.pb and train_labels.pb; test likewise.
Result<std::unique_ptr<Dataset>> openProto(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "TensorProto files"));
  const std::string split = splitName(request);
  PIPESCOPE_ASSIGN(TensorValue samples, onnx::readTensorFile(request.directory / (split + "_samples.pb")));
  PIPESCOPE_ASSIGN(TensorValue labels, onnx::readTensorFile(request.directory / (split + "_labels.pb")));
  return ArrayDataset::create(fmt::format("'{}' ({})", request.directory.string(), split), std::move(samples),
                              std::move(labels), request.preprocessing);
}

}  // namespace

PIPESCOPE_REGISTER_DATASET(numpy) {
  registry.add({"numpy", "arrays in a folder: train.npz with samples and labels, or train_samples.npy and "
                         "train_labels.npy; test likewise",
                openNumpy});
}

PIPESCOPE_REGISTER_DATASET(tensor_proto) {
  registry.add({"tensor_proto", "ONNX TensorProto files in a folder: train_samples.pb, train_labels.pb, test likewise",
                openProto});
}

}  // namespace pipescope::data

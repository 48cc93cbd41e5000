// Data sets of arrays from NumPy files and ONNX TensorProto. The first axis of each array counts the rows,
// and every array is a field.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/data/dataset_registry.h"
#include "engine/data/npy_file.h"
#include "engine/onnx/reader.h"
#include "engine/ops/core/cast_elements.h"
#include "profiler/base/check.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {
namespace {

namespace fs = std::filesystem;
using base::badInput;
using base::Result;
using base::Status;
using graph::ElementType;
using graph::TensorValue;

bool arrayDatasetIsReal(ElementType type) {
  using enum ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

template <class T>
std::vector<std::byte> bytesOf(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Finds the model's request for an array: by name, or as its only input of samples, or as its labels.
const FieldRequest* requestOf(const DatasetRequest& request, const std::string& name) {
  const auto found = std::ranges::find(request.fields, name, &FieldRequest::name);
  if (found != request.fields.end()) return &*found;
  if (name == "samples") return request.onlySample();
  return name == "labels" ? request.labels() : nullptr;
}

/// A set of arrays. It scales and normalises bytes like images if the model takes them as real numbers.
/// Labels must be class numbers unless the model takes them as numbers. All other arrays keep their values.
class ArrayDataset : public Dataset {
 public:
  static Result<std::unique_ptr<Dataset>> create(std::string place, std::map<std::string, TensorValue> arrays,
                                                 const DatasetRequest& request) {
    auto dataset = std::unique_ptr<ArrayDataset>(new ArrayDataset(std::move(place)));
    PIPESCOPE_TRY(dataset->choose(arrays, request));
    PIPESCOPE_ASSIGN(const auto table, preprocessingTable(request.preprocessing));
    for (auto& [name, array] : arrays) {
      const FieldRequest* wanted = requestOf(request, name);
      const bool labels = wanted ? wanted->labels : name == "labels";
      if (labels && !(wanted && arrayDatasetIsReal(wanted->type.element))) {
        PIPESCOPE_TRY(dataset->makeClasses(array, wanted ? wanted->ignored : 0));
      } else if (array.type.element == ElementType::uint8 && !labels &&
                 (!wanted || arrayDatasetIsReal(wanted->type.element))) {
        std::vector<float> scaled;
        for (const std::byte byte : array.bytes) scaled.push_back(table[std::to_integer<std::size_t>(byte)]);
        array = {{ElementType::float32, array.type.shape}, bytesOf(scaled)};
      }
      dataset->names_.push_back(name);
      dataset->arrays_.push_back(std::move(array));
    }
    dataset->description_ =
        fmt::format("{} samples of {}", base::groupedText(dataset->size()), dataset->description_);
    return std::unique_ptr<Dataset>(std::move(dataset));
  }

  /// The number of rows that create() would give. Only the types of the arrays are looked at.
  static Result<std::int64_t> rowsOf(std::string place, std::map<std::string, TensorValue> arrays,
                                     const DatasetRequest& request) {
    PIPESCOPE_TRY(ArrayDataset(std::move(place)).choose(arrays, request));
    return arrays.begin()->second.type.shape[0];
  }

  std::string description() const override { return description_; }
  std::int64_t size() const override { return arrays_.front().type.shape[0]; }
  std::vector<Field> fields() const override {
    std::vector<Field> fields;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const auto& [element, shape] = arrays_[i].type;
      fields.push_back({names_[i], {element, graph::Shape(shape.begin() + 1, shape.end())}});
    }
    return fields;
  }
  std::int64_t classes() const override { return classes_; }
  Status read(std::span<const std::int64_t> indices,
              std::span<const std::span<std::byte>> values) const override {
    PIPESCOPE_CHECK(values.size() == arrays_.size(), "as many buffers as fields");
    for (std::size_t f = 0; f < arrays_.size(); ++f) {
      const std::size_t width = arrays_[f].bytes.size() / static_cast<std::size_t>(size());
      PIPESCOPE_CHECK(values[f].size() == indices.size() * width, "buffers of another size than the samples");
      for (std::size_t row = 0; row < indices.size(); ++row) {
        PIPESCOPE_CHECK(indices[row] >= 0 && indices[row] < size(), "an index outside the data set");
        std::memcpy(values[f].data() + row * width,
                    arrays_[f].bytes.data() + static_cast<std::size_t>(indices[row]) * width, width);
      }
    }
    return {};
  }

 private:
  explicit ArrayDataset(std::string place) : description_(std::move(place)) {}

  base::Error refuse(const std::string& why) const { return badInput(description_ + ": " + why); }

  /// Drops arrays that the model does not ask for if their number of rows differs.
  Status choose(std::map<std::string, TensorValue>& arrays, const DatasetRequest& request) const {
    const std::string* first = nullptr;
    for (const auto& [name, array] : arrays) {
      if (!request.fields.empty() && !requestOf(request, name)) continue;
      if (array.type.shape.empty() || array.type.shape[0] < 1)
        return refuse(fmt::format("{} needs a first axis that counts the samples, of at least 1", name));
      if (array.type.elements() == 0) return refuse(name + " has an axis of no elements");
      if (first && arrays[*first].type.shape[0] != array.type.shape[0]) {
        return refuse(fmt::format("there are {} {}, but {} {}; give as many", arrays[*first].type.shape[0],
                                  *first, array.type.shape[0], name));
      }
      if (!first) first = &name;
    }
    if (first) {
      const std::int64_t rows = arrays[*first].type.shape[0];
      std::erase_if(arrays, [rows](const auto& entry) {
        const graph::TensorType& type = entry.second.type;
        return type.shape.empty() || type.shape[0] != rows || type.elements() == 0;
      });
      return {};
    }
    std::string has, wants;
    for (const auto& [name, array] : arrays) has += (has.empty() ? "" : ", ") + name;
    for (const FieldRequest& field : request.fields) wants += (wants.empty() ? "" : ", ") + field.name;
    if (has.empty()) return refuse("there is no array in it");
    return refuse(
        fmt::format("it has {}, but the model takes {}: name the arrays as the model's inputs", has, wants));
  }

  Status makeClasses(TensorValue& array, std::int64_t ignored) {
    const auto count = static_cast<std::size_t>(array.type.elements());
    std::vector<double> given(count);
    ops::castElements(array.type.element, array.bytes.data(), ElementType::float64,
                      reinterpret_cast<std::byte*>(given.data()), array.type.elements());
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < count; ++i) {
      const bool leftOut = ignored < 0 && given[i] == static_cast<double>(ignored);
      const bool isClass = given[i] >= 0 && given[i] == std::floor(given[i]) && given[i] <= 2147483646.0;
      if (!isClass && !leftOut) {
        return refuse(
            fmt::format("label {} of sample {} is no class; labels are whole numbers from 0{}, "
                        "unless the loss takes numbers (mse, bce)",
                        given[i], i / (count / static_cast<std::size_t>(array.type.shape[0])),
                        ignored < 0 ? fmt::format(" or {}, which is left out", ignored) : ""));
      }
      labels.push_back(static_cast<std::int32_t>(given[i]));
      classes_ = std::max<std::int64_t>(classes_, labels.back() + std::int64_t{1});
    }
    graph::Shape shape = array.type.shape;
    // Labels may also be a single column, with shape (rows, 1).
    if (shape.size() == 2 && shape[1] == 1) shape.pop_back();
    array = {{ElementType::int32, std::move(shape)}, bytesOf(labels)};
    return {};
  }

  std::string description_;
  std::vector<std::string> names_;
  std::vector<TensorValue> arrays_;
  std::int64_t classes_ = 0;
};

std::string splitName(const DatasetRequest& request) {
  return request.split == DataSplit::train ? "train" : "test";
}

std::string placeOf(const DatasetRequest& request) {
  return fmt::format("'{}' ({})", request.directory.string(), splitName(request));
}

Status requireDirectory(const DatasetRequest& request, const char* what) {
  if (!request.directory.empty()) return {};
  return badInput(fmt::format("the folder of the {} is missing: give it with --data", what));
}

/// Finds the split's files of one kind, by field. For the split train these are train_NAME.npy in the folder,
/// and NAME.npy in its subfolder train.
Result<std::map<std::string, fs::path>> filesOf(const DatasetRequest& request, const std::string& extension) {
  const std::string split = splitName(request);
  std::map<std::string, fs::path> files;
  const auto list = [&](const fs::path& folder, const std::string& prefix) -> Status {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string stem = entry->path().stem().string();
      if (entry->path().extension() != extension || !stem.starts_with(prefix) || stem == prefix) continue;
      if (!files.emplace(stem.substr(prefix.size()), entry->path()).second)
        return badInput(fmt::format("'{}' stands in two files; leave one out", entry->path().string()));
    }
    if (!error) return {};
    return base::ioError(fmt::format("cannot list the folder '{}': {}", folder.string(), error.message()));
  };
  PIPESCOPE_TRY(list(request.directory, split + "_"));
  std::error_code error;
  if (fs::is_directory(request.directory / split, error)) PIPESCOPE_TRY(list(request.directory / split, ""));
  if (!files.empty()) return files;
  return base::ioError(
      fmt::format("'{}' has no data for {}: give {}_samples{} and {}_labels{}, or a file called as each "
                  "of the model's inputs",
                  request.directory.string(), toString(request.split), split, extension, split, extension));
}

/// Reads only the arrays that the model asks for.
Result<std::unique_ptr<Dataset>> openFiles(const DatasetRequest& request, const std::string& extension,
                                           Result<TensorValue> (*read)(const fs::path&)) {
  PIPESCOPE_ASSIGN(const auto files, filesOf(request, extension));
  std::map<std::string, TensorValue> arrays;
  for (const auto& [name, file] : files) {
    PIPESCOPE_ASSIGN(arrays[name], read(file));
  }
  return ArrayDataset::create(placeOf(request), std::move(arrays), request);
}

Result<std::unique_ptr<Dataset>> openNumpy(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "NumPy files"));
  const fs::path archive = request.directory / (splitName(request) + ".npz");
  std::error_code error;
  if (!fs::exists(archive, error)) return openFiles(request, ".npy", readNpy);
  PIPESCOPE_ASSIGN(auto arrays, readNpz(archive));
  return ArrayDataset::create("'" + archive.string() + "'", std::move(arrays), request);
}

Result<std::int64_t> countFiles(const DatasetRequest& request, const std::string& extension,
                                Result<graph::TensorType> (*read)(const fs::path&)) {
  PIPESCOPE_ASSIGN(const auto files, filesOf(request, extension));
  std::map<std::string, TensorValue> arrays;
  for (const auto& [name, file] : files) {
    PIPESCOPE_ASSIGN(arrays[name].type, read(file));
  }
  return ArrayDataset::rowsOf(placeOf(request), std::move(arrays), request);
}

/// Counts the rows from the headers of the arrays.
Result<std::int64_t> countNumpy(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "NumPy files"));
  const fs::path archive = request.directory / (splitName(request) + ".npz");
  std::error_code error;
  if (!fs::exists(archive, error)) return countFiles(request, ".npy", readNpyType);
  PIPESCOPE_ASSIGN(auto types, readNpzTypes(archive));
  std::map<std::string, TensorValue> arrays;
  for (auto& [name, type] : types) arrays[name].type = std::move(type);
  return ArrayDataset::rowsOf("'" + archive.string() + "'", std::move(arrays), request);
}

Result<std::unique_ptr<Dataset>> openProto(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "TensorProto files"));
  return openFiles(request, ".pb", onnx::readTensorFile);
}

Result<std::int64_t> countProto(const DatasetRequest& request) {
  PIPESCOPE_TRY(requireDirectory(request, "TensorProto files"));
  return countFiles(request, ".pb", onnx::readTensorType);
}

}  // namespace

PIPESCOPE_REGISTER_DATASET(numpy) {
  registry.add(
      {"numpy",
       "arrays in a folder, by the names of the model's inputs, or samples and labels: train.npz, or "
       "train_NAME.npy, or train/NAME.npy; test likewise",
       openNumpy, preprocessingSettings(), countNumpy});
}

PIPESCOPE_REGISTER_DATASET(tensor_proto) {
  registry.add(
      {"tensor_proto",
       "ONNX TensorProto files in a folder, by the names of the model's inputs, or samples and labels: "
       "train_NAME.pb or train/NAME.pb; test likewise",
       openProto, preprocessingSettings(), countProto});
}

}  // namespace pipescope::data

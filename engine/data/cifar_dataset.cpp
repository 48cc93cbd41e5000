// CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky: "Learning multiple layers of features from tiny
// images", 2009). A record has one label (CIFAR-100: a coarse and a fine one), then 3 × 32 × 32 bytes, red
// first.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/data/dataset_registry.h"
#include "engine/data/labelled_images.h"
#include "engine/data/npy_file.h"
#include "profiler/base/check.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kPixels = 3 * 32 * 32;

/// The differences between the two sets.
struct CifarKind {
  const char* name;
  std::size_t labels;  ///< label bytes before an image; the last one is the class
  std::int64_t classes;
  std::vector<std::string> train, test;
};

const CifarKind& kindOf(bool hundred) {
  static const CifarKind ten{
      "CIFAR-10",
      1,
      10,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      {"test_batch.bin"}};
  static const CifarKind fine{"CIFAR-100", 2, 100, {"train.bin"}, {"test.bin"}};
  return hundred ? fine : ten;
}

base::Status checkRecords(const CifarKind& kind, const fs::path& file, std::uintmax_t bytes) {
  const std::size_t record = kind.labels + kPixels;
  if (bytes > 0 && bytes % record == 0) return {};
  return base::badInput(fmt::format("'{}' has {} bytes, which are not whole {} records of {}; fetch it again",
                                    file.string(), base::groupedText(static_cast<std::int64_t>(bytes)),
                                    kind.name, base::groupedText(static_cast<std::int64_t>(record))));
}

class CifarDataset : public LabelledImages {
 public:
  CifarDataset(const CifarKind& kind, std::string description, std::array<float, 256> table)
      : kind_(kind), description_(std::move(description)), table_(table) {}

  base::Status add(const fs::path& file) {
    PIPESCOPE_ASSIGN(const std::vector<std::byte> bytes, readWholeFile(file, "data set"));
    const std::size_t record = kind_.labels + kPixels;
    PIPESCOPE_TRY(checkRecords(kind_, file, bytes.size()));
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      if (std::to_integer<std::int64_t>(bytes[at + kind_.labels - 1]) >= kind_.classes) {
        return base::badInput(fmt::format("'{}': label {} of item {} is outside 0…{}; is it {}?",
                                          file.string(), std::to_integer<int>(bytes[at + kind_.labels - 1]),
                                          at / record, kind_.classes - 1, kind_.name));
      }
    }
    records_.insert(records_.end(), bytes.begin(), bytes.end());
    return {};
  }

  std::string description() const override {
    return fmt::format("{} {} images of {}", base::groupedText(size()), kind_.name, description_);
  }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(records_.size() / (kind_.labels + kPixels));
  }
  std::int64_t classes() const override { return kind_.classes; }

 private:
  graph::Shape sampleShape() const override { return {3, 32, 32}; }
  base::Status readImages(std::span<const std::int64_t> indices, std::span<float> samples,
                          std::span<std::int32_t> labels) const override {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::byte* record =
          records_.data() + static_cast<std::size_t>(indices[row]) * (kind_.labels + kPixels);
      labels[row] = std::to_integer<std::int32_t>(record[kind_.labels - 1]);
      std::transform(record + kind_.labels, record + kind_.labels + kPixels,
                     samples.begin() + static_cast<std::ptrdiff_t>(row * kPixels),
                     [this](std::byte byte) { return table_[std::to_integer<std::size_t>(byte)]; });
    }
    return {};
  }

  const CifarKind& kind_;
  std::string description_;
  std::vector<std::byte> records_;
  std::array<float, 256> table_;
};

base::Result<std::vector<fs::path>> cifarFiles(const DatasetRequest& request, const CifarKind& kind) {
  if (request.directory.empty())
    return base::badInput(
        fmt::format("the folder of the {} files is missing: give it with --data", kind.name));
  std::vector<fs::path> files;
  for (const std::string& file : request.split == DataSplit::train ? kind.train : kind.test)
    files.push_back(request.directory / file);
  return files;
}

base::Result<std::unique_ptr<Dataset>> open(const DatasetRequest& request, bool hundred) {
  PIPESCOPE_ASSIGN(const auto table, preprocessingTable(request.preprocessing));
  const CifarKind& kind = kindOf(hundred);
  PIPESCOPE_ASSIGN(const std::vector<fs::path> files, cifarFiles(request, kind));
  auto dataset = std::make_unique<CifarDataset>(kind, "'" + request.directory.string() + "'", table);
  for (const fs::path& file : files) PIPESCOPE_TRY(dataset->add(file));
  return std::unique_ptr<Dataset>(std::move(dataset));
}

/// Counts the records from the lengths of the files.
base::Result<std::int64_t> countCifar(const DatasetRequest& request, bool hundred) {
  const CifarKind& kind = kindOf(hundred);
  PIPESCOPE_ASSIGN(const std::vector<fs::path> files, cifarFiles(request, kind));
  std::uintmax_t records = 0;
  for (const fs::path& file : files) {
    PIPESCOPE_ASSIGN(const std::uintmax_t bytes, plainFileSize(file, "data set"));
    PIPESCOPE_TRY(checkRecords(kind, file, bytes));
    records += bytes / (kind.labels + kPixels);
  }
  return static_cast<std::int64_t>(records);
}

}  // namespace

PIPESCOPE_REGISTER_DATASET(cifar) {
  registry.add({"cifar10", "CIFAR-10's binary files in a folder",
                [](const DatasetRequest& request) { return open(request, false); }, preprocessingSettings(),
                [](const DatasetRequest& request) { return countCifar(request, false); }});
  registry.add({"cifar100", "CIFAR-100's binary files in a folder, with the fine labels",
                [](const DatasetRequest& request) { return open(request, true); }, preprocessingSettings(),
                [](const DatasetRequest& request) { return countCifar(request, true); }});
}

}  // namespace pipescope::data

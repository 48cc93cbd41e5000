#include "engine/data/idx_dataset.h"

#include <cmath>
#include <limits>

#include "engine/data/dataset_registry.h"
#include "engine/data/digits/mnist_files.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::expectError;
using testing::Folder;
using testing::gzip;
using testing::twoImages;
using testing::twoLabels;

void writeTrainingSet(const Folder& folder) {
  folder.write("train-images-idx3-ubyte", twoImages());
  folder.write("train-labels-idx1-ubyte", twoLabels());
}

Preprocessing raw() {
  return {.scale = false, .normalise = false};
}

TEST(MnistFiles, Names) {
  EXPECT_EQ(mnistFileName(DataSplit::train, IdxKind::images), "train-images-idx3-ubyte");
  EXPECT_EQ(mnistFileName(DataSplit::train, IdxKind::labels), "train-labels-idx1-ubyte");
  EXPECT_EQ(mnistFileName(DataSplit::test, IdxKind::images), "t10k-images-idx3-ubyte");
  EXPECT_EQ(mnistFileName(DataSplit::test, IdxKind::labels), "t10k-labels-idx1-ubyte");
}

TEST(MnistFiles, FindsTheUsualVariants) {
  for (const std::string name :
       {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "t10k-images.idx3-ubyte",
        "t10k-images.idx3-ubyte.gz", "MNIST/raw/t10k-images-idx3-ubyte.gz"}) {
    const Folder folder;
    const auto written = folder.write(name, twoImages());
    const auto found = findMnistFile(folder.path(), DataSplit::test, IdxKind::images);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, written);
  }
}

TEST(MnistFiles, SaysWhatWasLookedFor) {
  const Folder folder;
  expectError(findMnistFile(folder.path() / "none", DataSplit::train, IdxKind::images), ErrorKind::io,
              {"the data folder '", "none' does not exist", "train-images-idx3-ubyte"});
  expectError(findMnistFile(folder.write("file", {}), DataSplit::train, IdxKind::images), ErrorKind::io,
              {"is not a folder"});
  expectError(findMnistFile(folder.path(), DataSplit::test, IdxKind::labels), ErrorKind::io,
              {"no test labels in '" + folder.path().string() + "'",
               "t10k-labels-idx1-ubyte, t10k-labels-idx1-ubyte.gz, t10k-labels.idx1-ubyte and "
               "t10k-labels.idx1-ubyte.gz",
               "MNIST/raw"});
}

TEST(IdxDataset, ReadsRowsByIndex) {
  const Folder folder;
  writeTrainingSet(folder);
  const auto dataset =
      IdxDataset::open(folder.path(), DataSplit::train, {.preprocessing = raw(), .sampleShape = {}});
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ((*dataset)->size(), 2);
  EXPECT_EQ(testing::typeOf(**dataset, "samples"),
            (graph::TensorType{graph::ElementType::float32, {1, 2, 3}}));
  EXPECT_EQ(testing::typeOf(**dataset, "labels"), (graph::TensorType{graph::ElementType::int32, {}}));
  EXPECT_EQ((*dataset)->classes(), 10);
  EXPECT_THAT((*dataset)->description(),
              ::testing::HasSubstr("2 training images of '" + folder.path().string()));
  const auto [samples, labels] = testing::readRows(**dataset, {1, 0, 1});
  EXPECT_THAT(labels, ElementsAre(3, 7, 3));
  EXPECT_THAT(samples,
              ElementsAre(250, 251, 252, 253, 254, 255, 0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255));
}

TEST(IdxDataset, ReadsGzipAndTestSplit) {
  const Folder folder;
  folder.write("t10k-images-idx3-ubyte.gz", gzip(twoImages()));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(twoLabels()));
  EXPECT_TRUE(IdxDataset::open(folder.path(), DataSplit::test, {}).ok());
  EXPECT_FALSE(IdxDataset::open(folder.path(), DataSplit::train, {}).ok());
}

TEST(IdxDataset, ScalesAndNormalises) {
  const Folder folder;
  writeTrainingSet(folder);
  const auto last = [&](const Preprocessing& preprocessing) {
    const auto dataset = IdxDataset::open(folder.path(), DataSplit::train,
                                          {.preprocessing = preprocessing, .sampleShape = {}});
    EXPECT_TRUE(dataset.ok());
    return testing::readRows(**dataset, {1}).samples.back();
  };
  EXPECT_FLOAT_EQ(last({.scale = true, .normalise = false}), 1.0F);
  EXPECT_FLOAT_EQ(last({}), 2.8214867F);  // (1 − 0.1307) ÷ 0.3081
  EXPECT_FLOAT_EQ(last({.scale = false, .normalise = true, .mean = 55, .deviation = 2}), 100.0F);
}

TEST(IdxDataset, RefusesBadNormalisation) {
  const Folder folder;
  writeTrainingSet(folder);
  for (const double deviation :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    expectError(IdxDataset::open(folder.path(), DataSplit::train,
                                 {.preprocessing = {.deviation = deviation}, .sampleShape = {}}),
                ErrorKind::badInput, {"standard deviation of", "above 0"});
  }
  expectError(IdxDataset::open(folder.path(), DataSplit::train,
                               {.preprocessing = {.mean = std::nan("")}, .sampleShape = {}}),
              ErrorKind::badInput, {"a mean of nan"});
}

TEST(IdxDataset, CountsMustAgree) {
  const Folder folder;
  writeTrainingSet(folder);
  folder.write("train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 3, 7, 3, 1});
  expectError(IdxDataset::open(folder.path(), DataSplit::train, {}), ErrorKind::badInput,
              {"train-images-idx3-ubyte' holds 2 images but '", "train-labels-idx1-ubyte' holds 3 labels"});
}

TEST(IdxDataset, LabelsMustBeInRange) {
  const Folder folder;
  writeTrainingSet(folder);
  folder.write("train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 2, 9, 10});
  expectError(IdxDataset::open(folder.path(), DataSplit::train, {}), ErrorKind::badInput,
              {"train-labels-idx1-ubyte': label 10 of item 1 is outside 0…9"});
  EXPECT_TRUE(IdxDataset::open(folder.path(), DataSplit::train,
                               {.preprocessing = {}, .classes = 11, .sampleShape = {}})
                  .ok());
}

TEST(IdxDataset, OneBadFileOfTheTwoIsNamed) {
  const Folder folder;
  writeTrainingSet(folder);
  folder.write("train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 2, 9});
  expectError(IdxDataset::open(folder.path(), DataSplit::train, {}), ErrorKind::badInput,
              {"train-labels-idx1-ubyte' is truncated"});
  std::filesystem::remove(folder.path() / "train-labels-idx1-ubyte");
  expectError(IdxDataset::open(folder.path(), DataSplit::train, {}), ErrorKind::io, {"no training labels"});
}

TEST(IdxDataset, TakesAnotherShapeOfTheSameSizeOnly) {
  const Folder folder;
  writeTrainingSet(folder);
  const auto flat =
      IdxDataset::open(folder.path(), DataSplit::train, {.preprocessing = {}, .sampleShape = {6}});
  ASSERT_TRUE(flat.ok());
  EXPECT_EQ(testing::typeOf(**flat, "samples").shape, (graph::Shape{6}));
  expectError(
      IdxDataset::open(folder.path(), DataSplit::train, {.preprocessing = {}, .sampleShape = {1, 28, 28}}),
      ErrorKind::badInput, {"train-images-idx3-ubyte' are 1x2x3 float32, the model takes 1x28x28 float32"});
}

TEST(IdxDatasetDeathTest, IndicesAndBuffersAreTheCallersDuty) {
  const Folder folder;
  writeTrainingSet(folder);
  const auto dataset = IdxDataset::open(folder.path(), DataSplit::train, {});
  ASSERT_TRUE(dataset.ok());
  std::vector<std::byte> samples(24), labels(4);
  const std::vector<std::span<std::byte>> parts{samples, labels};
  EXPECT_DEATH((testing::printChecks(), (void)(*dataset)->read(std::vector<std::int64_t>{2}, parts)),
               "outside the data set");
  EXPECT_DEATH((testing::printChecks(), (void)(*dataset)->read(std::vector<std::int64_t>{0, 1}, parts)),
               "another size");
}

TEST(DatasetRegistry, OpensByName) {
  const Folder folder;
  writeTrainingSet(folder);
  DatasetRequest request;
  request.directory = folder.path();
  const auto dataset = openDataset("mnist", request);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ((*dataset)->size(), 2);
  request.fields = {{"x", {graph::ElementType::float32, {5}}}};
  expectError(openDataset("mnist", request), ErrorKind::badInput, {"the model takes 5 float32"});
  request.fields.push_back({"labels", {graph::ElementType::int32, {4}}, 10, -1, 1, true});
  expectError(openDataset("mnist", request), ErrorKind::badInput,
              {"one label per image, the model takes 4 int32"});
  expectError(openDataset("cifar", request), ErrorKind::badInput,
              {"no data-set format 'cifar'", "cifar10", "mnist", "synthetic"});
}

TEST(DatasetRegistry, EveryFormatIsDocumented) {
  DatasetRegistry registry;
  registerDatasets(registry);
  ASSERT_GE(registry.formats().size(), 7U);
  for (const DatasetFormat& format : registry.formats()) EXPECT_FALSE(format.doc.empty());
}

TEST(IdxDataset, RowsAreCountedFromHeaders) {
  const Folder folder;
  writeTrainingSet(folder);
  DatasetRequest request;
  request.directory = folder.path();
  const auto count = countDataset("mnist", request);
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 2);
  // Values are not looked at: label 77 is none of ten classes.
  Bytes labels = twoLabels();
  labels.back() = 77;
  folder.write("train-labels-idx1-ubyte", labels);
  EXPECT_FALSE(openDataset("mnist", request).ok());
  EXPECT_TRUE(countDataset("mnist", request).ok());
  // Headers are checked as when the set is opened.
  request.fields = {{"samples", {graph::ElementType::float32, {1, 5, 5}}}};
  expectError(countDataset("mnist", request), ErrorKind::badInput, {"the model takes 1x5x5 float32"});
  request.fields.clear();
  folder.write("train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 1, 4});
  expectError(countDataset("mnist", request), ErrorKind::badInput, {"holds 2 images but", "holds 1 labels"});
  request.split = DataSplit::test;
  expectError(countDataset("mnist", request), ErrorKind::io, {"no test images"});
  expectError(countDataset("minst", request), ErrorKind::badInput, {"there is no data-set format 'minst'"});
}

}  // namespace
}  // namespace pipescope::data

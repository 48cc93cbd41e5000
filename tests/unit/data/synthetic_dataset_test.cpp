#include "engine/data/synthetic_dataset.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/data/dataset_registry.h"
#include "engine/data/prefix_dataset.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using testing::expectError;

using Rows = testing::PlainRows;
using graph::ElementType;

Rows readRows(const SyntheticDataset::Options& options, const std::vector<std::int64_t>& indices) {
  const auto dataset = SyntheticDataset::create(options);
  EXPECT_TRUE(dataset.ok());
  return testing::readRows(**dataset, indices);
}

constexpr std::size_t kSamples = 0, kLabels = 1;
SyntheticDataset::Options syntheticDatasetSmall() {
  SyntheticDataset::Options options;
  options.count = 1000;
  options.seed = 11;
  options.fields = {{"samples", {ElementType::float32, {2, 3}}, 0, -1, 1, false},
                    {"labels", {ElementType::int32, {}}, 4, -1, 1, true}};
  return options;
}

TEST(SyntheticDataset, TypesAreThoseAskedFor) {
  SyntheticDataset::Options options = syntheticDatasetSmall();
  options.fields[kLabels].type.shape = {5};
  const auto dataset = SyntheticDataset::create(options);
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ((*dataset)->size(), 1000);
  EXPECT_EQ(testing::typeOf(**dataset, "samples"), (graph::TensorType{graph::ElementType::float32, {2, 3}}));
  EXPECT_EQ(testing::typeOf(**dataset, "labels"), (graph::TensorType{graph::ElementType::int32, {5}}));
  EXPECT_EQ((*dataset)->classes(), 4);
  EXPECT_EQ((*dataset)->description(), "1,000 synthetic training samples (seed 11)");
}

TEST(SyntheticDataset, SampleDependsOnSeedSplitAndIndexOnly) {
  const Rows both = readRows(syntheticDatasetSmall(), {3, 8});
  const Rows eight = readRows(syntheticDatasetSmall(), {8});
  EXPECT_TRUE(
      std::equal(eight.samples.begin(), eight.samples.end(), both.samples.begin() + 6, both.samples.end()));
  EXPECT_EQ(eight.labels[0], both.labels[1]);
  SyntheticDataset::Options other = syntheticDatasetSmall();
  other.seed = 12;
  EXPECT_NE(readRows(other, {8}), eight);
  other = syntheticDatasetSmall();
  other.split = DataSplit::test;
  EXPECT_NE(readRows(other, {8}), eight);
}

TEST(SyntheticDataset, ValuesFillTheirRange) {
  std::vector<std::int64_t> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Rows real = readRows(syntheticDatasetSmall(), all);
  const auto [low, high] = std::minmax_element(real.samples.begin(), real.samples.end());
  EXPECT_TRUE(*low >= -1 && *low < -0.99F);
  EXPECT_TRUE(*high < 1 && *high > 0.99F);
  EXPECT_EQ(std::set<std::int32_t>(real.labels.begin(), real.labels.end()),
            (std::set<std::int32_t>{0, 1, 2, 3}));
  SyntheticDataset::Options other = syntheticDatasetSmall();
  other.fields[kSamples].type.element = ElementType::int64;
  other.fields[kSamples].limit = 3;
  other.fields[kLabels].type.element = ElementType::float32;
  other.fields[kLabels].low = 0;
  const auto bytes = testing::readFields(**SyntheticDataset::create(other), all);
  const auto tokens = testing::valuesOf<std::int64_t>(bytes[0]);
  EXPECT_EQ(std::set<std::int64_t>(tokens.begin(), tokens.end()), (std::set<std::int64_t>{0, 1, 2}));
  const auto numbers = testing::valuesOf<float>(bytes[1]);
  EXPECT_TRUE(*std::ranges::min_element(numbers) >= 0 && *std::ranges::max_element(numbers) < 1);
}

TEST(SyntheticDataset, FieldsDoNotShareNumbersAndTheFirstKeepsIts) {
  SyntheticDataset::Options two = syntheticDatasetSmall();
  two.fields.insert(two.fields.begin() + 1, {"more", {ElementType::float32, {2, 3}}, 0, -1, 1, false});
  const auto bytes = testing::readFields(**SyntheticDataset::create(two), {5});
  const Rows one = readRows(syntheticDatasetSmall(), {5});
  EXPECT_EQ(testing::valuesOf<float>(bytes[0]), one.samples);
  EXPECT_NE(testing::valuesOf<float>(bytes[1]), one.samples);
  EXPECT_EQ(testing::valuesOf<std::int32_t>(bytes[2]), one.labels);
}

TEST(SyntheticDataset, RefusesWhatItCannotMake) {
  const auto with = [](auto change) {
    SyntheticDataset::Options options = syntheticDatasetSmall();
    change(options);
    return SyntheticDataset::create(options);
  };
  expectError(with([](auto& o) { o.count = 0; }), ErrorKind::badInput, {"of 0 samples", "1…100,000,000"});
  expectError(with([](auto& o) { o.count = 100'000'001; }), ErrorKind::badInput, {"of 100,000,001 samples"});
  expectError(with([](auto& o) {
                o.fields[kSamples].type.shape = {3, 0};
              }),
              ErrorKind::badInput, {"synthetic samples cannot have an extent of 0"});
  expectError(with([](auto& o) { o.fields[kLabels].type.shape = {-1}; }), ErrorKind::badInput,
              {"synthetic labels cannot have an extent of -1"});
  expectError(with([](auto& o) {
                o.fields[kSamples].type.shape = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
              }),
              ErrorKind::badInput, {"more than 2147483648 elements"});
  expectError(with([](auto& o) { o.fields[kLabels].limit = 0; }), ErrorKind::badInput,
              {"labels of 0 different int32", "1…2147483647"});
  expectError(with([](auto& o) {
                o.fields[kLabels].type.element = ElementType::uint8;
                o.fields[kLabels].limit = 257;
              }),
              ErrorKind::badInput, {"257 different uint8", "1…256"});
  expectError(with([](auto& o) { o.fields[kSamples].high = -1; }), ErrorKind::badInput, {"in [-1, -1)"});
  expectError(with([](auto& o) { o.fields.clear(); }), ErrorKind::badInput,
              {"takes its fields from the model"});
}

TEST(SyntheticDataset, OpensFromTheRegistry) {
  DatasetRequest request;
  request.split = DataSplit::test;
  request.fields = syntheticDatasetSmall().fields;
  request.count = 1000;
  request.seed = 11;
  const auto dataset = openDataset("synthetic", request);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  SyntheticDataset::Options options = syntheticDatasetSmall();
  options.split = DataSplit::test;
  EXPECT_EQ(testing::readRows(**dataset, {8}), readRows(options, {8}));
  request.count = 0;
  EXPECT_FALSE(openDataset("synthetic", request).ok());
}

TEST(PrefixDataset, IsTheBeginningOfAnother) {
  SyntheticDataset::Options options = syntheticDatasetSmall();
  options.fields[kLabels].type.shape = {5};
  const std::shared_ptr<const Dataset> whole = SyntheticDataset::create(options).value();
  const PrefixDataset prefix(whole, 9);
  EXPECT_EQ(prefix.size(), 9);
  EXPECT_EQ(toString(prefix.fields()), "samples (2x3 float32) and labels (5 int32)");
  EXPECT_EQ(prefix.classes(), 4);
  EXPECT_EQ(prefix.description(), "the first 9 of 1,000 synthetic training samples (seed 11)");
  EXPECT_EQ(testing::readRows(prefix, {8}), readRows(options, {8}));
}

}  // namespace
}  // namespace pipescope::data

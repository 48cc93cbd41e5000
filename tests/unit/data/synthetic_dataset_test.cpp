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

struct Rows {
  std::vector<float> samples;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Rows&, const Rows&) = default;
};

Rows readRows(const SyntheticDataset::Options& options, const std::vector<std::int64_t>& indices) {
  const auto dataset = SyntheticDataset::create(options);
  EXPECT_TRUE(dataset.ok());
  Rows rows;
  rows.samples.resize(indices.size() * static_cast<std::size_t>((*dataset)->sampleType().elements()));
  rows.labels.resize(indices.size() * static_cast<std::size_t>((*dataset)->labelType().elements()));
  EXPECT_TRUE((*dataset)->read(indices, rows.samples, rows.labels).ok());
  return rows;
}

SyntheticDataset::Options small() {
  return {.count = 1000, .sampleShape = {2, 3}, .labelShape = {}, .classes = 4, .seed = 11};
}

TEST(SyntheticDataset, TypesAreThoseAskedFor) {
  SyntheticDataset::Options options = small();
  options.labelShape = {5};
  const auto dataset = SyntheticDataset::create(options);
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ((*dataset)->size(), 1000);
  EXPECT_EQ((*dataset)->sampleType(), (graph::TensorType{graph::ElementType::float32, {2, 3}}));
  EXPECT_EQ((*dataset)->labelType(), (graph::TensorType{graph::ElementType::int32, {5}}));
  EXPECT_EQ((*dataset)->classes(), 4);
  EXPECT_EQ((*dataset)->description(), "1000 synthetic training samples (seed 11)");
}

TEST(SyntheticDataset, SampleDependsOnSeedSplitAndIndexOnly) {
  const Rows both = readRows(small(), {3, 8});
  const Rows eight = readRows(small(), {8});
  EXPECT_TRUE(
      std::equal(eight.samples.begin(), eight.samples.end(), both.samples.begin() + 6, both.samples.end()));
  EXPECT_EQ(eight.labels[0], both.labels[1]);
  SyntheticDataset::Options other = small();
  other.seed = 12;
  EXPECT_NE(readRows(other, {8}), eight);
  other = small();
  other.split = Split::test;
  EXPECT_NE(readRows(other, {8}), eight);
}

TEST(SyntheticDataset, ValuesFillTheirRange) {
  std::vector<std::int64_t> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Rows real = readRows(small(), all);
  const auto [low, high] = std::minmax_element(real.samples.begin(), real.samples.end());
  EXPECT_TRUE(*low >= -1 && *low < -0.99F);
  EXPECT_TRUE(*high < 1 && *high > 0.99F);
  EXPECT_EQ(std::set<std::int32_t>(real.labels.begin(), real.labels.end()),
            (std::set<std::int32_t>{0, 1, 2, 3}));
  SyntheticDataset::Options tokens = small();
  tokens.tokens = 3;
  const Rows whole = readRows(tokens, all);
  EXPECT_EQ(std::set<float>(whole.samples.begin(), whole.samples.end()), (std::set<float>{0, 1, 2}));
}

TEST(SyntheticDataset, RefusesWhatItCannotMake) {
  const auto with = [](auto change) {
    SyntheticDataset::Options options = small();
    change(options);
    return SyntheticDataset::create(options);
  };
  expectError(with([](auto& o) { o.count = 0; }), ErrorKind::badInput, {"of 0 samples", "1…100000000"});
  expectError(with([](auto& o) { o.count = 100'000'001; }), ErrorKind::badInput, {"of 100000001 samples"});
  expectError(with([](auto& o) {
                o.sampleShape = {3, 0};
              }),
              ErrorKind::badInput, {"synthetic samples cannot have an extent of 0"});
  expectError(with([](auto& o) { o.labelShape = {-1}; }), ErrorKind::badInput,
              {"synthetic labels cannot have an extent of -1"});
  expectError(with([](auto& o) {
                o.sampleShape = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
              }),
              ErrorKind::badInput, {"more than 2147483648 elements"});
  expectError(with([](auto& o) { o.classes = 0; }), ErrorKind::badInput, {"labels of 0 classes"});
  expectError(with([](auto& o) { o.tokens = -1; }), ErrorKind::badInput, {"-1 different tokens"});
  expectError(with([](auto& o) { o.tokens = (1 << 24) + 1; }), ErrorKind::badInput,
              {"16777217 different tokens"});
}

TEST(SyntheticDataset, OpensFromTheRegistry) {
  DatasetRequest request;
  request.split = Split::test;
  request.sampleShape = {2, 3};
  request.classes = 4;
  request.count = 1000;
  request.seed = 11;
  const auto dataset = openDataset("synthetic", request);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  SyntheticDataset::Options options = small();
  options.split = Split::test;
  Rows rows{std::vector<float>(6), std::vector<std::int32_t>(1)};
  ASSERT_TRUE((*dataset)->read(std::vector<std::int64_t>{8}, rows.samples, rows.labels).ok());
  EXPECT_EQ(rows, readRows(options, {8}));
  request.count = 0;
  EXPECT_FALSE(openDataset("synthetic", request).ok());
}

TEST(PrefixDataset, IsTheBeginningOfAnother) {
  SyntheticDataset::Options options = small();
  options.labelShape = {5};
  const std::shared_ptr<const Dataset> whole = SyntheticDataset::create(options).value();
  const PrefixDataset prefix(whole, 9);
  EXPECT_EQ(prefix.size(), 9);
  EXPECT_EQ(prefix.sampleType(), whole->sampleType());
  EXPECT_EQ(prefix.labelType(), whole->labelType());
  EXPECT_EQ(prefix.classes(), 4);
  EXPECT_EQ(prefix.description(), "1000 synthetic training samples (seed 11), the first 9 samples");
  Rows rows{std::vector<float>(6), std::vector<std::int32_t>(5)};
  ASSERT_TRUE(prefix.read(std::vector<std::int64_t>{8}, rows.samples, rows.labels).ok());
  EXPECT_EQ(rows, readRows(options, {8}));
}

}  // namespace
}  // namespace pipescope::data

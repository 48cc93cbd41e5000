#include "engine/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <set>

#include "engine/data/synthetic_dataset.h"
#include "limits.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using testing::expectError;
using ::testing::IsEmpty;

/// Sample i is (i, −i) and its label is i. The data set counts reads, can fail at an index, and can block the
/// reader.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(std::int64_t size, graph::Shape shape = {2})
      : size_(size), shape_(std::move(shape)) {}

  std::string description() const override { return std::to_string(size_) + " numbers"; }
  std::int64_t size() const override { return size_; }
  std::vector<Field> fields() const override {
    return {{"samples", {graph::ElementType::float32, shape_}}, {"labels", {graph::ElementType::int32, {}}}};
  }
  std::int64_t classes() const override { return size_; }
  base::Status read(std::span<const std::int64_t> indices,
                    std::span<const std::span<std::byte>> values) const override {
    auto* samples = reinterpret_cast<float*>(values[0].data());
    auto* labels = reinterpret_cast<std::int32_t*>(values[1].data());
    std::unique_lock lock(mutex_);
    ++reads_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == failAt) return base::ioError("sample " + std::to_string(failAt) + " cannot be read");
      samples[2 * i] = static_cast<float>(indices[i]);
      samples[2 * i + 1] = -samples[2 * i];
      labels[i] = static_cast<std::int32_t>(indices[i]);
    }
    rows_ += static_cast<std::int64_t>(indices.size());
    changed_.notify_all();
    return {};
  }

  void setOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void waitForReads(int reads) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reads_ >= reads; });
  }
  void waitForRows(std::int64_t rows) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rows_ >= rows; });
  }
  std::int64_t rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }

  std::int64_t failAt = -1;

 private:
  const std::int64_t size_;
  const graph::Shape shape_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int reads_ = 0;
  mutable std::int64_t rows_ = 0;
  bool open_ = true;
};

std::span<const float> samplesOf(const Batch& batch) {
  return batch.values<float>(0);
}
std::span<const std::int32_t> labelsOf(const Batch& batch) {
  return batch.values<std::int32_t>(1);
}

std::unique_ptr<Loader> load(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options) {
  auto loader = Loader::create(std::move(dataset), options);
  EXPECT_TRUE(loader.ok()) << loader.error().message;
  return std::move(loader).value();
}

std::vector<Batch> allBatches(Loader& loader) {
  base::SilentProgress progress;
  std::vector<Batch> batches;
  while (true) {
    auto batch = loader.next(progress);
    EXPECT_TRUE(batch.ok());
    if (!batch.ok() || !batch->has_value()) return batches;
    batches.push_back(std::move(**batch));
  }
}

std::vector<Batch> allBatches(std::int64_t size, const LoaderOptions& options) {
  return allBatches(*load(std::make_shared<CountingDataset>(size), options));
}

TEST(Loader, CallsPerEpochOfTheTutorial) {
  const BatchShape training{.microBatch = 40, .deviceIterations = 10, .accumulation = 10};
  const auto train = load(std::make_shared<CountingDataset>(60'000), {.shape = training});
  EXPECT_EQ(train->callsPerEpoch(), 15);
  EXPECT_EQ(allBatches(*train).size(), 15U);
  const BatchShape inference{.microBatch = 8, .deviceIterations = 100};
  const auto test = load(std::make_shared<CountingDataset>(10'000), {.shape = inference, .shuffle = false});
  EXPECT_EQ(test->callsPerEpoch(), 12);
  const std::vector<Batch> batches = allBatches(*test);
  ASSERT_EQ(batches.size(), 12U);
  EXPECT_EQ(batches.back().rows, 800);
  EXPECT_EQ(labelsOf(batches.back()).back(), 9599) << "the last 400 samples are dropped";
}

TEST(Loader, SamplesBelongToTheirLabelsInTheEpochsOrder) {
  const LoaderOptions options{
      .shape = {.microBatch = 100, .deviceIterations = 3}, .seed = 4, .firstEpoch = 2, .epochs = 2};
  const std::vector<Batch> batches = allBatches(1000, options);
  ASSERT_EQ(batches.size(), 6U);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const Batch& batch = batches[b];
    EXPECT_EQ(batch.epoch, 2 + static_cast<std::int64_t>(b / 3));
    EXPECT_EQ(batch.call, static_cast<std::int64_t>(b % 3));
    ASSERT_EQ(batch.rows, 300);
    ASSERT_EQ(samplesOf(batch).size(), 600U);
    const std::vector<std::int64_t> order = epochOrder(1000, 4, batch.epoch, true);
    for (std::size_t row = 0; row < 300; ++row) {
      const auto index = static_cast<std::int32_t>(order[static_cast<std::size_t>(batch.call) * 300 + row]);
      ASSERT_EQ(labelsOf(batch)[row], index);
      ASSERT_EQ(samplesOf(batch)[2 * row], static_cast<float>(index));
      ASSERT_EQ(samplesOf(batch)[2 * row + 1], static_cast<float>(-index));
    }
  }
}

TEST(Loader, NoSampleTwiceInAnEpochAndOthersDroppedInTheNext) {
  const std::vector<Batch> batches = allBatches(1000, {.shape = {.microBatch = 300}, .epochs = 2});
  std::vector<std::set<std::int32_t>> seen(2);
  for (const Batch& batch : batches) {
    for (const std::int32_t label : labelsOf(batch))
      EXPECT_TRUE(seen[static_cast<std::size_t>(batch.epoch)].insert(label).second);
  }
  EXPECT_EQ(seen[0].size(), 900U);
  EXPECT_EQ(seen[1].size(), 900U);
  EXPECT_NE(seen[0], seen[1]);
}

TEST(Loader, ShuffleIsOneOfTheWholeSetWhateverTheShape) {
  const auto labels = [](const BatchShape& shape) {
    std::vector<std::int32_t> all;
    for (const Batch& batch : allBatches(960, {.shape = shape, .seed = 8}))
      all.insert(all.end(), labelsOf(batch).begin(), labelsOf(batch).end());
    return all;
  };
  EXPECT_EQ(labels({.microBatch = 40}),
            labels({.microBatch = 10, .deviceIterations = 2, .accumulation = 4, .replicas = 2}));
}

TEST(Loader, EqualOptionsGiveEqualBatches) {
  const SyntheticDataset::Options synthetic{
      .count = 64,
      .fields = {{"samples", {graph::ElementType::float32, {3, 5}}},
                 {"labels", {graph::ElementType::int32, {}}, 10, -1, 1, true}},
      .seed = 1};
  const auto dataset = SyntheticDataset::create(synthetic);
  ASSERT_TRUE(dataset.ok());
  const std::shared_ptr<const Dataset> shared = SyntheticDataset::create(synthetic).value();
  const LoaderOptions options{.shape = {.microBatch = 8}, .seed = 3, .epochs = 2};
  const std::vector<Batch> one = allBatches(*load(shared, options));
  const std::vector<Batch> two = allBatches(*load(shared, options));
  ASSERT_EQ(one.size(), 16U);
  for (std::size_t b = 0; b < one.size(); ++b) {
    EXPECT_EQ(one[b].fields, two[b].fields);
  }
  EXPECT_NE(one[0].fields[1], one[8].fields[1]) << "each epoch has an order of its own";
}

TEST(Loader, RefusesWhatGivesNoCall) {
  const auto create = [](const LoaderOptions& options) {
    return Loader::create(std::make_shared<CountingDataset>(100), options);
  };
  expectError(create({.shape = {.microBatch = 40, .deviceIterations = 2, .accumulation = 3, .replicas = 1}}),
              ErrorKind::badInput,
              {"one call takes 240 samples (40 micro-batch size × 2 device iterations × 3 gradient "
               "accumulation × 1 replicas)",
               "there are only 100 numbers", "make one of them smaller"});
  expectError(create({.shape = {.microBatch = 0}}), ErrorKind::badInput, {"micro-batch size of 0"});
  expectError(create({.epochs = 0}), ErrorKind::badInput, {"0 epochs from epoch 0"});
  expectError(create({.firstEpoch = -1}), ErrorKind::badInput, {"the first not below 0"});
}

TEST(Loader, EndsAgainAndAgain) {
  const auto loader = load(std::make_shared<CountingDataset>(10), {.shape = {.microBatch = 10}});
  EXPECT_EQ(allBatches(*loader).size(), 1U);
  EXPECT_EQ(allBatches(*loader).size(), 0U);
}

TEST(Loader, ReadsOneBatchAheadAndNoMore) {
  const auto dataset = std::make_shared<CountingDataset>(1000);
  {
    const auto loader = load(dataset, {.shape = {.microBatch = 100}});
    dataset->waitForRows(100);  // the loader reads ahead before the first request
    base::SilentProgress progress;
    ASSERT_TRUE(loader->next(progress).ok());
    dataset->waitForRows(200);
  }
  EXPECT_EQ(dataset->rows(), 200);
}

TEST(Loader, ErrorsComeInTheirPlaceAndStay) {
  const auto dataset = std::make_shared<CountingDataset>(1000);
  dataset->failAt = 750;
  const auto loader = load(dataset, {.shape = {.microBatch = 100}, .shuffle = false});
  base::SilentProgress progress;
  for (int call = 0; call < 7; ++call) ASSERT_TRUE(loader->next(progress).ok());
  for (int again = 0; again < 2; ++again)
    expectError(loader->next(progress), ErrorKind::io, {"sample 750 cannot be read"});
}

TEST(Loader, StopsInTheMiddleOfABatch) {
  const auto dataset = std::make_shared<CountingDataset>(100'000);
  dataset->setOpen(false);
  {
    const auto loader = load(dataset, {.shape = {.microBatch = 100'000}});
    dataset->waitForReads(1);
    loader->cancel();
    dataset->setOpen(true);
  }
  EXPECT_LT(dataset->rows(), 1000);
}

TEST(Loader, CancelEndsNext) {
  const auto dataset = std::make_shared<CountingDataset>(1000);
  const auto loader = load(dataset, {.shape = {.microBatch = 100}});
  base::SilentProgress progress;
  ASSERT_TRUE(loader->next(progress).ok());
  loader->cancel();
  expectError(loader->next(progress), ErrorKind::cancelled, {"reading data was cancelled"});
}

class CancelAfter : public base::Progress {
 public:
  explicit CancelAfter(int looks) : looks_(looks) {}
  void report(double, std::string_view) override {}
  bool cancelled() const override { return --looks_ < 0; }

 private:
  mutable int looks_;
};

TEST(Loader, NextGivesUpWaitingWhenTheUserCancels) {
  const auto dataset = std::make_shared<CountingDataset>(1000);
  dataset->setOpen(false);
  const auto loader = load(dataset, {.shape = {.microBatch = 100}});
  expectError(loader->next(CancelAfter(1)), ErrorKind::cancelled, {"cancelled"});
  dataset->setOpen(true);
}

TEST(Loader, MoreThanAnyMemory) {
  constexpr std::int64_t half = std::int64_t{1} << 31U;
  const auto loader =
      load(std::make_shared<CountingDataset>(1000, graph::Shape{half, half}), {.shape = {.microBatch = 2}});
  base::SilentProgress progress;
  expectError(loader->next(progress), ErrorKind::machine,
              {"not enough memory for a call of 2 samples of samples (2147483648x2147483648 float32) and "
               "labels (int32)",
               "smaller"});
}

TEST(LoaderDeathTest, NoThreadCanBeStarted) {
#ifdef PIPESCOPE_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers need the address space";
#else
  const auto dataset = std::make_shared<CountingDataset>(1000);
  const auto tryIt = [&] {
    testing::limitMemory(std::uint64_t{1} << 20U);  // a thread's stack takes 8 MiB
    const auto loader = Loader::create(dataset, {});
    std::fputs(loader.ok() ? "started" : loader.error().message.c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(tryIt(), ::testing::ExitedWithCode(0), "cannot start the thread that reads data: ");
#endif
}

TEST(Loader, GivesEachInstanceItsPart) {
  const auto dataset = std::make_shared<CountingDataset>(50);
  std::set<std::int32_t> seen;
  for (const std::int64_t instance : {0, 1, 2}) {
    LoaderOptions options;
    options.shape.microBatch = 4;
    options.partition = {3, instance};
    options.seed = 9;
    const auto loader = Loader::create(dataset, options);
    ASSERT_TRUE(loader.ok()) << loader.error().message;
    EXPECT_EQ((*loader)->callsPerEpoch(), 4);
    base::SilentProgress progress;
    for (int call = 0; call < 4; ++call) {
      const auto batch = (*loader)->next(progress);
      ASSERT_TRUE(batch.ok() && *batch);
      seen.insert(labelsOf(**batch).begin(), labelsOf(**batch).end());
    }
    EXPECT_FALSE(*(*loader)->next(progress));
  }
  EXPECT_EQ(seen.size(), 48U) << "no sample is read twice";
}

TEST(Loader, RefusesPartsThatMakeNoSense) {
  const auto dataset = std::make_shared<CountingDataset>(50);
  LoaderOptions options;
  options.partition = {2, 2};
  expectError(Loader::create(dataset, options), ErrorKind::badInput, {"instance 2 of 2", "count from 0"});
  options.partition = {2, 1};
  options.shape.microBatch = 26;
  expectError(Loader::create(dataset, options), ErrorKind::badInput, {"26 samples in each of 2 instances"});
}

}  // namespace
}  // namespace pipescope::data

#include "engine/data/digits/digit_cache.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "engine/data/digits/digit_renderer.h"
#include "engine/data/file_system.h"
#include "engine/data/idx_dataset.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using testing::Bytes;
using testing::expectError;
using testing::Folder;
using testing::readBytes;

constexpr DigitSetOptions digitCacheSmall{.seed = 9, .trainCount = 5000, .testCount = 300};
const std::string smallName = "digits-v1-seed9-5000-300";
const std::vector<std::string> fileNames = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// Counts progress reports and calls a function on each.
class Watch : public base::Progress {
 public:
  explicit Watch(std::function<void(double)> onReport = {}) : onReport_(std::move(onReport)) {}
  void report(double fraction, std::string_view what) override {
    EXPECT_EQ(what, "generating digits");
    EXPECT_GE(fraction, last);
    EXPECT_LE(fraction, 1.0);
    last = fraction;
    ++reports;
    if (onReport_) onReport_(fraction);
  }
  bool cancelled() const override { return cancel; }

  double last = 0;
  int reports = 0;
  bool cancel = false;

 private:
  std::function<void(double)> onReport_;
};

/// The bytes must not depend on the order of generation or on the number of threads.
class BackwardExecutor : public base::Executor {
 public:
  std::size_t threads() const override { return 2; }
  void parallelFor(std::size_t count, const std::function<void(std::size_t)>& body) override {
    std::thread odd([&] {
      for (std::size_t i = count; i-- > 0;) {
        if (i % 2 == 1) body(i);
      }
    });
    for (std::size_t i = count; i-- > 0;) {
      if (i % 2 == 0) body(i);
    }
    odd.join();
  }
};

std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

base::Result<fs::path> ensure(const fs::path& cache, base::Progress& progress,
                              const DigitSetOptions& options = digitCacheSmall) {
  base::SerialExecutor executor;
  return ensureDigits(cache, progress, executor, options);
}

TEST(DigitCache, DefaultsAreThoseOfMnist) {
  EXPECT_EQ(DigitSetOptions().trainCount, 60'000);
  EXPECT_EQ(DigitSetOptions().testCount, 10'000);
}

TEST(DigitCache, GeneratesReadableIdxFiles) {
  const Folder folder;
  Watch progress;
  const auto set = ensure(folder.path() / "deep" / "cache", progress);
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(*set, folder.path() / "deep" / "cache" / smallName);
  EXPECT_THAT(entries(folder.path() / "deep" / "cache"), ::testing::ElementsAre(smallName));
  EXPECT_THAT(entries(*set), ::testing::UnorderedElementsAreArray(fileNames));
  EXPECT_EQ(progress.last, 1.0);
  const Bytes images = readBytes(*set / "t10k-images-idx3-ubyte");
  ASSERT_EQ(images.size(), 16U + 300 * 784);
  EXPECT_EQ(Bytes(images.begin(), images.begin() + 16),
            (Bytes{0, 0, 8, 3, 0, 0, 1, 44, 0, 0, 0, 28, 0, 0, 0, 28}));
  const DigitImage last = renderDigit(9, DataSplit::test, 299);
  EXPECT_TRUE(std::equal(last.pixels.begin(), last.pixels.end(), images.end() - 784));
  for (const DataSplit split : {DataSplit::train, DataSplit::test}) {
    const auto dataset = IdxDataset::open(*set, split, {});
    ASSERT_TRUE(dataset.ok()) << dataset.error().message;
    EXPECT_EQ((*dataset)->size(), split == DataSplit::train ? 5000 : 300);
    EXPECT_EQ(testing::typeOf(**dataset, "samples").shape, (graph::Shape{1, 28, 28}));
  }
}

TEST(DigitCache, BytesDoNotDependOnTheExecutor) {
  const Folder one;
  const Folder two;
  Watch progress;
  Watch again;
  BackwardExecutor backward;
  ASSERT_TRUE(ensure(one.path(), progress).ok());
  ASSERT_TRUE(ensureDigits(two.path(), again, backward, digitCacheSmall).ok());
  for (const std::string& name : fileNames)
    EXPECT_EQ(readBytes(one.path() / smallName / name), readBytes(two.path() / smallName / name));
}

TEST(DigitCache, SecondTimeGeneratesNothing) {
  const Folder folder;
  Watch progress;
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  const auto written = fs::last_write_time(folder.path() / smallName / fileNames[0]);
  Watch again;
  ASSERT_TRUE(ensure(folder.path(), again).ok());
  EXPECT_EQ(again.reports, 0);
  EXPECT_EQ(fs::last_write_time(folder.path() / smallName / fileNames[0]), written);
}

TEST(DigitCache, AnotherSeedIsAnotherSet) {
  const Folder folder;
  Watch progress;
  Watch again;
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  ASSERT_TRUE(ensure(folder.path(), again, {.seed = 10, .trainCount = 5000, .testCount = 300}).ok());
  EXPECT_EQ(entries(folder.path()).size(), 2U);
}

TEST(DigitCache, DamagedSetIsReplaced) {
  const Folder folder;
  Watch progress;
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  const fs::path labels = folder.path() / smallName / "train-labels-idx1-ubyte";
  const Bytes good = readBytes(labels);
  fs::resize_file(labels, good.size() - 1);
  Watch again;
  ASSERT_TRUE(ensure(folder.path(), again).ok());
  EXPECT_EQ(readBytes(labels), good);
  EXPECT_THAT(entries(folder.path()), ::testing::ElementsAre(smallName));
}

TEST(DigitCache, SomethingElseOfThatNameIsReplaced) {
  const Folder folder;
  folder.write(smallName, {1, 2, 3});
  Watch progress;
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  EXPECT_TRUE(fs::is_directory(folder.path() / smallName));
  EXPECT_EQ(entries(folder.path()).size(), 1U);
}

TEST(DigitCache, CancellingLeavesNothing) {
  const Folder folder;
  Watch progress([&](double fraction) { progress.cancel = fraction > 0; });
  expectError(ensure(folder.path(), progress), ErrorKind::cancelled, {"generating digits was cancelled"});
  EXPECT_TRUE(entries(folder.path()).empty());
  EXPECT_LT(progress.last, 0.9);
}

TEST(DigitCache, NothingIsSeenUntilAllIs) {
  const Folder folder;
  Watch progress([&](double) { EXPECT_FALSE(fs::exists(folder.path() / smallName)); });
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  EXPECT_GE(progress.reports, 3);
}

TEST(DigitCache, TwoAtOnceAgree) {
  const Folder folder;
  // The second generator starts and ends while the first one is still working.
  Watch inner;
  bool started = false;
  Watch outer([&](double) {
    if (!std::exchange(started, true)) {
      EXPECT_TRUE(ensure(folder.path(), inner).ok());
    }
  });
  const auto set = ensure(folder.path(), outer);
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_GT(inner.reports, 0);
  EXPECT_THAT(entries(folder.path()), ::testing::ElementsAre(smallName));
  Watch again;
  ASSERT_TRUE(ensure(folder.path(), again).ok());
  EXPECT_EQ(again.reports, 0);
}

TEST(DigitCache, LeftoversOfKilledProgramsAreRemoved) {
  const Folder folder;
  folder.write(".digits-v1-seed1-60000-10000-77-0/train-images-idx3-ubyte", {1});
  folder.write(".digits-v1-seed2-60000-10000-78-0/train-images-idx3-ubyte", {1});
  folder.write(".other-77-0/train-images-idx3-ubyte", {1});
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(folder.path() / ".digits-v1-seed1-60000-10000-77-0", old);
  fs::last_write_time(folder.path() / ".other-77-0", old);
  Watch progress;
  ASSERT_TRUE(ensure(folder.path(), progress).ok());
  EXPECT_THAT(entries(folder.path()),
              ::testing::UnorderedElementsAre(smallName, ".digits-v1-seed2-60000-10000-78-0", ".other-77-0"));
}

TEST(DigitCache, RefusesImpossibleCounts) {
  const Folder folder;
  Watch progress;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40U}) {
    expectError(ensure(folder.path(), progress, {.seed = 1, .trainCount = 1, .testCount = count}),
                ErrorKind::badInput, {std::to_string(count) + " digit images cannot"});
    expectError(ensure(folder.path(), progress, {.seed = 1, .trainCount = count, .testCount = 1}),
                ErrorKind::badInput, {"give 1…"});
  }
}

TEST(DigitCache, UnwritableCache) {
  const Folder folder;
  Watch progress;
  expectError(ensure(folder.write("file", {}) / "cache", progress), ErrorKind::io,
              {"cannot make the folder '", "file/cache'", "Not a directory"});
  expectError(ensure(folder.path() / "file", progress), ErrorKind::io, {"cannot make the folder '"});
  EXPECT_FALSE(ensure("/proc/pipescope", progress).ok());
}

TEST(DigitCache, FolderThatVanishesMeanwhile) {
  const Folder folder;
  const auto removeTemporary = [&] {
    for (const std::string& name : entries(folder.path())) fs::remove_all(folder.path() / name);
  };
  Watch beforeWriting([&](double) { removeTemporary(); });
  expectError(ensure(folder.path(), beforeWriting), ErrorKind::io,
              {"cannot open '", "train-images-idx3-ubyte': No such file"});
  Watch atTheEnd([&](double fraction) {
    if (fraction == 1.0) removeTemporary();
  });
  expectError(ensure(folder.path(), atTheEnd), ErrorKind::io,
              {"cannot rename '", smallName + "': No such file", "remove what has that name"});
  EXPECT_TRUE(entries(folder.path()).empty());
}

TEST(FileSystem, TemporaryDirectories) {
  const Folder folder;
  {
    const auto one = TemporaryDirectory::create(folder.path(), ".x");
    const auto two = TemporaryDirectory::create(folder.path(), ".x");
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_NE(one->path(), two->path());
    EXPECT_EQ(entries(folder.path()).size(), 2U);
  }
  EXPECT_TRUE(entries(folder.path()).empty());
  expectError(TemporaryDirectory::create(folder.path() / "none", ".x"), ErrorKind::io,
              {"cannot make the folder '", "No such file", "check the permissions of '"});
}

TEST(FileSystem, TooManyLeftovers) {
  const Folder folder;
  const std::string prefix = (folder.path() / ".x-").string() + std::to_string(::getpid()) + "-";
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(fs::create_directory(prefix + std::to_string(i)));
  expectError(TemporaryDirectory::create(folder.path(), ".x"), ErrorKind::io,
              {"is full of folders '.x-…'", "remove them"});
}

/// Sets an environment variable until the end of the test. Null removes it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(DigitCache, DefaultDirectoryFollowsXdg) {
  const Environment home("HOME", "/home/someone");
  {
    const Environment cache("XDG_CACHE_HOME", "/var/cache/x");
    EXPECT_EQ(defaultCacheDirectory().value(), fs::path("/var/cache/x/pipescope"));
  }
  for (const char* unusable : {static_cast<const char*>(nullptr), "", "relative/path"}) {
    const Environment cache("XDG_CACHE_HOME", unusable);
    EXPECT_EQ(defaultCacheDirectory().value(), fs::path("/home/someone/.cache/pipescope"));
  }
}

TEST(DigitCache, NoHomeNoDefault) {
  const Environment home("HOME", nullptr);
  const Environment cache("XDG_CACHE_HOME", nullptr);
  expectError(defaultCacheDirectory(), ErrorKind::io, {"neither XDG_CACHE_HOME nor HOME", "set one of them"});
}

}  // namespace
}  // namespace pipescope::data

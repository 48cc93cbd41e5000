#include <atomic>
#include <condition_variable>
#include <numeric>
#include <thread>

#include "profiler/store/blocks/block_cache.h"
#include "profiler/store/blocks/column_keeper.h"
#include "profiler/store/blocks/compact_columns.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

std::shared_ptr<const void> value(int n) {
  return std::make_shared<const int>(n);
}

TEST(BlockCache, TheLeastRecentlyUsedGoFirstAndTheBoundHolds) {
  BlockCache cache(100);
  cache.insert({1, 0, 0}, value(0), 40);
  cache.insert({1, 0, 1}, value(1), 40);
  EXPECT_NE(cache.find({1, 0, 0}), nullptr);
  cache.insert({1, 0, 2}, value(2), 30);
  EXPECT_EQ(cache.find({1, 0, 1}), nullptr);
  EXPECT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.bytes(), 70u);
  const auto tooLarge = value(3);
  EXPECT_EQ(cache.insert({1, 0, 3}, tooLarge, 101), tooLarge);
  EXPECT_EQ(cache.find({1, 0, 3}), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(BlockCache, TheFirstOfTwoThreadsWins) {
  BlockCache cache(100);
  const auto first = value(0);
  EXPECT_EQ(cache.insert({1, 0, 0}, first, 40), first);
  EXPECT_EQ(cache.insert({1, 0, 0}, value(1), 40), first);
  EXPECT_EQ(cache.bytes(), 40u);
}

TEST(BlockCache, ForgetsOneReaderOnly) {
  BlockCache cache(100);
  cache.insert({1, 5, 0}, value(0), 10);
  cache.insert({2, 0, 0}, value(0), 20);
  cache.insert({1, 6, 0}, value(0), 30);
  cache.forget(1);
  EXPECT_EQ(cache.bytes(), 20u);
  EXPECT_NE(cache.find({2, 0, 0}), nullptr);
}

TEST(BlockCache, TheProcessHasOneOf256MegaBytes) {
  EXPECT_EQ(BlockCache::ofProcess(), BlockCache::ofProcess());
  EXPECT_EQ(BlockCache::kDefaultCapacity, 256u << 20);
}

TEST(ColumnKeeper, KeepsAllThatItIsGivenAndMayEndBeforeItIsDone) {
  const auto blockOf = [](std::int64_t number) {
    model::ColumnBlock block;
    block.rows = 3;
    block.columns = {{{number, 8, 9}, 0}, {{}, number}};
    return std::make_shared<const model::ColumnBlock>(std::move(block));
  };
  constexpr std::int64_t kBlocks = 50;
  const auto cache = std::make_shared<BlockCache>();
  CoderThreads threads(2);
  {
    ColumnKeeper keeper(cache, threads);
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      while (!keeper.keep({1, 0, i, true}, blockOf(i))) std::this_thread::yield();  // as many as may wait
    }
    while (cache->size() < kBlocks) std::this_thread::yield();
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      const auto kept = std::static_pointer_cast<const CompactColumns>(cache->find({1, 0, i, true}));
      ASSERT_NE(kept, nullptr);
      model::ColumnBlock block;
      kept->expand(block);
      EXPECT_EQ(block.columns[0].values, (std::vector<std::int64_t>{i, 8, 9}));
      EXPECT_EQ(block.columns[1][2], i);
    }
    keeper.keep({1, 0, kBlocks, true}, blockOf(0));
  }
  EXPECT_GE(cache->size(), static_cast<std::size_t>(kBlocks));
  CoderThreads alone(1);
  ColumnKeeper keeper(cache, alone);
  EXPECT_TRUE(keeper.keep({2, 0, 0, true}, blockOf(4)));
  EXPECT_NE(cache->find({2, 0, 0, true}), nullptr) << "nobody could do it later";
}

/// Without it the data of the work would go away while another thread still uses them.
TEST(CoderThreads, AnExceptionWaitsForTheOtherThreads) {
  CoderThreads threads(2);
  for (const bool ownThread : {false, true}) {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> begun = 0, ended = 0;
    const auto body = [&](std::size_t) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
      if ((std::this_thread::get_id() == caller) != ownThread) throw std::bad_alloc();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      ++ended;
    };
    EXPECT_THROW(threads.parallelFor(2, body), std::bad_alloc);
    EXPECT_EQ(ended, 1);
  }
  std::atomic<int> shared = 0;
  threads.parallelFor(7, [&](std::size_t) { ++shared; });
  EXPECT_EQ(shared, 7) << "it goes on";
}

TEST(CoderThreads, WhatIsForLaterWaitsForWhatIsSharedOut) {
  CoderThreads threads(2);
  std::mutex mutex;
  std::condition_variable changed;
  bool holds = false, goesOn = false;
  const auto wait = [&](const bool& until) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return until; });
  };
  const auto set = [&](bool& flag) {
    const std::lock_guard lock(mutex);
    flag = true;
    changed.notify_all();
  };
  ASSERT_TRUE(threads.later([&] { set(holds), wait(goesOn); }));
  wait(holds);  // the thread of `holds` is busy from here on
  std::atomic<int> done = 0;
  for (std::size_t i = 0; i < CoderThreads::kMostLater; ++i) ASSERT_TRUE(threads.later([&] { ++done; }));
  EXPECT_FALSE(threads.later([&] { ++done; })) << "as many wait as may";
  std::atomic<int> shared = 0;
  threads.parallelFor(7, [&](std::size_t) { ++shared; });
  EXPECT_EQ(shared, 7) << "the caller does all of it";
  EXPECT_EQ(done, 0);
  set(goesOn);
  while (done < static_cast<int>(CoderThreads::kMostLater)) std::this_thread::yield();
}

TEST(Reader, StaysWithinItsCacheAndSharesWhatItDecoded) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::Placement>().resize(20 * 16'384);
  for (std::size_t i = 0; i < rows.of<model::Placement>().size(); ++i) {
    rows.of<model::Placement>()[i].id = model::PlacementId(static_cast<std::int64_t>(i));
  }
  writeProfile(folder / "profile.pop", {rows});
  const std::size_t block = 16'384 * sizeof(model::Placement);
  const auto cache = std::make_shared<BlockCache>(3 * block + block / 2);
  {
    const auto reader = ProfileReader::open(folder / "profile.pop", {.cache = cache});
    ASSERT_OK(reader);
    EXPECT_EQ(cache->size(), 0u) << "nothing is decoded before it is asked for";
    const auto first = (*reader)->block<model::Placement>(0);
    ASSERT_OK(first);
    EXPECT_EQ(*(*reader)->block<model::Placement>(0), *first) << "shared, not decoded again";
    for (std::size_t i = 0; i < 20; ++i) {
      const auto rowsOfBlock = (*reader)->block<model::Placement>(i);
      ASSERT_OK(rowsOfBlock);
      EXPECT_EQ((*rowsOfBlock)->front().id.value, static_cast<std::int64_t>(i) * 16'384);
      EXPECT_LE(cache->bytes(), 3 * block + block / 2);
    }
    EXPECT_EQ(cache->size(), 3u);
    EXPECT_EQ((*first)->at(7).id.value, 7) << "dropped by the cache, alive with its holder";
    const auto again = (*reader)->block<model::Placement>(0);
    ASSERT_OK(again);
    EXPECT_NE(*again, *first);
    EXPECT_EQ((*again)->back().id, (*first)->back().id);
  }
  EXPECT_EQ(cache->size(), 0u) << "a reader takes its blocks with it";
}

TEST(Reader, ColumnsThatAreReadOnceAreNotKeptAndExpectedOnesAreTheSame) {
  const Folder folder;
  constexpr std::size_t kBlocks = 2 * RecentColumns::kMost + 1;
  model::RowSet rows;
  rows.of<model::Placement>().resize(kBlocks * 16'384);
  for (std::size_t i = 0; i < rows.of<model::Placement>().size(); ++i)
    rows.of<model::Placement>()[i].id = model::PlacementId(static_cast<std::int64_t>(i));
  writeProfile(folder / "profile.pop", {rows});
  const auto cache = std::make_shared<BlockCache>();
  const auto reader = ProfileReader::open(folder / "profile.pop", {.cache = cache});
  ASSERT_OK(reader);
  const auto readAll = [&] {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const auto block = (*reader)->columns<model::Placement>(i);
      ASSERT_OK(block);
      EXPECT_EQ((*block)->columns[0][5], static_cast<std::int64_t>(i) * 16'384 + 5);
    }
  };
  readAll();
  EXPECT_EQ(cache->size(), 0U);
  while (cache->size() < kBlocks) readAll();  // another thread puts them there, as fast as it can
  readAll();
  EXPECT_EQ(cache->size(), kBlocks);

  const auto other = ProfileReader::open(folder / "profile.pop", {.cache = cache});
  ASSERT_OK(other);
  // The list has more blocks than are kept, two twice, and one that does not exist. Several threads ask for
  // them.
  std::vector<std::size_t> blocks(kBlocks + 1);
  std::iota(blocks.begin(), blocks.end(), 0);
  blocks.push_back(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      (*other)->expect<model::Placement>(blocks);
      for (std::size_t i = 0; i < kBlocks; ++i) {
        const auto block = (*other)->columns<model::Placement>(i);
        ASSERT_OK(block);
        EXPECT_EQ((*block)->columns[0][5], static_cast<std::int64_t>(i) * 16'384 + 5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Reader, ThreadsShareTheirBlocks) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {makeRowSet(200, 0)});
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const std::vector<std::string> expected = render(makeRowSet(200, 0));
  std::vector<std::vector<std::string>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = render(*(*reader)->everything()); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace pipescope::store::testing

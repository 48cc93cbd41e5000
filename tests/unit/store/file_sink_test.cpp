#include "profiler/store/file_sink.h"

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "fault_vfs.h"
#include "profiler/store/verify.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

std::string property(const ProfileReader& reader, const std::string& key) {
  const auto rows = reader.rows<model::Property>();
  for (const model::Property& row : **rows) {
    if (row.key == key) return row.value;
  }
  return "";
}

constexpr std::size_t kRowsOfASet = 10'000;

/// Makes steps that compress badly: about half a megabyte of payload.
model::RowSet makeLongSet(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&] { return static_cast<std::int64_t>(random() >> 1); };
  model::RowSet rows;
  for (std::size_t i = 0; i < kRowsOfASet; ++i) {
    model::Step step;
    step.offset = model::Ticks(number()), step.ticks = model::Ticks(number());
    step.minTicks = model::Ticks(number()), step.maxTicks = model::Ticks(number());
    step.bytesIn = model::Bytes(number()), step.bytesOut = model::Bytes(number());
    rows.of<model::Step>().push_back(step);
  }
  return rows;
}

/// Options with which the sink commits only if there is much to write.
FileSinkOptions neverDue() {
  FileSinkOptions options;
  options.mostRowsHeld = 2 * kRowsOfASet;
  options.delay = std::chrono::hours(1);
  return options;
}

/// A large system has more devices than one statement inserts, and their number is no round one.
TEST(FileSink, WritesManyPlainRows) {
  for (const std::int64_t count : {1, 255, 256, 257, 1000}) {
    const Folder folder;
    auto sink = FileSink::create(folder / "profile.pop");
    ASSERT_OK(sink);
    model::RowSet all;
    for (std::int64_t i = 0; i < count; ++i) {
      model::Device device;
      device.id = model::DeviceId(i);
      device.name = "HPU" + std::to_string(i);
      device.units = 7 * i;
      all.of<model::Device>().push_back(device);
    }
    model::RowSet given = all;
    ASSERT_OK((*sink)->take(given));
    EXPECT_TRUE(given.empty());
    ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
    const auto reader = ProfileReader::open(folder / "profile.pop");
    ASSERT_OK(reader);
    const auto devices = (*reader)->rows<model::Device>();
    ASSERT_OK(devices);
    ASSERT_EQ((*devices)->size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < (*devices)->size(); ++i) {
      const model::Device& device = (**devices)[i];
      EXPECT_EQ(device.name, all.of<model::Device>()[i].name);
      EXPECT_EQ(device.units, all.of<model::Device>()[i].units);
    }
  }
}

TEST(FileSink, WritesWhatItTookInOrder) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto sink = FileSink::create(path);
  ASSERT_OK(sink);
  ASSERT_OK((*sink)->commit(makeRowSet(3, 0)));
  EXPECT_EQ(readProfile(path), render(makeRowSet(3, 0))) << "commit() returns when rows are readable";
  model::RowSet all = makeRowSet(3, 0);
  for (std::uint64_t i = 1; i < 50; ++i) {
    model::RowSet rows = makeRowSet(i, i);
    all.append(rows);
    ASSERT_OK((*sink)->take(rows));
    EXPECT_TRUE(rows.empty());
  }
  ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::complete);
  EXPECT_GE(std::stod(property(**reader, "recorder_blocked_seconds")), 0);
  EXPECT_GT(std::stod(property(**reader, "recorder_thread_seconds")), 0);
  EXPECT_GT(std::stoll(property(**reader, "recorder_bytes")), 0);
  auto found = (*reader)->everything();
  ASSERT_OK(found);
  found->of<model::Property>().resize(found->of<model::Property>().size() - 3);
  EXPECT_EQ(render(*found), render(all));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(FileSink, RowsThatWereTakenAreWrittenAlsoWithoutAnEnd) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  {
    auto sink = FileSink::create(path);
    ASSERT_OK(sink);
    model::RowSet rows = makeRowSet(5, 3);
    ASSERT_OK((*sink)->take(rows));
  }
  EXPECT_EQ(readProfile(path), render(makeRowSet(5, 3)));
}

/// Gathers more rows than the sink may hold, so that they are coded, and more bytes than it would wait with.
TEST(FileSink, GatheredRowsAppearWithTheNextCommit) {
  for (const bool commits : {true, false}) {
    const Folder folder;
    const fs::path path = folder / "profile.pop";
    model::RowSet all;
    {
      FileSinkOptions options = neverDue();
      options.delay = std::chrono::seconds(0);
      auto sink = FileSink::create(path, options);
      ASSERT_OK(sink);
      for (std::uint64_t i = 0; i < 20; ++i) {
        model::RowSet rows = makeLongSet(i);
        all.append(rows);
        (*sink)->gather(rows);
        EXPECT_TRUE(rows.empty());
        EXPECT_FALSE(fs::exists(path));
      }
      if (commits) ASSERT_OK((*sink)->commit(makeRowSet(3, 0)));
    }
    EXPECT_EQ(fs::exists(path), commits);
    if (!commits) continue;
    all.append(makeRowSet(3, 0));
    EXPECT_EQ(readProfile(path), render(all));
  }
}

TEST(FileSink, RowsThatAreBeingCodedWhenItEndsAreWrittenToo) {
  constexpr std::int64_t kRows = 70'000;  // enough to be coded before a transaction is due
  for (const bool finish : {true, false}) {
    for (int time = 0; time < 10; ++time) {
      const Folder folder;
      {
        auto sink = FileSink::create(folder / "profile.pop");
        ASSERT_OK(sink);
        model::RowSet rows;
        for (std::int64_t i = 0; i < kRows; ++i)
          rows.of<model::LifeInterval>().push_back({model::VariableId(i), 0, 1});
        ASSERT_OK((*sink)->take(rows));
        // Work of its own leads into the middle of the coding. A thread that yields instead waits for every
        // other process of a busy machine.
        std::atomic<int> work = 0;
        while (work.fetch_add(1) < 20'000 * time) {
        }
        if (finish) ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
      }
      const auto reader = ProfileReader::open(folder / "profile.pop");
      ASSERT_OK(reader);
      EXPECT_EQ((**(*reader)->rows<model::LifeInterval>()).size(), std::size_t{kRows});
    }
  }
}

TEST(FileSink, LongRunsAreWrittenBeforeTheyAreDue) {
  constexpr std::uint64_t kSets = 30;
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  auto sink = FileSink::create(path, neverDue());
  ASSERT_OK(sink);
  model::RowSet all;
  for (std::uint64_t i = 0; i < kSets; ++i) {
    model::RowSet rows = makeLongSet(i);
    all.append(rows);
    ASSERT_OK((*sink)->take(rows));
  }
  ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
  // There were one or more commits before the end. The last one wrote the remaining rows and the cost of
  // recording.
  EXPECT_GE(selectNumbers(path, "SELECT commits FROM store_state").at(0), 3);
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  auto steps = (*reader)->rows<model::Step>();
  ASSERT_OK(steps);
  const std::vector<model::Step>& written = all.of<model::Step>();
  ASSERT_EQ((*steps)->size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i)
    ASSERT_EQ((**steps)[i].offset.count, written[i].offset.count) << i;
}

TEST(FileSink, CommitWaitsForRowsThatAreBeingWrittenAnyway) {
  constexpr std::int64_t kRows = 60'000;  // fewer than are coded at once
  for (int time = 0; time < 20; ++time) {
    const Folder folder;
    FileSinkOptions options;
    options.delay = std::chrono::milliseconds(5);
    auto sink = FileSink::create(folder / "profile.pop", options);
    ASSERT_OK(sink);
    model::RowSet rows;
    for (std::int64_t i = 0; i < kRows; ++i)
      rows.of<model::LifeInterval>().push_back({model::VariableId(i), 0, 1});
    const auto due = std::chrono::steady_clock::now() + options.delay + time * std::chrono::microseconds(200);
    ASSERT_OK((*sink)->take(rows));
    // into the middle of the coding
    while (std::chrono::steady_clock::now() < due) std::this_thread::yield();
    ASSERT_OK((*sink)->commit({}));
    const auto reader = ProfileReader::open(folder / "profile.pop");
    ASSERT_OK(reader);
    EXPECT_EQ((**(*reader)->rows<model::LifeInterval>()).size(), std::size_t{kRows});
  }
}

TEST(FileSink, RowsAreCodedWhileThoseBeforeAreWritten) {
  const Folder folder;
  FaultVfs disk;
  std::promise<void> othersTaken;
  std::atomic<bool> isWriting = false, wentOn = true;
  disk.setObserver([&, once = false]() mutable {
    if (std::exchange(once, true)) return;
    isWriting = true;
    wentOn = othersTaken.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  });
  auto sink = FileSink::create(folder / "profile.pop", neverDue());
  ASSERT_OK(sink);
  std::uint64_t sets = 0;
  // more than may be held without being coded
  for (int after = 0; after < 5 && sets < 500; after += isWriting) {
    model::RowSet rows = makeLongSet(sets++);
    ASSERT_OK((*sink)->take(rows));
  }
  othersTaken.set_value();
  ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
  EXPECT_TRUE(isWriting && wentOn) << "no row was taken while the disk was busy";
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  EXPECT_EQ((**(*reader)->rows<model::Step>()).size(), sets * kRowsOfASet);
}

TEST(FileSink, ADiskThatIsFullWhileRowsAreCodedIsSaidAtTheEndAtLatest) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  FaultVfs disk;
  auto sink = FileSink::create(path, neverDue());
  ASSERT_OK(sink);
  ASSERT_OK((*sink)->commit(makeRowSet(2, 0)));
  disk.setDiskFull(true);
  base::Status taken;
  for (std::uint64_t i = 0; i < 30 && taken.ok(); ++i) {
    model::RowSet rows = makeLongSet(i);
    taken = (*sink)->take(rows);
  }
  if (!taken.ok()) {
    EXPECT_THAT(taken, FailsWith("no space is left on the disk"));
  }
  EXPECT_THAT((*sink)->finish(model::ProfileState::complete, ""), FailsWith("no space is left on the disk"));
  EXPECT_EQ(readProfile(path), render(makeRowSet(2, 0)));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
}

TEST(FileSink, AFullDiskIsSaidOnceAndTheProfileSoFarIsKept) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  FaultVfs faults;
  auto sink = FileSink::create(path);
  ASSERT_OK(sink);
  ASSERT_OK((*sink)->commit(makeRowSet(2, 0)));
  faults.setDiskFull(true);
  const base::Status status = (*sink)->commit(makeRowSet(4, 9));
  EXPECT_THAT(status, FailsWith("no space is left on the disk"));
  model::RowSet more = makeRowSet(1, 1);
  EXPECT_THAT((*sink)->take(more), FailsWith("no space is left on the disk"));
  EXPECT_THAT((*sink)->finish(model::ProfileState::complete, ""), FailsWith("no space is left on the disk"));
  EXPECT_EQ(readProfile(path), render(makeRowSet(2, 0)));
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->state()->state, model::ProfileState::incomplete);
  EXPECT_EQ((*reader)->state()->reason, status.error().message);
}

/// An import, which only a whole profile is of use to, keeps what is at its path until it has written
/// everything.
TEST(FileSink, WhatFailsOrStopsKeepsTheOlderProfileWhereOnlyAWholeOneCounts) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  const auto create = [&] {
    FileSinkOptions options;
    options.writer.onlyWhole = true;
    return FileSink::create(path, options);
  };
  {
    auto sink = create();
    ASSERT_OK(sink);
    ASSERT_OK((*sink)->commit(makeRowSet(2, 0)));
    EXPECT_FALSE(fs::exists(path)) << "it is not whole";
    ASSERT_OK((*sink)->finish(model::ProfileState::complete, ""));
  }
  const std::vector<std::string> older = readProfile(path);
  ASSERT_FALSE(older.empty());
  for (const bool full : {true, false}) {
    FaultVfs faults;
    auto sink = create();
    ASSERT_OK(sink);
    ASSERT_OK((*sink)->commit(makeRowSet(5, 3)));
    faults.setDiskFull(full);
    if (full) {
      EXPECT_THAT((*sink)->commit(makeRowSet(4, 9)), FailsWith("no space is left on the disk"));
      EXPECT_THAT((*sink)->finish(model::ProfileState::complete, ""),
                  FailsWith("no space is left on the disk"));
    }
    sink->reset();
    faults.setDiskFull(false);
    EXPECT_EQ(readProfile(path), older);
    EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
  }
}

TEST(FileSink, ASecondWriterAndAReadOnlyFolderAreRefused) {
  const Folder folder;
  auto sink = FileSink::create(folder / "profile.pop");
  ASSERT_OK(sink);
  EXPECT_FALSE(FileSink::create(folder / "profile.pop").ok());
  EXPECT_FALSE(FileSink::create(folder / "missing" / "profile.pop").ok());
}

TEST(FileSink, CancelledBeforeTheFirstCommitLeavesNothing) {
  const Folder folder;
  {
    auto sink = FileSink::create(folder / "profile.pop");
    ASSERT_OK(sink);
    EXPECT_OK((*sink)->finish(model::ProfileState::cancelled, "stopped"));
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(Verify, CountsAWholeProfileAndNamesEachHole) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(3, 0), makeRowSet(2, 11), makeRowSet(4, 5)});
  base::SilentProgress progress;
  const auto whole = verify(path, progress);
  ASSERT_OK(whole);
  EXPECT_TRUE(whole->holes.empty());
  EXPECT_EQ(whole->tables, static_cast<std::int64_t>(model::kTableCount));
  EXPECT_GE(whole->rows, 9 * (static_cast<std::int64_t>(model::kTableCount) - 1));
  EXPECT_EQ(whole->contentHash.size(), 32u);
  const std::string placement = std::to_string(model::tableIndexOf<model::Placement>());
  runSql(path, "DELETE FROM store_block WHERE first_row = 3 AND table_number = " + placement +
                   "; UPDATE device SET name = 'other' WHERE rowid = 2");
  const auto damaged = verify(path, progress);
  ASSERT_OK(damaged);
  ASSERT_EQ(damaged->holes.size(), 2u);
  EXPECT_NE(damaged->holes[0].find("table device cannot be read: its rows do not agree"), std::string::npos);
  EXPECT_NE(damaged->holes[1].find("table placement cannot be read: rows 3 to 4 are lost"),
            std::string::npos);
  EXPECT_TRUE(damaged->contentHash.empty());
  EXPECT_THAT(verify(folder / "none.pop", progress), FailsWith("none.pop"));
}

TEST(Verify, TheContentHashIgnoresTheHostAndNothingElse) {
  const Folder folder;
  base::SilentProgress progress;
  const auto hashOf = [&](auto&& change) {
    model::RowSet rows = makeRowSet(3, 0);
    rows.of<model::Property>() = {
        {"created_utc", "a"}, {"model", "m"}, {"recorder_bytes", "1"}, {"run_folder", "/a"}};
    rows.of<model::Outcome>() = {{{}, "host_samples_per_second", "", "", 5}, {{}, "final_loss", "", "", 0.5}};
    change(rows);
    const fs::path path = folder / "profile.pop";
    writeProfile(path, {rows});
    const auto verified = verify(path, progress);
    return verified.ok() ? verified->contentHash : verified.error().message;
  };
  const std::string hash = hashOf([](model::RowSet&) {});
  EXPECT_EQ(hash, hashOf([](model::RowSet& rows) {
              rows.of<model::Property>()[0].value = "b";
              rows.of<model::Property>()[2].value = "2";
              rows.of<model::Property>()[3].value = "/b";
              rows.of<model::Outcome>()[0].value = 6;
              rows.of<model::Run>()[0].wallStartNs += 1;
            }));
  EXPECT_NE(hash, hashOf([](model::RowSet& rows) { rows.of<model::Property>()[1].value = "n"; }));
  EXPECT_NE(hash, hashOf([](model::RowSet& rows) { rows.of<model::Outcome>()[1].value = 0.25; }));
  EXPECT_NE(hash, hashOf([](model::RowSet& rows) { rows.of<model::Placement>()[1].microBatch ^= 1; }));
  EXPECT_NE(hash, hashOf([](model::RowSet& rows) { rows.of<model::Step>().pop_back(); }));
}

}  // namespace
}  // namespace pipescope::store::testing

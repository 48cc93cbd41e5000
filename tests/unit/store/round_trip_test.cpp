#include <numeric>

#include "profiler/store/batch.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

TEST(RoundTrip, EveryRowTypeKeepsExtremeValuesAndOrder) {
  const Folder folder;
  const std::vector<model::RowSet> batches = {makeRowSet(40, 0), makeRowSet(1, 1000), makeRowSet(300, 5)};
  writeProfile(folder / "profile.pop", batches);
  model::RowSet all;
  for (const model::RowSet& batch : batches) all.append(batch);
  EXPECT_EQ(readProfile(folder / "profile.pop"), render(all));
}

TEST(RoundTrip, AnEmptyProfileHasEveryTableWithoutRows) {
  const Folder folder;
  writeProfile(folder / "profile.pop", {});
  EXPECT_TRUE(readProfile(folder / "profile.pop").empty());
}

TEST(RoundTrip, LongTablesAreCutIntoBlocksWithoutLosingOrder) {
  const Folder folder;
  model::RowSet rows;
  auto& placements = rows.of<model::Placement>();
  for (int i = 0; i < 40'000; ++i) {
    model::Placement placement;
    placement.id = model::PlacementId(i);
    placement.device = model::DeviceId(i % 4);
    placement.start = model::Ticks(1000 * (i / 4) + i % 7);
    placement.end = placement.start + model::Ticks(990);
    placement.pass = i % 3 == 0 ? model::Pass::backward : model::Pass::forward;
    placements.push_back(placement);
  }
  writeProfile(folder / "profile.pop", {rows});
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const auto blocks = (*reader)->blocks<model::Placement>();
  ASSERT_OK(blocks);
  ASSERT_EQ(blocks->size(), 3u);
  EXPECT_EQ((*blocks)[0].rows, 16'384);
  EXPECT_EQ((*blocks)[2].rows, 40'000 - 2 * 16'384);
  std::size_t first = 0;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const model::BlockInfo& info = (*blocks)[i];
    const auto block = (*reader)->block<model::Placement>(i);
    ASSERT_OK(block);
    ASSERT_EQ(static_cast<std::int64_t>((*block)->size()), info.rows);
    model::Ticks start = placements[first].start, end = placements[first].end;
    for (const model::Placement& placement : **block) {
      ASSERT_EQ(placement.id.value, static_cast<std::int64_t>(first));
      ASSERT_EQ(placement.start, placements[first].start);
      start = std::min(start, placement.start);
      end = std::max(end, placement.end);
      ++first;
    }
    EXPECT_TRUE(info.hasTime);
    EXPECT_EQ(info.start, start);
    EXPECT_EQ(info.end, end);
    const auto ranges = (*reader)->ranges<model::Placement>(i);
    ASSERT_OK(ranges);
    EXPECT_EQ((*ranges)[0].smallest, (*block)->front().id.value);
    EXPECT_EQ((*ranges)[0].largest, (*block)->back().id.value);
    EXPECT_EQ((*ranges)[2].smallest, 0);
    EXPECT_EQ((*ranges)[2].largest, 3);
  }
  EXPECT_THAT((*reader)->ranges<model::Placement>(3), FailsWith("block 3 of table placement has no ranges"));
  EXPECT_THAT((*reader)->block<model::Placement>(3), FailsWith("table placement has no block 3"));
}

TEST(RoundTrip, ManyPlainRowsStandOnLargePages) {
  for (const int count : {100, 20'003}) {  // neither is a multiple of the rows of one statement
    const Folder folder;
    model::RowSet rows;
    for (int i = 0; i < count; ++i) {
      model::Device& device = rows.of<model::Device>().emplace_back();
      device.id = model::DeviceId(i);
      device.name = "card " + std::to_string(i);
      device.units = count - i;
    }
    writeProfile(folder / "profile.pop", {rows});
    EXPECT_EQ(readProfile(folder / "profile.pop"), render(rows)) << count;
    EXPECT_EQ(selectNumbers(folder / "profile.pop", "PRAGMA page_size"),
              std::vector<std::int64_t>{count > 16'384 ? 16'384 : 4096})
        << count;
    EXPECT_EQ(selectNumbers(folder / "profile.pop",
                            "SELECT units FROM device WHERE id = " + std::to_string(count - 1)),
              std::vector<std::int64_t>{1})
        << count;
  }
}

TEST(RoundTrip, TimeRangesAreOfStartAndEndOrTime) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::CounterSample>() = {{model::CounterId(0), model::Ticks(50), model::RunId(0), 1.5},
                                     {model::CounterId(1), model::Ticks(-3), model::RunId(0), 2.5}};
  rows.of<model::Run>().resize(1);
  rows.of<model::Run>()[0].start = model::Ticks(7);
  rows.of<model::Run>()[0].end = model::Ticks(9);
  rows.of<model::LifeInterval>().resize(1);
  writeProfile(folder / "profile.pop", {rows});
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const auto samples = (*reader)->blocks<model::CounterSample>();
  ASSERT_OK(samples);
  EXPECT_EQ((*samples)[0].start, model::Ticks(-3));
  EXPECT_EQ((*samples)[0].end, model::Ticks(50));
  const auto runs = (*reader)->blocks<model::Run>();
  ASSERT_OK(runs);
  EXPECT_EQ((*runs)[0].start, model::Ticks(7));
  EXPECT_EQ((*runs)[0].end, model::Ticks(9));
  const auto intervals = (*reader)->blocks<model::LifeInterval>();
  ASSERT_OK(intervals);
  EXPECT_FALSE((*intervals)[0].hasTime);
  const auto waits = (*reader)->blocks<model::Wait>();
  ASSERT_OK(waits);
  EXPECT_TRUE(waits->empty());
}

TEST(RoundTrip, RowsWithLongTextsMakeShorterBlocks) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::Run>().resize(20);
  for (std::size_t i = 0; i < 20; ++i)
    rows.of<model::Run>()[i].name = std::string(1'000'000, static_cast<char>('a' + i));
  writeProfile(folder / "profile.pop", {rows});
  const auto reader = ProfileReader::open(folder / "profile.pop");
  ASSERT_OK(reader);
  const auto blocks = (*reader)->blocks<model::Run>();
  ASSERT_OK(blocks);
  EXPECT_EQ(blocks->size(), 3u);  // 8 MiB of texts each
  EXPECT_EQ(readProfile(folder / "profile.pop"), render(rows));
}

TEST(RoundTrip, WhatNoReaderWouldAcceptIsRefusedWhenWritten) {
  const Folder folder;
  auto writer = ProfileWriter::create(folder / "profile.pop");
  ASSERT_OK(writer);
  model::RowSet tooLong;
  tooLong.of<model::Run>().resize(1);
  tooLong.of<model::Run>()[0].name.resize(std::size_t{65} << 20);
  EXPECT_THAT((*writer)->commit(tooLong), FailsWith("the rows of table run make a block of 681"));
  model::RowSet tooLongPlain;
  tooLongPlain.of<model::Property>().push_back({"key", std::string(std::size_t{65} << 20, 'x')});
  const auto status = (*writer)->commit(tooLongPlain);
  EXPECT_THAT(status, FailsWith("a value is longer than 64 MiB"));
  EXPECT_EQ(status.error().kind, base::ErrorKind::refused);
  EXPECT_OK((*writer)->commit(makeRowSet(2, 0)));
}

TEST(RoundTrip, PlainTablesCanBeReadByAnySqlTool) {
  const Folder folder;
  model::RowSet rows;
  rows.of<model::Property>() = {{"tool_version", "0.1.0"}};
  writeProfile(folder / "profile.pop", {rows});
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "profile.pop").c_str(), &database), SQLITE_OK);
  std::string value;
  const auto keep = [](void* out, int, char** values, char**) {
    *static_cast<std::string*>(out) = values[0];
    return 0;
  };
  sqlite3_exec(database, "SELECT value FROM property WHERE key = 'tool_version'", keep, &value, nullptr);
  EXPECT_EQ(value, "0.1.0");
  sqlite3_exec(database, "PRAGMA integrity_check", keep, &value, nullptr);
  EXPECT_EQ(value, "ok");
  sqlite3_close(database);
}

}  // namespace
}  // namespace pipescope::store::testing

#include <gmock/gmock.h>

#include "profiler/record/memory_profile.h"

namespace pipescope::record {
namespace {

using model::Device;
using model::Lane;
using model::Placement;
using model::ProfileState;
using model::Property;

/// A sink that keeps the committed rows and fails on request.
class FailingSink : public Sink {
 public:
  base::Status commit(const model::RowSet& rows) override {
    ++commits;
    if (failing) return base::refused("the disk is full");
    committedRows += rows.size();
    return {};
  }
  base::Status finish(ProfileState state, const std::string& reason) override {
    finished = reason + " " + toString(state);
    return {};
  }
  bool failing = false;
  int commits = 0;
  std::size_t committedRows = 0;
  std::string finished;
};

TEST(Recorder, IdsAreDensePerTableAcrossCommits) {
  MemoryProfile profile;
  Recorder recorder(profile);
  EXPECT_EQ(recorder.add(Device{}).value, 0);
  EXPECT_EQ(recorder.add(Device{}).value, 1);
  EXPECT_EQ(recorder.add(Lane{}).value, 0);
  ASSERT_TRUE(recorder.commit().ok());
  Device given;
  given.id = model::DeviceId(77);  // the recorder overwrites ids
  EXPECT_EQ(recorder.add(given).value, 2);
  ASSERT_TRUE(recorder.commit().ok());
  const auto devices = profile.rows<Device>();
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ((*devices)->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((**devices)[i].id.value, static_cast<std::int64_t>(i));
}

TEST(Recorder, NothingGathersWithoutRows) {
  FailingSink sink;
  Recorder recorder(sink);
  EXPECT_TRUE(recorder.commit().ok());
  EXPECT_TRUE(recorder.commitIfDue().ok());
  EXPECT_EQ(sink.commits, 0);
}

TEST(Recorder, CommitsWhenMoreThanAMillionRowsWait) {
  FailingSink sink;
  Recorder recorder(sink);
  for (int i = 0; i < 1'000'001; ++i) recorder.add(model::LifeInterval{});
  EXPECT_TRUE(recorder.commitIfDue().ok());
  EXPECT_EQ(sink.committedRows, 1'000'001u);
  EXPECT_EQ(sink.commits, 1);
}

/// A sink that buffers rows, like the sink of a file.
struct BufferingSink : Sink {
  base::Status commit(const model::RowSet& rows) override {
    taken.push_back(rows.size());
    return {};
  }
  bool buffers() const override { return true; }
  void gather(model::RowSet& rows) override {
    gathered += rows.size();
    rows.clear();
  }
  base::Status finish(ProfileState, const std::string&) override { return {}; }
  std::vector<std::size_t> taken;
  std::size_t gathered = 0;
};

TEST(Recorder, AFewRowsWaitForMoreWhereMoreComeAtOnce) {
  BufferingSink sink;
  Recorder recorder(sink);
  recorder.add(Device{});
  EXPECT_TRUE(recorder.commitIfDue().ok());
  EXPECT_EQ(sink.taken, std::vector<std::size_t>{1}) << "who says nothing may do other things for long";
  for (int i = 0; i < 32'768; ++i) recorder.add(model::LifeInterval{});
  EXPECT_TRUE(recorder.commitIfDue(true).ok());
  EXPECT_EQ(sink.taken.back(), 32'768u) << "many are handed over whatever follows";
  recorder.add(Device{});
  ASSERT_TRUE(recorder.finish(ProfileState::complete).ok());
  EXPECT_EQ(sink.taken.back(), 1u);
}

TEST(Recorder, ManyRowsOfOneCommitAreHandedOverEarly) {
  BufferingSink sink;
  Recorder recorder(sink);
  for (std::int64_t i = 0; i < 200'000; ++i) {
    EXPECT_EQ(recorder.add(model::Variable{}).value, i);
    recorder.gather();
  }
  EXPECT_GT(sink.gathered, 100'000u);
  EXPECT_TRUE(sink.taken.empty()) << "no commit was asked for";
  ASSERT_TRUE(recorder.commit().ok());
  EXPECT_EQ(sink.gathered + sink.taken.front(), 200'000u);
  // A sink that does not buffer gets all of them at once.
  FailingSink plain;
  Recorder other(plain);
  for (int i = 0; i < 200'000; ++i) {
    other.add(model::Variable{});
    other.gather();
  }
  EXPECT_EQ(plain.committedRows, 0u);
  ASSERT_TRUE(other.commit().ok());
  EXPECT_EQ(plain.committedRows, 200'000u);
}

TEST(Recorder, AFailedCommitLosesNothing) {
  FailingSink sink;
  Recorder recorder(sink);
  recorder.add(Device{});
  recorder.add(Property{"key", "value"});
  sink.failing = true;
  const base::Status status = recorder.commit();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the disk is full");
  EXPECT_EQ(recorder.finish(ProfileState::complete).error().message, "the disk is full");
  EXPECT_EQ(sink.finished, "") << "the caller decides how such a run ends";
  sink.failing = false;
  recorder.add(Device{});
  ASSERT_TRUE(recorder.finish(ProfileState::cancelled, "stopped:").ok());
  EXPECT_EQ(sink.committedRows, 3u);
  EXPECT_EQ(sink.finished, "stopped: cancelled");
}

TEST(MemoryProfile, ReadsBackWhatWasCommitted) {
  MemoryProfile profile;
  Recorder recorder(profile);
  EXPECT_EQ(profile.state()->state, ProfileState::running);
  EXPECT_TRUE((*profile.rows<Property>())->empty());
  recorder.add(Property{"a", "1"});
  EXPECT_TRUE((*profile.rows<Property>())->empty()) << "not committed yet";
  const std::int64_t before = profile.revision();
  ASSERT_TRUE(recorder.commit().ok());
  EXPECT_GT(profile.revision(), before);
  const auto early = *profile.rows<Property>();
  EXPECT_EQ(*profile.rows<Property>(), early) << "shared until something is added";
  recorder.add(Property{"b", "2"});
  ASSERT_TRUE(recorder.finish(ProfileState::incomplete, "no space").ok());
  EXPECT_EQ(early->size(), 1u) << "immutable";
  const auto late = *profile.rows<Property>();
  ASSERT_EQ(late->size(), 2u);
  EXPECT_EQ((*late)[1].key, "b");
  EXPECT_EQ(profile.state()->state, ProfileState::incomplete);
  EXPECT_EQ(profile.state()->reason, "no space");
  const auto blocks = profile.blocks<Property>();
  ASSERT_TRUE(blocks.ok());
  EXPECT_EQ(blocks->at(0).rows, 2);
  EXPECT_TRUE((*profile.rows<Placement>())->empty());
}

TEST(MemoryProfile, ItsIntegerColumnsAreThoseOfTheRows) {
  MemoryProfile profile;
  Recorder recorder(profile);
  for (const std::int64_t start : {std::int64_t{40}, std::int64_t{90}}) {
    Placement row;
    row.start = model::Ticks(start);
    row.end = model::Ticks(start + 7);
    row.stage = static_cast<std::int32_t>(start / 10);
    recorder.add(row);
  }
  recorder.add(Property{"a", "1"});
  ASSERT_TRUE(recorder.commit().ok());
  const auto found = profile.columns<Placement>(0);
  ASSERT_TRUE(found.ok());
  const model::ColumnBlock& block = **found;
  EXPECT_EQ(block.rows, 2u);
  ASSERT_EQ(block.columns.size(), 13u);  // id, segment, device, start, end, run, replica, stage, …
  EXPECT_THAT(block.columns[3].values, testing::ElementsAre(40, 90));
  EXPECT_THAT(block.columns[4].values, testing::ElementsAre(47, 97));
  EXPECT_THAT(block.columns[7].values, testing::ElementsAre(4, 9));
  EXPECT_THAT(block.columns[10].values, testing::ElementsAre(-1, -1));
  const auto texts = profile.columns<Property>(0);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ((*texts)->rows, 1u);
  for (const model::IntegerColumn& column : (*texts)->columns) EXPECT_TRUE(column.values.empty());
}

}  // namespace
}  // namespace pipescope::record

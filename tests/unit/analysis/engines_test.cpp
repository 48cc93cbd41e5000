// Checks the engine utilisation and exposed communication of a small trace against sums made by hand.
#include <gtest/gtest.h>

#include <tuple>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
namespace {

using base::Ticks;
using model::LaneRole;

/// One card that works for 100 ticks. A backward segment takes 60 ticks (MME 0–40, TPC 20–60, DMA 0–10). A
/// collective runs from 30 to 75 (its NIC from 50 on), and the card waits for it from 60 to 75. An update
/// then takes 25 ticks on the TPC.
class Engines : public ::testing::Test {
 protected:
  void SetUp() override {
    recorder_.add(model::Target{"test", "gaudi", "", 1, 1, model::TickMeaning::time});
    model::Executable executable;
    executable.name = "training";
    const model::ExecutableId id = recorder_.add(executable);
    model::Device device;
    device.kind = "gaudi2";
    device.name = "HPU0";
    device.ticksPerSecond = 1000;
    const model::DeviceId on = recorder_.add(device);
    recorder_.add(model::Stage{id, 0, on, "", 0, {}});
    std::map<LaneRole, model::LaneId> lanes;
    for (const LaneRole role : {LaneRole::matrix, LaneRole::vector, LaneRole::copy, LaneRole::network})
      lanes[role] = recorder_.add(model::Lane{{}, on, "lane", role, {}});
    const auto segment = [&](LaneRole lane, model::Pass pass, std::int64_t ticks) {
      return recorder_.add(model::Segment{{}, id, on, lanes[lane], 0, 0, pass, "segment", Ticks(ticks)});
    };
    const auto step = [&](model::SegmentId of, LaneRole lane, std::int64_t offset, std::int64_t ticks) {
      model::Step row;
      row.segment = of;
      row.lane = lanes[lane];
      row.offset = Ticks(offset);
      row.ticks = Ticks(ticks);
      if (lane == LaneRole::network)
        row.kind = offset == 0 ? model::StepKind::sync : model::StepKind::globalExchange;
      recorder_.add(row);
    };
    const model::SegmentId backward = segment(LaneRole::matrix, model::Pass::backward, 60),
                           collective = segment(LaneRole::network, model::Pass::collective, 45),
                           update = segment(LaneRole::matrix, model::Pass::update, 25);
    step(backward, LaneRole::matrix, 0, 40);
    step(backward, LaneRole::vector, 20, 40);
    step(backward, LaneRole::copy, 0, 10);
    step(collective, LaneRole::network, 0, 5);  // a sync
    step(collective, LaneRole::network, 20, 25);
    step(update, LaneRole::vector, 0, 25);
    model::Run run;
    run.executable = id;
    run.end = Ticks(100);
    const model::RunId of = recorder_.add(run);
    const auto place = [&](model::SegmentId placed, model::Pass pass, std::int64_t start, std::int64_t end) {
      model::Placement row;
      row.segment = placed;
      row.device = on;
      row.start = Ticks(start);
      row.end = Ticks(end);
      row.run = of;
      row.pass = pass;
      recorder_.add(row);
    };
    place(backward, model::Pass::backward, 0, 60);
    place(collective, model::Pass::collective, 30, 75);
    place(update, model::Pass::update, 75, 100);
    model::Wait wait;
    wait.device = on;
    wait.start = Ticks(60);
    wait.end = Ticks(75);
    wait.cause = model::WaitCause::collective;
    wait.run = of;
    recorder_.add(wait);
    ASSERT_TRUE(recorder_.finish(model::ProfileState::complete).ok());
    catalog_ = *loadCatalog(profile_);
  }

  record::MemoryProfile profile_;
  record::Recorder recorder_{profile_};
  std::shared_ptr<const Catalog> catalog_;
};

TEST_F(Engines, AddUp) {
  const auto found = execution(profile_, *catalog_, model::ExecutableId(0));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->devices.size(), 1U);
  const DeviceExecution& device = found->devices.front();
  EXPECT_EQ(device.total, Ticks(100));
  EXPECT_EQ(device.byLane.at(LaneRole::matrix), Ticks(40));
  EXPECT_EQ(device.byLane.at(LaneRole::vector), Ticks(40 + 25));
  EXPECT_EQ(device.byLane.at(LaneRole::copy), Ticks(10));
  EXPECT_EQ(device.byLane.at(LaneRole::network), Ticks(25)) << "without the sync";
  EXPECT_EQ(device.communicating, Ticks(45));
  EXPECT_EQ(device.exposed, Ticks(15));
  EXPECT_TRUE(device.placed);
  EXPECT_EQ(device.idle, Ticks(0));
  EXPECT_EQ(device.ofKind(model::StepKind::compute), Ticks(60 + 25)) << "MME and TPC count once";
  EXPECT_EQ(device.ofKind(model::StepKind::globalExchange), Ticks(15))
      << "30–60 is hidden behind the passes; in 60–75 the collective is past its first 20 ticks";
  EXPECT_EQ(device.waits.at(model::WaitCause::collective), Ticks(0)) << "the NIC works meanwhile";
  const TimeShares shares = timeShares(*found);
  EXPECT_DOUBLE_EQ(shares.compute, 0.85);
  EXPECT_DOUBLE_EQ(shares.exchange, 0.15);
  EXPECT_DOUBLE_EQ(shares.unknown, 0);
}

/// A call of 100 ticks with nothing but two waits, of which 20 ticks are the same: the moment counts for one
/// cause, and what is unknown is not less than nothing.
TEST(Execution, CountsAMomentOfTwoWaitsOnce) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const model::ExecutableId executable = recorder.add(model::Executable());
  const model::DeviceId on = recorder.add(model::Device());
  recorder.add(model::Stage{executable, 0, on, "", 0, {}});
  const model::LaneId lane = recorder.add(model::Lane{{}, on, "compute", LaneRole::compute, {}});
  model::Placement nothing;  // a call without placements has not run
  nothing.segment =
      recorder.add(model::Segment{{}, executable, on, lane, 0, 0, model::Pass::forward, "nothing", Ticks(0)});
  nothing.device = on;
  model::Run run;
  run.executable = executable;
  run.end = Ticks(100);
  const model::RunId of = nothing.run = recorder.add(run);
  recorder.add(nothing);
  for (const auto& [cause, start, end] :
       {std::tuple{model::WaitCause::fill, 0, 60}, {model::WaitCause::host, 40, 100}}) {
    model::Wait wait;
    wait.device = on;
    wait.start = Ticks(start);
    wait.end = Ticks(end);
    wait.cause = cause;
    wait.run = of;
    recorder.add(wait);
  }
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto found = execution(profile, **loadCatalog(profile), executable);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const TimeShares shares = timeShares(*found);
  EXPECT_DOUBLE_EQ(shares.pipeline, 0.6);
  EXPECT_DOUBLE_EQ(shares.host, 0.4);
  EXPECT_DOUBLE_EQ(shares.unknown, 0);
}

/// Rows that reach over the end of the call, or more kinds than the device has time: no share is less than
/// nothing, and all of them make the whole.
TEST(Execution, NoShareOfTheTimeIsNegative) {
  DeviceExecution device;
  device.holdsStage = true;
  device.total = Ticks(1000);
  device.byKind[kindIndex(model::StepKind::compute)] = 700;
  device.byKind[kindIndex(model::StepKind::streamCopy)] = 250;
  device.waits = {{model::WaitCause::host, Ticks(30)}, {model::WaitCause::fill, Ticks(21)}};
  Execution call;
  call.devices = {device};
  const TimeShares shares = timeShares(call);
  EXPECT_DOUBLE_EQ(shares.compute, 0.7);
  EXPECT_DOUBLE_EQ(shares.stream, 0.25);
  EXPECT_DOUBLE_EQ(shares.host + shares.pipeline, 0.05);
  EXPECT_DOUBLE_EQ(shares.unknown, 0);
  EXPECT_GE(shares.host, 0);
  EXPECT_GE(shares.pipeline, 0);
}

/// Device 0 works for 10 ticks in a segment without recorded steps and sends 8 bytes from 10 to 30. Device 1
/// waits for these bytes and works from 30 to 40. The call ends at 40.
/// A forward pass of 60 ticks gathers weights on the NIC from 0 to 30 while the MME computes from 20 to 60:
/// 30 ticks of communication, of which nothing hides the first 20.
TEST(Execution, CountsCollectivesWithinPassesAsCommunication) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recorder.add(model::Target{"test", "gaudi", "", 1, 1, model::TickMeaning::time});
  const model::ExecutableId executable = recorder.add(model::Executable());
  const model::DeviceId on = recorder.add(model::Device());
  recorder.add(model::Stage{executable, 0, on, "", 0, {}});
  const model::LaneId mme = recorder.add(model::Lane{{}, on, "MME", LaneRole::matrix, {}}),
                      nic = recorder.add(model::Lane{{}, on, "NIC", LaneRole::network, {}});
  const model::SegmentId forward =
      recorder.add(model::Segment{{}, executable, on, mme, 0, 0, model::Pass::forward, "forward", Ticks(60)});
  model::Step gather;
  gather.segment = forward;
  gather.lane = nic;
  gather.kind = model::StepKind::globalExchange;
  gather.ticks = Ticks(30);
  recorder.add(gather);
  model::Step product;
  product.segment = forward;
  product.lane = mme;
  product.offset = Ticks(20);
  product.ticks = Ticks(40);
  recorder.add(product);
  model::Run run;
  run.executable = executable;
  run.end = Ticks(120);
  const model::RunId of = recorder.add(run);
  for (const std::int64_t start : {0, 60}) {
    model::Placement row;
    row.segment = forward;
    row.device = on;
    row.start = Ticks(start);
    row.end = Ticks(start + 60);
    row.run = of;
    row.stage = row.iteration = 0;
    row.pass = model::Pass::forward;
    recorder.add(row);
  }
  ASSERT_TRUE(recorder.commit().ok());
  const auto catalog = loadCatalog(profile).value();
  const auto report = execution(profile, *catalog, executable);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->devices.front().communicating, Ticks(2 * 30));
  EXPECT_EQ(report->devices.front().exposed, Ticks(2 * 20));
}

TEST(Execution, CountsTransfersOnBothDevices) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  model::Executable row;
  row.name = "inference";
  const model::ExecutableId executable = recorder.add(row);
  model::Run run;
  run.executable = executable;
  run.end = Ticks(40);
  const model::RunId call = recorder.add(run);
  std::vector<model::DeviceId> devices;
  std::vector<model::LaneId> nics;
  for (int d = 0; d < 2; ++d) {
    devices.push_back(recorder.add(model::Device{}));
    const model::LaneId compute = recorder.add(model::Lane{{}, devices.back(), "", LaneRole::compute, {}});
    nics.push_back(recorder.add(model::Lane{{}, devices.back(), "", LaneRole::network, {}}));
    model::Placement placement;
    placement.segment = recorder.add(
        model::Segment{{}, executable, devices.back(), compute, d, 0, model::Pass::forward, "", Ticks(10)});
    placement.device = devices.back();
    placement.start = Ticks(30 * d);
    placement.end = Ticks(30 * d + 10);
    placement.run = call;
    recorder.add(placement);
  }
  model::Transfer transfer;
  transfer.fromLane = nics[0];
  transfer.toLane = nics[1];
  transfer.bytes = model::Bytes(8);
  transfer.start = Ticks(10);
  transfer.end = Ticks(30);
  transfer.run = call;
  recorder.add(transfer);
  model::Wait wait;
  wait.device = devices[1];
  wait.end = Ticks(30);
  wait.cause = model::WaitCause::exchange;
  wait.run = call;
  recorder.add(wait);
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = loadCatalog(profile).value();
  const auto found = execution(profile, *catalog, executable);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->devices.size(), 2U);
  for (const DeviceExecution& device : found->devices) {
    EXPECT_EQ(device.byLane.at(LaneRole::compute), Ticks(10));
    EXPECT_EQ(device.byLane.at(LaneRole::network), Ticks(20));
    EXPECT_EQ(device.ofKind(model::StepKind::compute), Ticks(10));
    EXPECT_EQ(device.ofKind(model::StepKind::globalExchange), Ticks(20));
    EXPECT_EQ(device.communicating, Ticks(20));
    EXPECT_EQ(device.exposed, Ticks(20)) << "a wait before the transfer is no communication";
    EXPECT_EQ(device.idle, Ticks(10));
  }
  EXPECT_EQ(found->devices[0].transfersAlone, Ticks(20));
  EXPECT_EQ(found->devices[1].transfersAlone, Ticks(0)) << "the wait's cause says it already";
  EXPECT_EQ(found->devices[1].waits.at(model::WaitCause::exchange), Ticks(30));
  EXPECT_EQ(found->devices[0].globalOut, model::Bytes(8));
  EXPECT_EQ(found->devices[0].globalIn, model::Bytes(0));
  EXPECT_EQ(found->devices[1].globalIn, model::Bytes(8));
  EXPECT_EQ(found->devices[1].globalOut, model::Bytes(0));
}

TEST_F(Engines, SectionHasAColumnForEveryLane) {
  const sections::Context context{profile_, *catalog_, model::ExecutableId(0)};
  const auto section = sections::makeSection(*sections::sectionRegistry().find("engines"), context);
  ASSERT_TRUE(section.ok()) << section.error().message;
  const std::string json = sections::toJson(*section);
  for (const char* part : {"\"mme_utilisation\"", "\"tpc_utilisation\"", "\"dma_utilisation\"",
                           "\"nic_utilisation\"", "\"exposed_communication_cycles\"", "\"HPU0\""})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  EXPECT_NE(json.find("\"exchange_utilisation\": null"), std::string::npos) << "no such lane here";
}

TEST(NestedLanes, WorkNoLongerThanTheirPlacementsLast) {
  // A thread of an imported trace has two lanes of one role: a call from 0 to 80, and what it calls, from 10
  // to 60 and from 70 to 90.
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  model::Executable executable;
  executable.name = "trace";
  const model::ExecutableId id = recorder.add(executable);
  model::Device device;
  device.ticksPerSecond = 1000;
  const model::DeviceId on = recorder.add(device);
  recorder.add(model::Stage{id, 0, on, "", 0, {}});
  model::Run run;
  run.executable = id;
  run.end = Ticks(100);
  const model::RunId of = recorder.add(run);
  const auto slice = [&](model::LaneId lane, std::int64_t start, std::int64_t end) {
    const model::SegmentId segment =
        recorder.add(model::Segment{{}, id, on, lane, -1, 0, model::Pass::other, "call", Ticks(end - start)});
    model::Placement row;
    row.segment = segment;
    row.device = on;
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = of;
    row.pass = model::Pass::other;
    recorder.add(row);
  };
  const model::LaneId outer = recorder.add(model::Lane{{}, on, "thread 1", LaneRole::compute, {}}),
                      inner = recorder.add(model::Lane{{}, on, "thread 1, level 2", LaneRole::compute, {}});
  slice(outer, 0, 80);
  slice(inner, 10, 60);
  slice(inner, 70, 90);
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = loadCatalog(profile);
  ASSERT_TRUE(catalog.ok());
  const auto report = execution(profile, **catalog, id);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->devices.size(), 1U);
  EXPECT_EQ(report->devices[0].byLane.at(LaneRole::compute), Ticks(90)) << "and not 80 + 50 + 20";
}

/// A rank as a trace shows it: an operator of a host thread from 0 to 60, and a weight update from 80 to 90.
struct RecordedRank {
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  model::ExecutableId executable;
  model::RunId run;
  model::DeviceId device;
  model::LaneId passes, thread;

  RecordedRank() {
    recorder.add(model::Property{"imported_from", "trace.json"});
    model::Executable row;
    row.name = "trace";
    executable = recorder.add(row);
    device = recorder.add(model::Device{});
    passes = recorder.add(model::Lane{{}, device, "passes", LaneRole::compute, {}});
    thread = recorder.add(model::Lane{{}, device, "thread 1", LaneRole::hostThread, {}});
    model::Run call;
    call.executable = executable;
    call.end = Ticks(100);
    run = recorder.add(call);
    place(thread, model::Pass::other, -1, 0, 60);
    place(passes, model::Pass::update, -1, 80, 90);
  }

  void place(model::LaneId lane, model::Pass pass, int stage, std::int64_t start, std::int64_t end) {
    model::Placement row;
    row.segment =
        recorder.add(model::Segment{{}, executable, device, lane, stage, 0, pass, "", Ticks(end - start)});
    row.device = device;
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = run;
    row.stage = stage;
    row.pass = pass;
    recorder.add(row);
  }

  DeviceExecution found() {
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    const auto catalog = loadCatalog(profile).value();
    const auto made = execution(profile, *catalog, executable);
    EXPECT_TRUE(made.ok());
    return made.ok() && made->devices.size() == 1 ? made->devices[0] : DeviceExecution();
  }
};

TEST(Execution, CountsAllThatATraceShowsWhereItNamesNoPasses) {
  RecordedRank updates;
  EXPECT_EQ(updates.found().idle, Ticks(100 - 60 - 10))
      << "the thread and the update, which alone is recognised";
  RecordedRank computes;
  computes.place(computes.passes, model::Pass::forward, 0, 10, 30);
  EXPECT_EQ(computes.found().idle, Ticks(100 - 20 - 10)) << "the thread only starts the passes";
}

TEST(Execution, CountsNoMessageOfATraceTwice) {
  RecordedRank rank;
  rank.place(rank.passes, model::Pass::forward, 0, 0, 80);
  model::Transfer message;
  message.fromLane = message.toLane = rank.passes;
  message.start = Ticks(20);
  message.end = Ticks(80);
  message.run = rank.run;
  rank.recorder.add(message);
  EXPECT_EQ(rank.found().byLane.at(LaneRole::compute), Ticks(90)) << "of 100, and not 150";
}

}  // namespace
}  // namespace pipescope::analysis

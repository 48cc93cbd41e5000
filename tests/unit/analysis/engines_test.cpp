// Engine utilisation and exposed communication of a small trace, added up by hand.
#include <gtest/gtest.h>

#include "profiler/analysis/pipeline/engines.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/section.h"

namespace pipescope::analysis {
namespace {

using base::Ticks;
using model::LaneRole;

/// One card for 100 ticks: a backward segment of 60 (MME 0–40, TPC 20–60, DMA 0–10), a collective 30–75
/// beside it, for which it then waits from 60 to 75, and an update of 25 on the TPC.
class Engines : public ::testing::Test {
 protected:
  void SetUp() override {
    recorder_.add(model::Target{"test", "gaudi", "", 1, 1});
    model::Executable executable;
    executable.name = "training";
    const model::ExecutableId id = recorder_.add(executable);
    model::Device device;
    device.kind = "gaudi2";
    device.name = "HPU0";
    device.ticksPerSecond = 1000;
    const model::DeviceId on = recorder_.add(device);
    std::map<LaneRole, model::LaneId> lanes;
    for (const LaneRole role : {LaneRole::mme, LaneRole::tpc, LaneRole::dma, LaneRole::nic})
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
      recorder_.add(row);
    };
    const model::SegmentId backward = segment(LaneRole::mme, model::Pass::backward, 60),
                           collective = segment(LaneRole::nic, model::Pass::collective, 45),
                           update = segment(LaneRole::mme, model::Pass::update, 25);
    step(backward, LaneRole::mme, 0, 40);
    step(backward, LaneRole::tpc, 20, 40);
    step(backward, LaneRole::dma, 0, 10);
    step(collective, LaneRole::nic, 0, 45);
    step(update, LaneRole::tpc, 0, 25);
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
  const auto found = engines(profile_, *catalog_, model::ExecutableId(0));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  const DeviceEngines& device = found->front();
  EXPECT_EQ(device.total, Ticks(100));
  EXPECT_EQ(device.busy.at(LaneRole::mme), Ticks(40));
  EXPECT_EQ(device.busy.at(LaneRole::tpc), Ticks(40 + 25));
  EXPECT_EQ(device.busy.at(LaneRole::dma), Ticks(10));
  EXPECT_EQ(device.busy.at(LaneRole::nic), Ticks(45));
  EXPECT_EQ(device.anyBusy, Ticks(60 + 25));
  EXPECT_EQ(device.communicating, Ticks(45));
  EXPECT_EQ(device.exposed, Ticks(15));
}

TEST_F(Engines, SectionHasAColumnForEachLane) {
  const sections::Context context{profile_, *catalog_, model::ExecutableId(0)};
  const auto section = sections::makeSection(*sections::sectionRegistry().find("engines"), context);
  ASSERT_TRUE(section.ok()) << section.error().message;
  const std::string json = sections::toJson(*section);
  for (const char* part : {"\"mme_utilisation\"", "\"tpc_utilisation\"", "\"dma_utilisation\"",
                           "\"nic_utilisation\"", "\"exposed_communication_cycles\"", "\"HPU0\""})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  EXPECT_EQ(json.find("exchange_utilisation"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis

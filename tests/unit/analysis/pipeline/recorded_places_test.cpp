// Tests a catalogue's devices, searches and coverage, from a few rows by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/analysis/coverage.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/recorded_devices.h"
#include "profiler/analysis/searched_stages.h"

namespace pipescope::analysis {
namespace {

using ::testing::ElementsAre;

TEST(DevicePlaces, OfARecordedRunFollowFromItsPasses) {
  Catalog catalog;
  catalog.properties.push_back({"imported_from", "trace"});
  for (int d = 0; d < 4; ++d) catalog.devices.push_back({});
  const auto add = [&](int device, int stage, model::Pass pass, int executable = 0) {
    model::Segment segment;
    segment.device = model::DeviceId(device);
    segment.stage = stage;
    segment.pass = pass;
    segment.executable = model::ExecutableId(executable);
    catalog.segments.push_back(segment);
  };
  add(0, 2, model::Pass::forward);
  add(0, 0, model::Pass::forward);
  add(0, 2, model::Pass::backward);
  add(1, 1, model::Pass::update);
  add(1, 3, model::Pass::hostIn);  // does not compute the stage
  add(2, 0, model::Pass::backward);
  add(2, -1, model::Pass::forward);
  add(3, 1, model::Pass::forward, 1);  // another executable
  add(7, 1, model::Pass::forward);     // no such device
  const auto places = devicePlaces(catalog, model::ExecutableId(0));
  ASSERT_EQ(places.size(), 4U);
  EXPECT_THAT(places[model::DeviceId(0)].stages, ElementsAre(0, 2));
  EXPECT_THAT(places[model::DeviceId(1)].stages, ElementsAre(1));
  EXPECT_THAT(places[model::DeviceId(2)].stages, ElementsAre(0));
  EXPECT_EQ(places[model::DeviceId(0)].replica, 0);
  EXPECT_EQ(places[model::DeviceId(1)].replica, 0);
  EXPECT_EQ(places[model::DeviceId(2)].replica, 1) << "the second device of stage 0";
  EXPECT_EQ(places[model::DeviceId(3)].replica, -1);
}

/// Three replicas of two devices, of which these are recorded.
std::vector<int> standingFor(const std::string& like, const std::vector<int>& recorded) {
  Catalog catalog;
  for (int d = 0; d < 6; ++d) catalog.devices.push_back({});
  model::Executable executable;
  executable.id = model::ExecutableId(0);
  executable.stages = 2;
  executable.replicas = 3;
  catalog.executables.push_back(executable);
  for (int s = 0; s < 2; ++s)
    catalog.stages.push_back({model::ExecutableId(0), s, model::DeviceId(s), "B", 0, {}});
  for (const int device : recorded) {
    model::Segment segment;
    segment.device = model::DeviceId(device);
    segment.executable = model::ExecutableId(0);
    segment.stage = device % 2;
    catalog.segments.push_back(segment);
  }
  if (!like.empty()) catalog.properties.push_back({"replicas_like.0", like});
  std::vector<int> stands;
  for (const model::DeviceId device : recordedDevices(catalog, model::ExecutableId(0)))
    stands.push_back(device.valid() ? static_cast<int>(device.value) : -1);
  return stands;
}

TEST(RecordedDevices, ReplicasOfEqualSpeedStandForEachOther) {
  EXPECT_THAT(standingFor("", {0, 1}), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(standingFor("0 1x2", {0, 1, 2, 3}), ElementsAre(0, 1, 2, 3, 2, 3));
  EXPECT_THAT(standingFor("0x2 2", {0, 1, 4, 5}), ElementsAre(0, 1, 0, 1, 4, 5));
}

TEST(RecordedDevices, DamagedRunsOfReplicasMeanNothing) {
  for (const char* wrong : {"0x7", "x2", "0x", "0x0", "-1x2", "9", "0 a", "0x-1"})
    EXPECT_THAT(standingFor(wrong, {0, 1}), ElementsAre(0, 1, 0, 1, 0, 1)) << wrong;
}

TEST(SearchedStages, AreThoseThatSomebodyAskedFor) {
  const auto searched = [](const char* value) {
    Catalog catalog;
    catalog.configuration.push_back({"execution.stages", value, "file"});
    return searchedStages(catalog);
  };
  EXPECT_EQ(searched("4"), 4);
  EXPECT_EQ(searched("2"), 2);
  EXPECT_EQ(searched("1"), 0) << "one stage needs no search";
  EXPECT_EQ(searched("0"), 0);
  EXPECT_EQ(searched("-3"), 0);
  EXPECT_EQ(searched("auto"), 0);
  EXPECT_EQ(searchedStages(Catalog()), 0);
}

TEST(Coverage, IsWhatTheImportRecorded) {
  Catalog catalog;
  catalog.properties = {{"coverage_slices", "70"},
                        {"coverage_recognised_slices", "60"},
                        {"coverage_ranks", "8"},
                        {"coverage_ranks_of_run", "16"},
                        {"coverage_messages", "many"}};
  const Coverage coverage = coverageOf(catalog);
  EXPECT_EQ(coverage.slices, 70);
  EXPECT_EQ(coverage.recognisedSlices, 60);
  EXPECT_EQ(coverage.ranks, 8);
  EXPECT_EQ(coverage.ranksOfRun, 16);
  EXPECT_EQ(coverage.messages, 0);
}

}  // namespace
}  // namespace pipescope::analysis

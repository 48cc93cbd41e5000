// Checks the bytes over links and into memory spaces, and which chips do collectives with each other, against
// results worked out by hand.
#include "profiler/analysis/pipeline/links/system_links.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/links/axis_traffic.h"
#include "profiler/analysis/pipeline/links/collective_groups.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
namespace {

/// Three devices in a row (links 0→1 and 1→2). Each has tiles and a link from the host. The first also has
/// streaming memory. A call takes 1,000 ticks at 1 GHz.
struct Wired {
  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder{*profile};
  model::ExecutableId executable;
  std::vector<model::DeviceId> devices;
  std::vector<model::LaneId> lanes;
  model::RunId run;

  Wired() {
    for (int d = 0; d < 3; ++d) {
      model::Device device;
      device.name = "D" + std::to_string(d);
      device.ticksPerSecond = 1'000'000'000;
      devices.push_back(recorder.add(device));
      lanes.push_back(recorder.add(model::Lane{{}, devices.back(), "", model::LaneRole::exchange, {}}));
      recorder.add(model::MemorySpace{{}, devices.back(), "tile_memory", 4, Bytes(100), {}});
    }
    recorder.add(model::MemorySpace{{}, devices[0], "streaming_memory", 1, Bytes(1'000'000), {}});
    recorder.add(model::Link{{}, devices[0], devices[1], "cable", 1e9});
    recorder.add(model::Link{{}, devices[1], devices[2], "cable", 1e9});
    for (int d = 0; d < 3; ++d)
      recorder.add(model::Link{{}, {}, devices[static_cast<std::size_t>(d)], "host", 8e9});
    executable = recorder.add(model::Executable());
    model::Run row;
    row.executable = executable;
    row.end = Ticks(1000);
    run = recorder.add(row);
  }

  void transfer(int from, int to, int link, std::int64_t bytes, std::int64_t start, std::int64_t end) {
    model::Transfer row;
    row.fromLane = lanes[static_cast<std::size_t>(from)];
    row.toLane = lanes[static_cast<std::size_t>(to)];
    if (link >= 0) row.link = model::LinkId(link);
    row.bytes = Bytes(bytes);
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = run;
    recorder.add(row);
  }

  /// Adds a segment with one copy, and a placement of it at each start.
  void copies(int device, model::StepKind kind, std::int64_t in, std::int64_t out, std::int64_t ticks,
              std::initializer_list<std::int64_t> starts) {
    model::Segment segment;
    segment.executable = executable;
    segment.device = devices[static_cast<std::size_t>(device)];
    segment.ticks = Ticks(ticks);
    model::Step step;
    step.segment = recorder.add(segment);
    step.kind = kind;
    step.ticks = Ticks(ticks);
    step.bytesIn = Bytes(in);
    step.bytesOut = Bytes(out);
    recorder.add(step);
    for (const std::int64_t start : starts) {
      model::Placement row;
      row.segment = step.segment;
      row.device = segment.device;
      row.start = Ticks(start);
      row.end = Ticks(start + ticks);
      row.run = run;
      recorder.add(row);
    }
  }

  SystemUse use() {
    EXPECT_TRUE(recorder.commit().ok());
    const auto catalog = *loadCatalog(*profile);
    base::SilentProgress progress;
    auto made = systemUse(*profile, *catalog, executable, progress);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
};

/// The devices of two replicas, each with one stage. The second replica does the same as the first and is not
/// recorded. The third device is idle.
TEST(SystemUse, WhatIsNotRecordedIsNotZero) {
  Wired wired;
  model::Executable executable;
  executable.stages = 1;
  executable.replicas = 2;
  wired.executable = wired.recorder.add(executable);
  wired.recorder.add(model::Stage{wired.executable, 0, wired.devices[0], "", 0, Bytes(0)});
  model::Run run;
  run.executable = wired.executable;
  run.end = Ticks(1000);
  wired.run = wired.recorder.add(run);
  wired.copies(0, model::StepKind::globalExchange, 500, 500, 100, {0});
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 6U);
  EXPECT_FALSE(use.links[0].known) << "0 → 1 may carry a part of the collective";
  EXPECT_FALSE(use.links[1].known) << "the traffic of device 1 is not recorded";
  EXPECT_TRUE(use.links[2].known) << "the host sends device 0 nothing";
  EXPECT_FALSE(use.links[3].known) << "what the host sends device 1 is not recorded";
  EXPECT_TRUE(use.links[4].known) << "device 2 is idle";
  EXPECT_EQ(use.links[5].to, "other chips");
  EXPECT_EQ(use.links[5].bytes.count, 500);
  EXPECT_TRUE(use.unknownCollectives);
  EXPECT_TRUE(use.spaces[model::MemorySpaceId(0)].known);
  EXPECT_FALSE(use.spaces[model::MemorySpaceId(1)].known);
  EXPECT_TRUE(use.spaces[model::MemorySpaceId(2)].known);
}

TEST(SystemUse, AddsUpTransfersOfALink) {
  Wired wired;
  wired.copies(0, model::StepKind::compute, 0, 0, 10, {0});
  wired.transfer(0, 1, 0, 300, 100, 200);
  wired.transfer(0, 1, 0, 100, 150, 250);  // overlaps the one before, so the link is busy from 100 to 250
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 5U);
  EXPECT_EQ(use.links[0].bytes.count, 400);
  EXPECT_EQ(use.links[0].transfers, 2);
  EXPECT_DOUBLE_EQ(use.links[0].share, 0.15);
  EXPECT_NEAR(use.links[0].rate, 400 / 150e-9, 1);
  EXPECT_EQ(use.spaces.items()[0].out.count, 400);
  EXPECT_EQ(use.spaces.items()[1].in.count, 400);
}

TEST(SystemUse, NamesThePairWhereATransferTakesSeveralLinks) {
  Wired wired;
  wired.copies(0, model::StepKind::compute, 0, 0, 10, {0});
  wired.transfer(0, 2, -1, 70, 0, 10);
  wired.transfer(0, 2, -1, 30, 20, 30);
  wired.transfer(2, 0, -1, 5, 40, 50);
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 7U);
  EXPECT_EQ(use.links[5].from, "D0");
  EXPECT_EQ(use.links[5].to, "D2");
  EXPECT_EQ(use.links[5].name, "several links");
  EXPECT_EQ(use.links[5].bytes.count, 100);
  EXPECT_FALSE(use.links[5].link.valid());
  EXPECT_EQ(use.links[6].from, "D2");
}

/// Links 0 and 1 of the fixture are D0 → D1 and D1 → D2.
TEST(SystemUse, CountsATransferOnEachLinkOfItsWay) {
  Wired wired;
  wired.recorder.add(model::Property{"route.0.0.2", "0 1"});
  wired.recorder.add(model::Property{"route.0.2.0", "0 99"});
  wired.copies(0, model::StepKind::compute, 0, 0, 10, {0});
  wired.transfer(0, 2, -1, 70, 0, 10);
  wired.transfer(0, 2, -1, 30, 20, 30);
  wired.transfer(2, 0, -1, 5, 40, 50);
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 6U) << "a damaged way is none";
  EXPECT_EQ(use.links[0].bytes.count, 100);
  EXPECT_EQ(use.links[1].bytes.count, 100);
  EXPECT_EQ(use.links[1].transfers, 2);
  EXPECT_EQ(use.links[5].bytes.count, 5);
  EXPECT_EQ(use.spaces.items()[0].out.count, 100) << "its device sends once";
}

TEST(SystemUse, SaysThatATraceOfAnotherToolNamesNoLinks) {
  Wired wired;
  wired.recorder.add(model::Property{"imported_from", "trace.json"});
  wired.copies(0, model::StepKind::compute, 0, 0, 10, {0});
  wired.transfer(0, 2, -1, 70, 0, 10);
  EXPECT_EQ(wired.use().links[5].name, "not recorded");
}

TEST(SystemUse, CountsStreamCopiesForTheHostsLink) {
  Wired wired;
  wired.copies(1, model::StepKind::streamCopy, 500, 20, 50, {0, 100, 200});
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 6U) << "there is no link to the host: it is named as a pair";
  EXPECT_EQ(use.links[3].to, "D1");
  EXPECT_EQ(use.links[3].bytes.count, 1500);
  EXPECT_EQ(use.links[3].transfers, 3);
  EXPECT_DOUBLE_EQ(use.links[3].share, 0.15);
  EXPECT_EQ(use.links[5].from, "D1");
  EXPECT_EQ(use.links[5].to, "host");
  EXPECT_EQ(use.links[5].bytes.count, 60);
  EXPECT_EQ(use.spaces.items()[1].in.count, 1500);
  EXPECT_EQ(use.spaces.items()[1].out.count, 60);
}

TEST(SystemUse, CountsWhatCollectivesSendToOtherReplicas) {
  Wired wired;
  wired.copies(1, model::StepKind::globalExchange, 700, 600, 50, {0, 20, 200});  // the first two overlap
  const SystemUse use = wired.use();
  ASSERT_EQ(use.links.size(), 6U);
  EXPECT_EQ(use.links[5].from, "D1");
  EXPECT_EQ(use.links[5].to, "other chips");
  EXPECT_EQ(use.links[5].name, "collectives");
  EXPECT_EQ(use.links[5].bytes.count, 1800);
  EXPECT_EQ(use.links[5].transfers, 3);
  EXPECT_DOUBLE_EQ(use.links[5].share, 0.12);
  EXPECT_FALSE(use.links[5].link.valid());
}

TEST(Execution, CountsWhatCollectivesMove) {
  Wired wired;
  wired.copies(1, model::StepKind::globalExchange, 700, 600, 50, {0, 200});
  EXPECT_TRUE(wired.recorder.commit().ok());
  const auto catalog = *loadCatalog(*wired.profile);
  const auto made = execution(*wired.profile, *catalog, wired.executable);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->devices[1].globalIn.count, 1400);
  EXPECT_EQ(made->devices[1].globalOut.count, 1200);
  EXPECT_EQ(made->devices[0].globalIn.count, 0);
}

TEST(SystemUse, CountsRemoteCopiesForStreamingMemory) {
  Wired wired;
  wired.copies(0, model::StepKind::remoteCopy, 40, 8, 5, {0, 10});
  const SystemUse use = wired.use();
  EXPECT_EQ(use.spaces.items()[0].in.count, 80) << "into the tiles";
  EXPECT_EQ(use.spaces.items()[0].out.count, 16);
  EXPECT_EQ(use.spaces.items()[3].out.count, 80) << "out of streaming memory";
  EXPECT_EQ(use.spaces.items()[3].in.count, 16);
  for (const LinkUse& link : use.links) EXPECT_EQ(link.bytes.count, 0);
}

TEST(SystemSection, BytesOfMessagesWithoutASizeAreUnknown) {
  Wired wired;
  wired.copies(0, model::StepKind::compute, 0, 0, 10, {0});
  wired.transfer(0, 1, 0, 0, 100, 200);
  wired.use();
  const auto catalog = *loadCatalog(*wired.profile);
  const auto section =
      makeSection(**sections::findSection("system"), {*wired.profile, *catalog, wired.executable});
  const auto links = std::ranges::find(section->tables, "links", &sections::SectionTable::key);
  const auto bytes = static_cast<std::size_t>(
      std::ranges::find(links->columns, "bytes", &sections::SectionColumn::key) - links->columns.begin());
  EXPECT_EQ(links->rows[0][bytes], sections::Cell()) << "a message crossed, but nobody knows its size";
  EXPECT_EQ(links->rows[1][bytes], sections::Cell(std::int64_t{0})) << "nothing crossed";
}

TEST(SystemSection, ShowsRatesAndSpaces) {
  Wired wired;
  wired.copies(1, model::StepKind::streamCopy, 500, 0, 50, {0});
  EXPECT_TRUE(wired.recorder.commit().ok());
  const auto catalog = *loadCatalog(*wired.profile);
  const sections::SectionDefinition* definition = sections::sectionRegistry().find("system");
  ASSERT_NE(definition, nullptr);
  const auto section = makeSection(*definition, {*wired.profile, *catalog, wired.executable});
  ASSERT_TRUE(section.ok());
  const std::string text = toText(*section);
  EXPECT_NE(text.find("8.00 GB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("10.0 GB/s"), std::string::npos) << "500 bytes in 50 ns: " << text;
  EXPECT_NE(text.find("streaming memory"), std::string::npos) << text;
}

using model::MeshAxis;
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Three replicas of two places of four ranks: tensor pairs are neighbours, and two of them share a sample.
struct MeshProfile {
  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  std::shared_ptr<const Catalog> catalog;

  explicit MeshProfile(const Facts& facts) {
    record::Recorder recorder(*profile);
    for (int d = 0; d < 24; ++d) {
      model::Device device;
      device.name = "D" + std::to_string(d);
      recorder.add(device);
    }
    model::Executable executable;
    executable.replicas = 3;
    executable.stages = 2;
    const model::ExecutableId id = recorder.add(executable);
    for (int place = 0; place < 2; ++place) {
      model::Stage stage;
      stage.executable = id;
      stage.index = place;
      stage.device = model::DeviceId(place * 4);
      recorder.add(stage);
    }
    for (const auto& [key, value] : facts) recorder.add(model::Property{key, value});
    EXPECT_TRUE(recorder.commit().ok());
    auto loaded = loadCatalog(*profile);
    EXPECT_TRUE(loaded.ok());
    catalog = *loaded;
  }

  std::vector<std::vector<int>> groups(MeshAxis axis, int stage, int ranks) const {
    std::vector<std::vector<int>> found;
    for (const CollectiveGroup& group :
         collectiveGroups(*catalog, model::ExecutableId(0), {{stage, axis, ranks, 0.25}})) {
      EXPECT_EQ(group.axis, axis);
      EXPECT_EQ(group.share, 0.25);
      std::vector<int>& chips = found.emplace_back();
      for (const model::DeviceId chip : group.chips) chips.push_back(static_cast<int>(chip.value));
    }
    return found;
  }
};

using Chips = std::vector<std::vector<int>>;

TEST(CollectiveGroups, FollowTheAxesOfTheMesh) {
  const MeshProfile mesh(Facts{{"width.0", "4"}, {"axes.0", "tp 2 × cp 2"}});
  EXPECT_EQ(mesh.groups(MeshAxis::tensor, 0, 2),
            (Chips{{0, 1}, {2, 3}, {8, 9}, {10, 11}, {16, 17}, {18, 19}}));
  EXPECT_EQ(mesh.groups(MeshAxis::context, 1, 2),
            (Chips{{4, 6}, {5, 7}, {12, 14}, {13, 15}, {20, 22}, {21, 23}}));
  EXPECT_EQ(mesh.groups(MeshAxis::data, 1, 3), (Chips{{4, 12, 20}, {5, 13, 21}, {6, 14, 22}, {7, 15, 23}}));
  EXPECT_EQ(mesh.groups(MeshAxis::data, 0, 6), (Chips{{0, 2, 8, 10, 16, 18}, {1, 3, 9, 11, 17, 19}}))
      << "ranks of the context axis hold the same weights";
  EXPECT_TRUE(mesh.groups(MeshAxis::expert, 0, 4).empty());
}

TEST(CollectiveGroups, ExpertsAreOutermost) {
  const MeshProfile mesh(Facts{{"width.0", "4"}, {"axes.0", "tp 2 × ep 2"}});
  EXPECT_EQ(mesh.groups(MeshAxis::expert, 0, 2).front(), (std::vector<int>{0, 2}));
  EXPECT_EQ(mesh.groups(MeshAxis::tensor, 0, 2).front(), (std::vector<int>{0, 1}));
}

TEST(CollectiveGroups, WithoutAxesAllRanksShareTensors) {
  const MeshProfile mesh(Facts{{"width.0", "4"}});
  EXPECT_EQ(mesh.groups(MeshAxis::tensor, 0, 4), (Chips{{0, 1, 2, 3}, {8, 9, 10, 11}, {16, 17, 18, 19}}));
}

TEST(CollectiveGroups, DamagedAxesMakeNoLargeGroups) {
  const MeshProfile mesh(Facts{{"width.0", "4"}, {"axes.0", "tp 99999999999999999999 × cp -3"}});
  for (const auto& group : mesh.groups(MeshAxis::tensor, 0, 4)) EXPECT_LE(group.size(), 4u);
}

TEST(SystemParts, FollowTheFiguresOfTheSystem) {
  const auto parts = [](const Facts& facts) { return systemParts(*MeshProfile(facts).catalog); };
  const SystemParts pod = parts(Facts{{"figure.devices", "64 IPUs; grade D; data sheet"},
                                      {"figure.machine_devices", "4 IPUs; grade D; data sheet"},
                                      {"figure.link_domain", "64 IPUs; grade D; data sheet"}});
  EXPECT_EQ(pod.chipsOfBox, 4);
  EXPECT_EQ(pod.chipsOfDomain, 64);
  EXPECT_EQ(parts(Facts{{"figure.devices", "8 cards; grade C; HCL"}}).chipsOfBox, 8);
  EXPECT_EQ(parts(Facts{}).chipsOfBox, 0);
  EXPECT_EQ(parts(Facts{{"figure.devices", "-8 cards"}}).chipsOfBox, 0);
  EXPECT_EQ(parts(Facts{{"imported_from", "chrome"}, {"figure.devices", "8 cards"}}).chipsOfBox, 0);
}

/// Bytes that leave boxes when the chips of a group really do the steps of the algorithms.
struct Crossings {
  double all = 0, between = 0;
  void send(std::int64_t from, std::int64_t to, double bytes, std::int64_t box) {
    all += bytes;
    if (from / box != to / box) between += bytes;
  }
  double part() const { return between / all; }
};

std::vector<model::DeviceId> chipsOf(std::int64_t boxes, std::int64_t each, std::int64_t box) {
  std::vector<model::DeviceId> chips;
  for (std::int64_t b = 0; b < boxes; ++b)
    for (std::int64_t i = 0; i < each; ++i) chips.emplace_back(b * box + i);
  return chips;
}

/// Scatters inside boxes, sums between chips of equal number, and gathers inside boxes, chip by chip.
TEST(AxisTraffic, SumsLeaveBoxesBetweenChipsOfEqualNumber) {
  constexpr std::int64_t kBox = 8;
  for (const std::int64_t boxes : {1, 2, 5})
    for (const std::int64_t each : {1, 2, 8}) {
      if (boxes * each < 2) continue;
      Crossings sum, gather;
      const double shard = 1.0 / static_cast<double>(each), piece = shard / static_cast<double>(boxes);
      for (std::int64_t b = 0; b < boxes; ++b)
        for (std::int64_t i = 0; i < each; ++i) {
          const std::int64_t chip = b * kBox + i, next = b * kBox + (i + 1) % each,
                             far = (b + 1) % boxes * kBox + i;
          for (std::int64_t step = 1; step < each; ++step) {
            sum.send(chip, next, shard, kBox);
            sum.send(chip, next, shard, kBox);
            gather.send(chip, next, shard, kBox);
          }
          for (std::int64_t step = 1; step < boxes; ++step) {
            sum.send(chip, far, piece, kBox);
            sum.send(chip, far, piece, kBox);
            gather.send(chip, far, piece, kBox);
          }
        }
      const auto chips = chipsOf(boxes, each, kBox);
      EXPECT_NEAR(partBetweenBoxes("AllReduce", chips, kBox), sum.part(), 1e-12) << boxes << " " << each;
      EXPECT_NEAR(partBetweenBoxes("AllGather", chips, kBox), gather.part(), 1e-12);
      EXPECT_NEAR(partBetweenBoxes("ReduceScatter", chips, kBox), gather.part(), 1e-12);
    }
}

TEST(AxisTraffic, ExchangesGoStraightAndRingsToTheNextChip) {
  constexpr std::int64_t kBox = 4;
  for (const std::vector<std::int64_t>& group : {std::vector<std::int64_t>{0, 1, 2, 3},
                                                 {0, 4},
                                                 {0, 1, 4, 5, 8, 9},
                                                 {2, 3, 4},
                                                 {0, 1, 2, 3, 4, 5, 6, 7, 8}}) {
    Crossings exchange, ring;
    std::vector<model::DeviceId> chips;
    for (std::size_t i = 0; i < group.size(); ++i) {
      chips.emplace_back(group[i]);
      ring.send(group[i], group[(i + 1) % group.size()], 1, kBox);
      for (const std::int64_t other : group)
        if (other != group[i]) exchange.send(group[i], other, 1, kBox);
    }
    EXPECT_NEAR(partBetweenBoxes("AllToAll", chips, kBox), exchange.part(), 1e-12);
    EXPECT_NEAR(partBetweenBoxes("RingSend", chips, kBox), ring.part(), 1e-12);
  }
}

}  // namespace
}  // namespace pipescope::analysis

// A replay without changes gives the recorded call to the tick: every placement of every device, every
// transfer and the end. The rules must explain all times of emulated profiles, without lags.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <tuple>

#include "emulated.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/import/trace_import.h"
#include "profiler/replay/change.h"

namespace pipescope::conformance {
namespace {

using Spans = std::vector<std::tuple<std::int64_t, int, int, int, int, std::int64_t, std::int64_t>>;

/// Device, pass, stage, micro-batch, iteration, start, end.
Spans recordedSpans(const EmulatedProfile& emulated, const replay::Recording& recording) {
  Spans spans;
  const auto rows = analysis::rowsOfRun<model::Placement>(*emulated.profile, recording.run);
  for (const model::Placement& p : *rows)
    spans.emplace_back(p.device.value, static_cast<int>(p.pass), p.stage, p.microBatch, p.iteration,
                       p.start.count, p.end.count);
  std::sort(spans.begin(), spans.end());
  return spans;
}

Spans replayedSpans(const replay::Recording& recording, const replay::Timeline& timeline) {
  Spans spans;
  for (const clock::PlacedPiece& p : timeline.placements) {
    const auto& devices = recording.replicas[static_cast<std::size_t>(p.replica)].devices;
    spans.emplace_back(devices[static_cast<std::size_t>(p.place)].value, static_cast<int>(p.pass),
                       p.work.stage, p.work.microBatch, p.work.iteration, p.start.count, p.end.count);
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

template <class Row>
std::vector<std::pair<std::int64_t, std::int64_t>> timesOf(const std::vector<Row>& rows) {
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const Row& row : rows) times.emplace_back(row.start.count, row.end.count);
  std::sort(times.begin(), times.end());
  return times;
}

void expectSame(const EmulatedProfile& emulated, std::size_t executable) {
  const auto recording = recordingOf(emulated, executable);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_TRUE(recording->explained) << "the rules leave some times unexplained";
  const auto timeline = replay::replayCall(*recording);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(timeline->end.count, recording->run.end.count);
  EXPECT_EQ(replayedSpans(*recording, *timeline), recordedSpans(emulated, *recording));
  EXPECT_EQ(timesOf(timeline->transfers),
            timesOf(*analysis::rowsOfRun<model::Transfer>(*emulated.profile, recording->run)));
  EXPECT_EQ(timesOf(timeline->waits),
            timesOf(*analysis::rowsOfRun<model::Wait>(*emulated.profile, recording->run)));
}

TEST(NoChange, EverySampleIsReproducedToTheTick) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PIPESCOPE_SOURCE_DIR "/samples")) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().string());
    const auto emulated = emulateFile(entry.path().string());
    ASSERT_TRUE(emulated.ok()) << emulated.error().message;
    for (std::size_t i = 0; i < emulated->catalog->executables.size(); ++i) expectSame(*emulated, i);
    ++files;
  }
  EXPECT_GE(files, 13);
}

/// Keys of a decoder that takes no time to compile; only times are computed.
std::map<std::string, std::string> smallDecoder(const std::string& system) {
  return {{"system.name", system},        {"model.builder", "decoder"}, {"model.layers", "4"},
          {"model.heads", "2"},           {"model.hidden", "32"},       {"model.feed_forward", "64"},
          {"model.sequence", "16"},       {"model.vocabulary", "64"},   {"data.dataset", "synthetic"},
          {"execution.numerics", "false"}};
}

/// A drawn pipeline: with given costs, or a small network on a drawn system.
ReplayedSetup drawnSetup(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](const auto& list) { return list[random() % std::size(list)]; };
  const bool fixed = random() % 2 == 0;
  const int stages = static_cast<int>(random() % 4) + 1;
  static const std::vector<std::string> schedules{"popart", "1f1b", "gpipe", "zb-h1", "tf-grouped"};
  ReplayedSetup setup;
  setup.keys = {
      {"execution.schedule", pick(schedules)},
      {"execution.mode", "training"},
      {"training.gradient_accumulation", std::to_string(stages * (1 + random() % 3) + random() % 2)},
      {"training.device_iterations", std::to_string(1 + random() % 2)}};
  if (fixed) {
    for (int s = 0; s < stages; ++s)
      setup.tables += "[[fixed.stages]]\nforward = " + std::to_string(1 + random() % 5) +
                      "\nbackward = " + std::to_string(2 + random() % 7) +
                      "\nweight = 1\nupdate = " + std::to_string(random() % 3) + "\n";
    setup.keys["system.name"] = "fixed";
    setup.keys["fixed.exchange"] = std::to_string(random() % 3);
    setup.keys["training.replication_factor"] = std::to_string(1 + random() % 2);
    if (random() % 4 == 0) setup.keys["training.micro_batch_costs"] = "1, 0.5, 2";
    if (random() % 3 == 0) setup.tables += "[[device_scale]]\ndevice = 0\ncompute = 0.8\n";
    return setup;
  }
  static const std::vector<std::string> systems{"pod4", "pod16", "hls-gaudi2", "hls-3"};
  setup.keys.merge(smallDecoder(pick(systems)));
  setup.keys["execution.stages"] = std::to_string(stages);
  setup.keys["training.replication_factor"] = std::to_string(1 + random() % 2);
  if (random() % 4 == 0) setup.keys["data.loader_rate"] = "50000";
  if (random() % 4 == 0) setup.keys["host.seconds_per_step"] = "0.0002";
  // Stages of a rank lie further apart, and replicas lie between them on cards.
  if (stages <= 2 && random() % 2 == 0) setup.keys["execution.tensor_parallel"] = "2";
  return setup;
}

TEST(NoChange, DrawnModelsAreReproducedToTheTick) {
  int reproduced = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const ReplayedSetup setup = drawnSetup(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << setup.describe());
    const auto emulated = emulateSetup(setup);
    if (!emulated.ok()) {
      EXPECT_NE(emulated.error().kind, base::ErrorKind::internal) << emulated.error().message;
      continue;
    }
    expectSame(*emulated, 0);
    ++reproduced;
  }
  EXPECT_GE(reproduced, 150);
}

TEST(NoChange, SendsThatBlockAreReproducedToTheTick) {
  std::mt19937 random(7);
  int reproduced = 0;
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"}) {
    for (int i = 0; i < 12; ++i) {
      ReplayedSetup setup;
      const int stages = static_cast<int>(2 + random() % 3);
      for (int s = 0; s < stages; ++s)
        setup.tables += "[[fixed.stages]]\nforward = " + std::to_string(1 + random() % 5) +
                        "\nbackward = " + std::to_string(2 + random() % 7) +
                        "\nweight = 1\nupdate = " + std::to_string(random() % 3) + "\n";
      setup.keys = {{"system.name", "fixed"},
                    {"execution.mode", "training"},
                    {"execution.schedule", schedule},
                    {"training.gradient_accumulation", std::to_string(stages * (1 + random() % 3))},
                    {"training.device_iterations", "2"},
                    {"training.replication_factor", std::to_string(1 + random() % 2)},
                    {"fixed.exchange", std::to_string(random() % 3)},
                    {"fixed.blocking_sends", "true"}};
      SCOPED_TRACE(setup.describe());
      const auto emulated = emulateSetup(setup);
      ASSERT_TRUE(emulated.ok()) << emulated.error().message;
      EXPECT_TRUE(recordingOf(*emulated)->blockingSends);
      expectSame(*emulated, 0);
      ++reproduced;
    }
  }
  EXPECT_EQ(reproduced, 36);
}

TEST(NoChange, SharedCoresAreReproducedToTheTick) {
  std::mt19937 random(8);
  int reproduced = 0;
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"}) {
    for (int i = 0; i < 8; ++i) {
      ReplayedSetup setup;
      const int stages = static_cast<int>(2 + random() % 3);
      for (int s = 0; s < stages; ++s)
        setup.tables += "[[fixed.stages]]\nforward = " + std::to_string(1 + random() % 5) +
                        "\nbackward = " + std::to_string(2 + random() % 7) +
                        "\nweight = 1\nupdate = " + std::to_string(random() % 3) + "\n";
      setup.keys = {{"system.name", "fixed"},
                    {"execution.mode", "training"},
                    {"execution.schedule", schedule},
                    {"training.gradient_accumulation", std::to_string(stages * (1 + random() % 3))},
                    {"training.device_iterations", "2"},
                    {"fixed.exchange", std::to_string(random() % 3)},
                    {"fixed.shared_compute", i % 2 == 0 ? "1.3" : "2"}};
      SCOPED_TRACE(setup.describe());
      const auto emulated = emulateSetup(setup);
      ASSERT_TRUE(emulated.ok()) << emulated.error().message;
      EXPECT_TRUE(recordingOf(*emulated)->sharesHost);
      expectSame(*emulated, 0);
      ++reproduced;
    }
  }
  EXPECT_EQ(reproduced, 24);
}

/// Outputs of every micro-batch, of one in n, and of the last one alone go to the host.
TEST(NoChange, ReturnedOutputsAreReproduced) {
  using Mode = clock::OutputRule::Mode;
  struct Case {
    const char *mode, *period;
    Mode found;
    std::int64_t foundPeriod;
  };
  for (const Case& output : {Case{"all", "1", Mode::all, 1}, Case{"every_n", "2", Mode::everyN, 2},
                             Case{"every_n", "3", Mode::everyN, 3}, Case{"final", "1", Mode::last, 6}}) {
    for (const char* system : {"pod4", "hls-gaudi2"}) {
      SCOPED_TRACE(std::string(system) + ", " + output.mode + " " + output.period);
      ReplayedSetup setup;
      setup.keys = {{"execution.mode", "inference"},
                    {"execution.stages", "2"},
                    {"inference.device_iterations", "6"},
                    {"inference.output_mode", output.mode}};
      setup.keys.merge(smallDecoder(system));
      if (output.found == Mode::everyN) setup.keys["inference.output_period"] = output.period;
      const auto emulated = emulateSetup(setup);
      ASSERT_TRUE(emulated.ok()) << emulated.error().message;
      const auto recording = recordingOf(*emulated);
      ASSERT_TRUE(recording.ok()) << recording.error().message;
      EXPECT_EQ(recording->output.mode, output.found);
      if (output.found != Mode::all) {
        EXPECT_EQ(recording->output.period, output.foundPeriod);
      }
      expectSame(*emulated, 0);
    }
  }
}

/// Copies of a weight at the first and last place, in replicas of which one is slower.
TEST(NoChange, SumsOverPlacesAreReproduced) {
  for (const char* schedule : {"1f1b", "gpipe", "popart", "interleaved-1f1b"}) {
    SCOPED_TRACE(schedule);
    ReplayedSetup setup = drawnSetup(0);
    setup.tables = "[[device_scale]]\ndevice = 2\ncompute = 0.7\n";
    setup.keys = {{"model.tie_embeddings", "true"},        {"execution.mode", "training"},
                  {"execution.schedule", schedule},        {"execution.layers_per_stage", "1,1,1,1"},
                  {"training.gradient_accumulation", "8"}, {"training.device_iterations", "3"},
                  {"training.replication_factor", "2"}};
    setup.keys.merge(smallDecoder("hls-gaudi2"));
    if (std::string(schedule) == "interleaved-1f1b") setup.keys["execution.chunks"] = "2";
    const auto emulated = emulateSetup(setup);
    ASSERT_TRUE(emulated.ok()) << emulated.error().message;
    std::size_t sums = 0;
    for (const clock::StageCosts& stage : recordingOf(*emulated)->replicas.front().stages)
      sums += stage.tied.size();
    EXPECT_EQ(sums, 2U);
    expectSame(*emulated, 0);
  }
}

/// Ranks and replicas whose collectives share links with the transfers between stages.
TEST(NoChange, DelaysOnSharedLinksAreReproduced) {
  int inPasses = 0, beside = 0;
  for (const auto& [system, tensor, context, stages, replicas] : {std::tuple{"dgx-h100", 4, 1, 2, 1},
                                                                  {"dgx-h100x2", 4, 1, 2, 2},
                                                                  {"dgx-h100x2", 2, 2, 2, 2},
                                                                  {"dgx-h100x2", 1, 1, 4, 4},
                                                                  {"hls-gaudi2x2", 1, 2, 4, 2},
                                                                  {"hls-1h", 2, 1, 2, 1}}) {
    for (const char* schedule : {"1f1b", "gpipe"}) {
      ReplayedSetup setup;
      setup.keys = {{"system.name", system},
                    {"model.builder", "decoder"},
                    {"model.layers", "4"},
                    {"model.heads", "8"},
                    {"model.hidden", "1024"},
                    {"model.feed_forward", "4096"},
                    {"model.sequence", "1024"},
                    {"model.vocabulary", "512"},
                    {"data.dataset", "synthetic"},
                    {"execution.numerics", "false"},
                    {"execution.mode", "training"},
                    {"execution.schedule", schedule},
                    {"execution.stages", std::to_string(stages)},
                    {"execution.tensor_parallel", std::to_string(tensor)},
                    {"execution.context_parallel", std::to_string(context)},
                    {"training.gradient_accumulation", "5"},
                    {"training.device_iterations", "2"},
                    {"training.replication_factor", std::to_string(replicas)}};
      if (replicas > 1) setup.tables = "[[device_scale]]\ndevice = 1\ncompute = 0.8\n";
      SCOPED_TRACE(setup.describe());
      const auto emulated = emulateSetup(setup);
      ASSERT_TRUE(emulated.ok()) << emulated.error().message;
      expectSame(*emulated, 0);
      const auto recording = recordingOf(*emulated);
      bool any = false, late = false;
      for (const clock::ReplicaCosts& replica : recording->replicas) {
        for (const clock::StageCosts& stage : replica.stages) {
          for (const clock::StageWork& work : stage.works)
            for (const clock::Pieces* pieces : {&work.forward, &work.backward})
              for (const clock::Piece& piece : *pieces) any = any || piece.delay.count > 0;
          for (const clock::OverlappedPiece& one : stage.overlapped) late = late || !one.delays.empty();
        }
      }
      inPasses += any ? 1 : 0;
      beside += late ? 1 : 0;
    }
  }
  EXPECT_GE(inPasses, 4) << "jobs whose passes are slowed";
  EXPECT_GE(beside, 2) << "jobs whose sums of gradients are slowed";
}

TEST(NoChange, ReplicasOfDifferentSpeedAreReproduced) {
  const auto emulated =
      emulateSetup({"[[fixed.stages]]\nforward = 1\nbackward = 2\nupdate = 1\n[[fixed.stages]]\nforward = "
                    "2\nbackward = 3\n"
                    "[[device_scale]]\ndevice = 2\ncompute = 0.7\n",
                    {{"system.name", "fixed"},
                     {"execution.schedule", "1f1b"},
                     {"execution.mode", "training"},
                     {"training.gradient_accumulation", "4"},
                     {"training.device_iterations", "3"},
                     {"training.replication_factor", "2"},
                     {"fixed.collective", "5"},
                     {"fixed.exchange", "0.5"}}});
  ASSERT_TRUE(emulated.ok()) << emulated.error().message;
  EXPECT_EQ(recordingOf(*emulated)->replicas.size(), 2u);
  expectSame(*emulated, 0);
}

/// A host that prepares samples slowly, works for each step, and copies beside the compute.
TEST(NoChange, WaitsForTheHostAreReproduced) {
  for (const char* copies : {"synchronous", "overlapped"}) {
    for (const char* reads : {"false", "true"}) {
      SCOPED_TRACE(testing::Message() << copies << ", reads results: " << reads);
      const auto emulated = emulateSetup({"[[stages]]\nblocks = [\"*\"]\n",
                                          {{"model.builder", "resnet"},
                                           {"model.depth", "18"},
                                           {"model.stem", "cifar"},
                                           {"model.image_size", "16"},
                                           {"system.name", "gaudi2"},
                                           {"execution.numerics", "false"},
                                           {"execution.schedule", "gpipe"},
                                           {"execution.mode", "training"},
                                           {"data.dataset", "synthetic"},
                                           {"data.loader_rate", "20000"},
                                           {"host.seconds_per_step", "0.0003"},
                                           {"host.seconds_per_sample", "0.00002"},
                                           {"host.reads_results", reads},
                                           {"host.copies", copies},
                                           {"training.micro_batch_size", "4"},
                                           {"training.gradient_accumulation", "3"},
                                           {"training.device_iterations", "4"}}});
      ASSERT_TRUE(emulated.ok()) << emulated.error().message;
      expectSame(*emulated, 0);
    }
  }
}

TEST(NoChange, MicroBatchesOfDifferentCostAreReproduced) {
  const auto emulated =
      emulateSetup({"[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = "
                    "2\nbackward = 3\n",
                    {{"system.name", "fixed"},
                     {"execution.schedule", "1f1b"},
                     {"execution.mode", "training"},
                     {"training.micro_batch_costs", "uniform(64, 512)"},
                     {"training.gradient_accumulation", "12"}}});
  ASSERT_TRUE(emulated.ok()) << emulated.error().message;
  expectSame(*emulated, 0);
}

/// Passes of an imported trace have times of their own, and gaps that no rule explains.
TEST(NoChange, AnImportedTraceIsReproducedToTheTick) {
  EmulatedProfile imported;
  imported.profile = std::make_unique<record::MemoryProfile>();
  record::Recorder recorder(*imported.profile);
  base::SilentProgress progress;
  importing::ImportRequest request;
  request.paths = {PIPESCOPE_SOURCE_DIR "/samples/traces/pipeline_1f1b"};
  request.temporaryFolder = std::filesystem::temp_directory_path();
  const auto summary = importing::importTraces(request, recorder, progress);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  imported.catalog = *analysis::loadCatalog(*imported.profile);
  const auto recording = recordingOf(imported);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const auto timeline = replay::replayCall(*recording);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_EQ(timeline->end.count, recording->run.end.count);
  // Collectives and other work beside the passes is not replayed.
  Spans recorded = recordedSpans(imported, *recording);
  std::erase_if(recorded, [](const auto& span) {
    const auto pass = static_cast<model::Pass>(std::get<1>(span));
    return (!model::isComputePass(pass) && pass != model::Pass::update) || std::get<2>(span) < 0 ||
           std::get<4>(span) < 0;
  });
  EXPECT_GE(recorded.size(), 3u * 8 * 4 * 2);
  EXPECT_EQ(replayedSpans(*recording, *timeline), recorded);
  // The trace does not tell what these changes need, and there is no configuration that could be emulated
  // instead.
  const replay::ChangeContext context{*imported.profile, *imported.catalog, &engineSchedules()};
  for (const replay::Change& change : {replay::Change{"schedule", "zb-h1"}, {"replication_factor", "2"}}) {
    const auto changed = replay::applyChanges(context, *recording, {change});
    ASSERT_FALSE(changed.ok());
    EXPECT_EQ(changed.error().message.find("pipescope run"), std::string::npos) << changed.error().message;
  }
}

/// Two messages of 100 µs on one way: sent at 10 and 20 µs, received from 10 to 110 and, as the receiver asks
/// for the second one only at 120, from 120 to 220. Passes take 10 µs.
TEST(NoChange, MessagesOfATraceAreServedInOrder) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "messages_in_order";
  std::filesystem::create_directories(folder);
  const auto slice = [](const std::string& name, int start, int end) {
    return R"({"ph":"X","name":")" + name + R"(","pid":1,"tid":1,"ts":)" +
           std::to_string(1'700'000'000'000'000 + start) + R"(,"dur":)" + std::to_string(end - start) + "},";
  };
  std::string sender = "[" + slice("stage0/forward/mb0", 0, 10) + slice("c10d::send", 10, 10) +
                       slice("stage0/forward/mb1", 10, 20) + slice("c10d::send", 20, 20);
  std::string receiver = "[" + slice("c10d::recv_", 10, 110) + slice("stage1/forward/mb0", 110, 120) +
                         slice("c10d::recv_", 120, 220) + slice("stage1/forward/mb1", 220, 230);
  sender.back() = receiver.back() = ']';
  std::ofstream(folder / "rank0.json") << sender;
  std::ofstream(folder / "rank1.json") << receiver;
  EmulatedProfile imported;
  imported.profile = std::make_unique<record::MemoryProfile>();
  record::Recorder recorder(*imported.profile);
  base::SilentProgress progress;
  importing::ImportRequest request;
  request.paths = {folder};
  request.temporaryFolder = folder;
  ASSERT_TRUE(importing::importTraces(request, recorder, progress).ok());
  imported.catalog = *analysis::loadCatalog(*imported.profile);
  const auto recording = recordingOf(imported);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const auto lastEnd = [](const replay::Recording& played) {
    base::Ticks end;
    const auto timeline = replay::replayCall(played);
    for (const clock::PlacedPiece& p : timeline->placements) end = std::max(end, p.end);
    return end.count / 1'000'000;
  };
  EXPECT_EQ(lastEnd(*recording), 230);
  // Messages of 50 µs: the first arrives at 60, its pass ends at 70. The second is served behind the first,
  // from 60 to 110, so the next pass does not start at 70, although its message was sent at 20.
  const replay::ChangeContext context{*imported.profile, *imported.catalog, &engineSchedules()};
  const auto changed = replay::applyChanges(context, *recording, {{"links.bandwidth", "*2"}});
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  // 10 µs pass between the pass and the next receive, in the recording as well.
  EXPECT_EQ(lastEnd(changed->recording), 130);
}

}  // namespace
}  // namespace pipescope::conformance

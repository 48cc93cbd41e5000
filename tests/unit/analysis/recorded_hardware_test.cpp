// Traces of real accelerators. The expected sums were computed in Python directly from the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/pipeline/recorded/engine_nodes.h"
#include "profiler/analysis/timeline/recorded_statistics.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/sections/frame/reports.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;

AcceleratorReport acceleratorsOf(const ImportedTrace& trace) {
  auto report = acceleratorReport(trace.profile, *trace.catalog);
  EXPECT_TRUE(report.ok());
  return report.ok() ? *report : AcceleratorReport();
}

TEST(RecordedHardware, SumsKernelsCopiesAndIdleTime) {
  const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / "alexnet.json.gz");
  const AcceleratorReport report = acceleratorsOf(trace);
  ASSERT_EQ(report.devices.size(), 1U);
  const AcceleratorTimes& times = report.devices[0];
  EXPECT_EQ((times.end - times.start).count, 12920244 * kTicksPerUs);
  EXPECT_EQ(times.busy.count, 66141 * kTicksPerUs);
  EXPECT_EQ(times.idle.count, 12854103 * kTicksPerUs);
  EXPECT_EQ(times.hostIdle.count, 9796030 * kTicksPerUs);
  EXPECT_EQ(times.compute.count, 10630 * kTicksPerUs);
  EXPECT_EQ(times.communication.count, 0);
  struct Expected {
    const char* category;
    std::int64_t count, sum, active;
  };
  const Expected expected[] = {
      {"kernel", 79, 10692, 10630}, {"gpu_memcpy", 16, 55503, 55503}, {"gpu_memset", 3, 8, 8}};
  for (const auto& [category, count, sum, active] : expected) {
    ASSERT_TRUE(times.categories.contains(category)) << category;
    const WorkSum& work = times.categories.at(category);
    EXPECT_EQ(work.count, count) << category;
    EXPECT_EQ(work.sum.count, sum * kTicksPerUs) << category;
    EXPECT_EQ(work.active.count, active * kTicksPerUs) << category;
  }
  EXPECT_EQ(times.categories.size(), 3U);
}

TEST(RecordedHardware, KnowsTheBytesOfCopies) {
  const auto devicesOf = [](const char* file) {
    const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / file);
    const auto made = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
    EXPECT_TRUE(made.ok());
    return made->devices;
  };
  const auto alexnet = devicesOf("alexnet.json.gz"), dlrm = devicesOf("dlrm.tar.gz");
  ASSERT_EQ(alexnet.size(), 1U);
  EXPECT_EQ(alexnet[0].streamIn.count, 244403360);
  EXPECT_EQ(alexnet[0].streamOut.count, 0);
  ASSERT_EQ(dlrm.size(), 8U);
  for (const DeviceExecution& device : dlrm) {
    EXPECT_EQ(device.streamIn.count, 31112) << device.name;
    EXPECT_EQ(device.streamOut.count, 216) << device.name;
  }
}

TEST(RecordedHardware, SectionsShareTheReport) {
  const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / "alexnet.json.gz");
  const sections::Context context{trace.profile, *trace.catalog, model::ExecutableId(0)};
  const auto first = sections::acceleratorsOf(context), again = sections::acceleratorsOf(context);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->get(), again->get());
  EXPECT_EQ((*first)->devices.at(0).busy.count, 66141 * kTicksPerUs);
}

TEST(RecordedHardware, FindsTheLaunchOfEveryKernel) {
  const AcceleratorReport report =
      acceleratorsOf(ImportedTrace(fs::path(PIPESCOPE_TEST_DATA) / "alexnet.json.gz"));
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].count, 98);
  EXPECT_EQ(report.devices[0].launched, 98);
  EXPECT_NEAR(report.devices[0].meanLaunchDelay, 31610.11224489796e6, 1e3);
}

/// Eight ranks of a recommendation model. Of each rank: span, busy, kernels' sum, communication, exposed
/// communication, idle for the host (µs), kernels and copies, known launches.
TEST(RecordedHardware, CountsKernelsAndNotTheThreadsThatLaunchThem) {
  // The host works from 0 to 100 µs; kernels run from 10 to 30 and from 50 to 60, a collective from 20 to 40.
  const auto file = std::filesystem::path(::testing::TempDir()) / "accelerator.json";
  std::ofstream(file) << R"([
    {"ph":"X","cat":"cpu_op","name":"step","pid":9,"tid":9,"ts":0,"dur":100},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":20},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":50,"dur":10},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":20,"dur":20}])";
  const ImportedTrace trace(file);
  const sections::Section engines = trace.section("engines");
  const sections::SectionTable& table = engines.tables.at(0);
  ASSERT_EQ(table.rows.size(), 1U);
  const auto cell = [&](const std::string& key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key) return table.rows[0][i];
    return sections::Cell();
  };
  EXPECT_EQ(std::get<double>(cell("any_busy")), 0.4) << "from 10 to 40 and from 50 to 60";
  EXPECT_EQ(std::get<double>(cell("control_share")), 0.0);
  EXPECT_EQ(std::get<double>(cell("idle_share")), 0.6);
  EXPECT_EQ(std::get<std::int64_t>(cell("communication_cycles")), 20 * kTicksPerUs);
  EXPECT_EQ(std::get<std::int64_t>(cell("exposed_communication_cycles")), 10 * kTicksPerUs);
  // The table below the timeline says the same.
  base::SilentProgress progress;
  TraceRequest request;
  request.executable = model::ExecutableId(0);
  const auto timeline = loadTrace(trace.profile, *trace.catalog, request, progress);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  const auto read = recordedStatistics(trace.profile, *trace.catalog, **timeline, Ticks(0),
                                       Ticks(100 * kTicksPerUs), progress);
  ASSERT_TRUE(read.ok());
  const std::vector<RangeStatistics>& ranges = *read;
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].idle.count, 60 * kTicksPerUs);
  EXPECT_EQ(ranges[0].byKind[kindIndex(model::StepKind::control)], 0);
  EXPECT_EQ(ranges[0].byKind[kindIndex(model::StepKind::compute)], 30 * kTicksPerUs);
  EXPECT_EQ(ranges[0].byKind[kindIndex(model::StepKind::globalExchange)], 10 * kTicksPerUs);
  EXPECT_NE(trace.section("waits").lacks.find("no critical path"), std::string::npos);
  const sections::Section summary = trace.section("summary");
  for (const sections::Fact& fact : summary.facts)
    if (fact.key == "bound_by") {
      EXPECT_TRUE(std::holds_alternative<std::monostate>(fact.value));
    }
}

TEST(RecordedHardware, ManyLaunchesDoNotHideTheKernels) {
  // The trace holds more launches than a first picture reads.
  const auto file = std::filesystem::path(::testing::TempDir()) / "launches.json";
  {
    std::ofstream text(file);
    text << "[";
    for (int i = 0; i < 500; ++i)
      text << R"({"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"dur":1,"ts":)" << 10 * i
           << R"(,"args":{"correlation":)" << i + 1
           << R"(}},{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"dur":5,"ts":)" << 10 * i + 2
           << R"(,"args":{"correlation":)" << i + 1 << "}}" << (i == 499 ? "]" : ",");
  }
  const ImportedTrace trace(file);
  base::SilentProgress progress;
  TraceRequest request;
  request.executable = model::ExecutableId(0);
  request.mostRows = 100;
  const auto timeline = loadTrace(trace.profile, *trace.catalog, request, progress);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_FALSE((*timeline)->far);
  std::size_t placements = 0;
  for (const TraceTrack& track : (*timeline)->devices.at(0).tracks) placements += track.placements.size();
  EXPECT_EQ(placements, 2U) << "one segment of launches, one of kernels";
}

TEST(RecordedHardware, SumsMoreStepsThanAreHeldAtATime) {
  // A kernel takes the first 4 of each 10 µs, and a collective on another queue those from 2 to 7. Together
  // they fill more segments than are read at a time.
  constexpr std::int64_t kRounds = 134'000;
  const auto file = std::filesystem::path(::testing::TempDir()) / "many_kernels.json";
  {
    std::string text = "[";
    for (std::int64_t i = 0; i < kRounds; ++i)
      text += R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"dur":4,"ts":)" +
              std::to_string(10 * i) +
              R"(},{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"dur":5,"ts":)" +
              std::to_string(10 * i + 2) + "},";
    text.back() = ']';
    std::ofstream(file) << text;
  }
  const ImportedTrace trace(file);
  std::filesystem::remove(file);
  const auto sums = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(sums.ok());
  const DeviceExecution& device = sums->devices.at(0);
  EXPECT_EQ(device.ofKind(model::StepKind::compute).count, 4 * kRounds * kTicksPerUs);
  EXPECT_EQ(device.ofKind(model::StepKind::globalExchange).count, 3 * kRounds * kTicksPerUs);
  EXPECT_EQ(device.communicating.count, 5 * kRounds * kTicksPerUs);
  EXPECT_EQ(device.exposed.count, 3 * kRounds * kTicksPerUs);
  EXPECT_EQ(device.byLane.at(model::LaneRole::compute).count, 7 * kRounds * kTicksPerUs);
  EXPECT_EQ(device.idle.count, 3 * (kRounds - 1) * kTicksPerUs);
}

TEST(RecordedHardware, KnowsTheWorkOfOtherAccelerators) {
  // Categories of PyTorch's profiler for Gaudi: 30 µs of operators, 10 µs of copies, of which 5 at the same
  // time.
  const auto file = std::filesystem::path(::testing::TempDir()) / "hpu.json";
  std::ofstream(file) << R"([
    {"ph":"X","cat":"hpu_op","name":"gemm","pid":0,"tid":1,"ts":0,"dur":30},
    {"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":2,"ts":25,"dur":10}])";
  const AcceleratorReport report = acceleratorsOf(ImportedTrace(file));
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].compute.count, 30 * kTicksPerUs);
  EXPECT_EQ(report.devices[0].busy.count, 35 * kTicksPerUs);
}

TEST(RecordedHardware, QueuesThatWaitDoNotWork) {
  // Names and categories of PyTorch's profiler for MTIA: the queue waits 60 µs and marks an event for 1 µs,
  // copies 10 + 4 µs, and computes 20 µs.
  const auto file = std::filesystem::path(::testing::TempDir()) / "mtia.json";
  std::ofstream(file) << R"([
    {"ph":"X","cat":"mtia_ccp_events","name":"event_wait","pid":17,"tid":1,"ts":0,"dur":60},
    {"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":17,"tid":2,"ts":10,"dur":10,
     "args":{"direction":"HOST_TO_DEVICE","size":4096}},
    {"ph":"X","cat":"mtia_ccp_events","name":"merge","pid":17,"tid":1,"ts":60,"dur":20,"args":{"stream":1}},
    {"ph":"X","cat":"mtia_ccp_events","name":"event_record","pid":17,"tid":1,"ts":80,"dur":1},
    {"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":17,"tid":2,"ts":85,"dur":4,
     "args":{"direction":"DEVICE_TO_HOST","size":64}}])";
  const AcceleratorReport report = acceleratorsOf(ImportedTrace(file));
  ASSERT_EQ(report.devices.size(), 1U);
  const AcceleratorTimes& times = report.devices[0];
  EXPECT_EQ(times.count, 3) << "waits and marks are no kernels";
  EXPECT_EQ(times.compute.count, 20 * kTicksPerUs);
  EXPECT_EQ(times.busy.count, 34 * kTicksPerUs);
  EXPECT_EQ((times.end - times.start).count, 79 * kTicksPerUs) << "from the first copy to the last";
}

TEST(RecordedHardware, StreamsOfTensorFlowAreOneDevice) {
  // TensorFlow's client writes a process for each stream, one that repeats all streams, and one for copies.
  const auto file = std::filesystem::path(::testing::TempDir()) / "timeline.json";
  std::ofstream(file) << R"({"traceEvents":[
    {"ph":"M","name":"process_name","pid":3,"args":{"name":"/job:localhost/replica:0/task:0/device:GPU:0 Compute"}},
    {"ph":"M","name":"process_name","pid":5,"args":{"name":"/device:GPU:0/stream:all Compute"}},
    {"ph":"M","name":"process_name","pid":7,"args":{"name":"/device:GPU:0/stream:13 Compute"}},
    {"ph":"M","name":"process_name","pid":9,"args":{"name":"/device:GPU:0/memcpy Compute"}},
    {"cat":"Op","ph":"X","name":"MatMul","ts":1000,"dur":5,"pid":3,"tid":0},
    {"cat":"Op","ph":"X","name":"MatMul","ts":1003,"dur":100,"pid":5,"tid":0},
    {"cat":"Op","ph":"X","name":"Relu","ts":1103,"dur":50,"pid":5,"tid":0},
    {"cat":"Op","ph":"X","name":"MatMul","ts":1003,"dur":100,"pid":7,"tid":0},
    {"cat":"Op","ph":"X","name":"Relu","ts":1103,"dur":50,"pid":7,"tid":0},
    {"cat":"Op","ph":"X","name":"MEMCPYHtoD","ts":990,"dur":10,"pid":9,"tid":0}]})";
  const ImportedTrace trace(file);
  const auto made = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(made.ok());
  const auto gpu = std::ranges::find(made->devices, "GPU 0", &DeviceExecution::name);
  ASSERT_NE(gpu, made->devices.end());
  EXPECT_EQ(gpu->total.count, 163 * kTicksPerUs);
  EXPECT_EQ(gpu->idle.count, 3 * kTicksPerUs);
  EXPECT_EQ(gpu->byLane.at(model::LaneRole::compute).count, 150 * kTicksPerUs);
  EXPECT_EQ(gpu->byLane.at(model::LaneRole::copy).count, 10 * kTicksPerUs);
  EXPECT_EQ(made->devices.size(), 2U) << "the launching process and the GPU";
  const AcceleratorReport kernels = acceleratorsOf(trace);
  ASSERT_EQ(kernels.devices.size(), 1U);
  EXPECT_EQ(kernels.devices[0].count, 3) << "two kernels and a copy, all of the category Op";
  EXPECT_EQ(kernels.devices[0].busy.count, 160 * kTicksPerUs);
  EXPECT_EQ(kernels.devices[0].compute.count, 150 * kTicksPerUs);
}

TEST(RecordedHardware, MatchesCollectivesWithinTheirProcessGroups) {
  // Ranks 0 and 1 are group 1, ranks 2 and 3 group 2, which sums more often. All sum once in group 0.
  const auto folder = std::filesystem::path(::testing::TempDir()) / "process_groups";
  std::filesystem::create_directories(folder);
  const auto kernel = [](int group, int start, int end) {
    return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":)" +
           std::to_string(1'700'000'000'000'000 + start) + R"(,"dur":)" + std::to_string(end - start) +
           R"(,"args":{"Process Group Name":")" + std::to_string(group) +
           R"(","Collective name":"allreduce","stream":20}})";
  };
  for (int rank = 0; rank < 4; ++rank) {
    const int own = rank / 2 + 1;
    std::string events = kernel(0, 10 * rank, 100) + "," + kernel(own, 200 + 5 * rank, 300);
    if (own == 2) events += "," + kernel(own, 400 + rank, 500);
    std::ofstream(folder / ("rank" + std::to_string(rank) + ".json")) << "[" << events << "]";
  }
  const ImportedTrace trace(folder);
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->communicationKernels, 10);
  EXPECT_EQ(report->matched, 10);
  struct Expected {
    const char* group;
    std::int64_t ranks, spread;  // µs from the first to the last start
  };
  const Expected expected[] = {{"process group 0, allreduce", 4, 30},
                               {"process group 1, allreduce", 2, 5},
                               {"process group 2, allreduce", 2, 5},
                               {"process group 2, allreduce", 2, 1}};
  ASSERT_EQ(report->collectives.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const MatchedCollective& match = report->collectives[i];
    EXPECT_EQ(match.group, expected[i].group);
    EXPECT_EQ(match.name, "ncclDevKernel_AllReduce");
    EXPECT_EQ(match.ranks, expected[i].ranks);
    EXPECT_EQ((match.lastStart - match.start).count, expected[i].spread * 1'000'000);
  }
}

TEST(RecordedHardware, MatchesCollectivesOverRanks) {
  const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / "dlrm.tar.gz");
  const AcceleratorReport report = acceleratorsOf(trace);
  constexpr std::int64_t expected[8][8] = {
      {13009, 6590, 6832, 5798, 5537, 5081, 261, 261}, {18749, 12321, 12582, 11336, 11056, 5004, 326, 262},
      {11350, 4304, 4560, 3492, 3217, 5627, 262, 262}, {18853, 10708, 11014, 9774, 9450, 6624, 337, 273},
      {16589, 7702, 7713, 6587, 6550, 6996, 273, 273}, {16392, 7271, 7292, 6251, 6211, 7169, 261, 261},
      {11410, 4359, 4609, 3558, 3289, 5680, 262, 262}, {10967, 2659, 2805, 1746, 1580, 6765, 262, 262}};
  ASSERT_EQ(report.devices.size(), 8U);
  for (std::size_t r = 0; r < 8; ++r) {
    const AcceleratorTimes& times = report.devices[r];
    const std::int64_t found[] = {(times.end - times.start).count / kTicksPerUs,
                                  times.busy.count / kTicksPerUs,
                                  times.categories.at("kernel").sum.count / kTicksPerUs,
                                  times.communication.count / kTicksPerUs,
                                  times.exposedCommunication.count / kTicksPerUs,
                                  times.hostIdle.count / kTicksPerUs,
                                  times.count,
                                  times.launched};
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_EQ(found[k], expected[r][k]) << "rank " << r << ", figure " << k;
  }
  EXPECT_EQ(report.communicationKernels, 64);
  EXPECT_EQ(report.matched, 64);
  // Spread of the starts, time together, sum of the waits (µs), last rank.
  constexpr std::int64_t collectives[8][4] = {{7624, 11, 26435, 7}, {1101, 8, 6231, 7}, {168, 8, 1161, 7},
                                              {125, 8, 871, 7},     {223, 87, 854, 7},  {534, 11, 2903, 5},
                                              {584, 23, 3379, 5},   {885, 69, 5009, 4}};
  ASSERT_EQ(report.collectives.size(), 8U);
  for (std::size_t c = 0; c < 8; ++c) {
    const MatchedCollective& match = report.collectives[c];
    EXPECT_EQ(match.ranks, 8);
    EXPECT_EQ((match.lastStart - match.start).count, collectives[c][0] * kTicksPerUs) << c;
    EXPECT_EQ((match.end - match.lastStart).count, collectives[c][1] * kTicksPerUs) << c;
    EXPECT_EQ(match.waited.count, collectives[c][2] * kTicksPerUs) << c;
    EXPECT_NE(trace.catalog->device(match.last)->name.find("rank " + std::to_string(collectives[c][3])),
              std::string::npos)
        << c;
  }
  const std::string text = sections::toText(trace.section("collectives"));
  EXPECT_NE(text.find("matched over ranks"), std::string::npos);
  EXPECT_NE(sections::toText(trace.section("kernels")).find("2,116 of 2,244"), std::string::npos)
      << "some kernels have no launch";
}

/// Figures that Intel's analyser gives for this trace of a Gaudi 3 (HabanaAI/Intel_Gaudi3_Software,
/// synapse/scripts/trace_analyzer/tests/data, MIT): start, end, duration and active time in µs, activations.
TEST(RecordedHardware, SumsTheNodesOfAGaudiTrace) {
  const ImportedTrace trace(fs::path(PIPESCOPE_SOURCE_DIR) / "samples/traces/gaudi3.csv.gz");
  const auto nodes = engineNodes(trace.profile, *trace.catalog);
  ASSERT_TRUE(nodes.ok());
  struct Expected {
    const char* name;
    int part;
    model::LaneRole unit;
    double start, end, duration, active;
    int activations;
    double shortest, longest, mean;
  };
  const Expected expected[] = {{"g_1_conv_0_tpc_packing", 1, model::LaneRole::vector, 554804519.937,
                                554804522.676, 2.739, 1.131, 8, .158, .238, .168},
                               {"g_1_conv_0_tpc_packing", 2, model::LaneRole::vector, 554804522.837,
                                554804524.716, 1.879, 1.878, 32, .158, .240, .164},
                               {"g_1_conv_0_tpc_packing", 3, model::LaneRole::vector, 554804524.737,
                                554804525.875, 1.138, .713, 8, .078, .158, .148},
                               {"g_1_conv_0", 1, model::LaneRole::matrix, 554804527.286, 554804546.100,
                                18.814, 18.814, 8, 16.884, 18.444, 17.747}};
  const double zero = 554804519.935268;  // time of the first event of the file
  ASSERT_EQ(nodes->size(), std::size(expected));
  constexpr double kTolerance = 0.01;
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const EngineNode& node = (*nodes)[i];
    const Expected& e = expected[i];
    const auto us = [](Ticks ticks) { return static_cast<double>(ticks.count) * 1e-6; };
    EXPECT_EQ(node.name, e.name);
    EXPECT_EQ(node.part, e.part);
    EXPECT_EQ(node.unit, e.unit);
    EXPECT_NEAR(zero + us(node.start), e.start, kTolerance);
    EXPECT_NEAR(zero + us(node.end), e.end, kTolerance);
    EXPECT_NEAR(us(node.end - node.start), e.duration, kTolerance);
    EXPECT_NEAR(us(node.active), e.active, kTolerance);
    EXPECT_EQ(node.activations, e.activations);
    EXPECT_EQ(node.engines, e.activations);
    EXPECT_NEAR(us(node.shortest), e.shortest, kTolerance);
    EXPECT_NEAR(us(node.longest), e.longest, kTolerance);
    EXPECT_NEAR(us(node.sum) / static_cast<double>(node.activations), e.mean, kTolerance);
  }
  const std::string json = sections::toJson(trace.section("nodes"));
  EXPECT_NE(json.find("\"start_us\": 554804519.937"), std::string::npos) << json;
}

TEST(RecordedHardware, KeepsEachEngineOnALaneOfItsOwn) {
  const ImportedTrace trace(fs::path(PIPESCOPE_SOURCE_DIR) / "samples/traces/gaudi3.csv.gz");
  std::map<model::LaneRole, int> lanes;
  for (const model::Lane& lane : trace.catalog->lanes) ++lanes[lane.role];
  EXPECT_EQ(lanes[model::LaneRole::vector], 48);
  EXPECT_EQ(lanes[model::LaneRole::matrix], 8);
}

TEST(RecordedHardware, NamesAThreadOnceForAllLevelsOfItsSlices) {
  const fs::path path = fs::path(::testing::TempDir()) / "levels.json";
  std::ofstream(path) << R"([{"ph":"X","name":"a","ts":0,"dur":9,"pid":1,"tid":7},
      {"ph":"X","name":"b","ts":1,"dur":6,"pid":1,"tid":7},{"ph":"X","name":"c","ts":2,"dur":3,"pid":1,"tid":7},
      {"ph":"X","name":"d","ts":0,"dur":9,"pid":1,"tid":8}])";
  const ImportedTrace trace(path);
  const sections::Section system = trace.section("system");
  const auto& devices = system.tables.front();
  ASSERT_EQ(devices.rows.size(), 1U);
  const auto column = std::ranges::find(devices.columns, "lanes", &sections::SectionColumn::key);
  ASSERT_NE(column, devices.columns.end());
  EXPECT_EQ(
      std::get<std::string>(devices.rows[0][static_cast<std::size_t>(column - devices.columns.begin())]),
      "passes, thread 7 (3 levels), thread 8");
}

TEST(RecordedHardware, SaysWhatATraceLacks) {
  const fs::path path = fs::path(::testing::TempDir()) / "nothing_of_hardware.json";
  std::ofstream(path) << R"([{"ph":"X","name":"work","ts":0,"dur":4}])";
  const ImportedTrace trace(path);
  EXPECT_EQ(trace.section("nodes").lacks,
            "The trace names no matrix, vector, copy or network engines, so there are no nodes.");
  EXPECT_EQ(trace.section("kernels").lacks, "The trace holds no kernels or copies of an accelerator.");
  EXPECT_EQ(trace.section("collectives").lacks,
            "No communication kernels were recognised, so there is no verdict on collectives.");
  EXPECT_EQ(sections::toText(trace.section("summary")).find("mulated"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis

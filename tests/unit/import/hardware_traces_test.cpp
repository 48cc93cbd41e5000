// Traces of accelerators' profilers: Gaudi's CSV files, launches and flows, ranks.
#include "profiler/import/recognise/recorded_pass.h"
#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

using HardwareTraces = ImportFixture;
using Texts = std::vector<std::string>;

const std::string kHeading =
    "Name,Trace Source,Engine,Event type,Timestamp[usec],Device,Operation,HW Event description,SPMU value\n";

TEST_F(HardwareTraces, ReadsGaudiCsv) {
  const auto file =
      write("any_name", kHeading +
                            "conv,HW,[HD0] TPC 1,BEGIN,554804519.935268,accel0,Convolution,START,\r\n"
                            "\"a \"\"b\"\", c\",HW,[HD1] TPC 1,BEGIN,554804519.936,accel0,Add,START,\n"
                            "conv,HW,[HD0] TPC 1,END,554804520.035268,accel0,Convolution,HALT,\n"
                            "\"a \"\"b\"\", c\",HW,[HD1] TPC 1,END,554804520.036,accel0,Add,HALT,\n"
                            "conv,HW,[HD0] TPC 1,INSTANT,554804520.135268,accel0,Convolution,VPU,\n"
                            "writes,HW,[D0] Cache,COUNTER,554804520.2,accel0,,SPMU,17\n"
                            "conv,HW,[HD0] TPC 1,SOMETHING,554804521,accel0,,,\n"
                            "cut off");
  const auto summary = import(file);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (Texts{"[HD0] TPC 1: VPU 200000-200000", "[HD0] TPC 1: conv 0-100000",
                             "[HD1] TPC 1: a \"b\", c 732-100732"}));
  ASSERT_EQ(summary->findings.size(), 1U);
  EXPECT_NE(
      summary->findings[0].find("A line is no event with a type and a time, and is left out. (2 times)"),
      std::string::npos);
  for (const auto& lane : rows<model::Lane>())
    EXPECT_EQ(lane.role, lane.name == "passes" ? model::LaneRole::compute : model::LaneRole::vector);
  for (const auto& step : rows<model::Step>()) EXPECT_EQ(step.kind, model::StepKind::compute);
  ASSERT_EQ(rows<model::CounterSample>().size(), 1U);
  EXPECT_EQ(rows<model::CounterSample>()[0].value, 17);
  ASSERT_EQ(rows<model::Device>().size(), 1U);
  EXPECT_EQ(rows<model::Device>()[0].name, "accel0");
  EXPECT_EQ(rows<model::Device>()[0].kind, "accelerator");
}

TEST_F(HardwareTraces, ReadsGaudiCsvWithOtherColumnsAndUnits) {
  const Texts expected = {"TPC 1: a, b; c 0-1500000"};
  const auto slicesOf = [&](const std::string& text) {
    const auto summary = import(write("trace.csv", text));
    EXPECT_TRUE(summary.ok());
    return slices();
  };
  EXPECT_EQ(slicesOf("Timestamp[nsec],Event type,Engine,Name\n7000,BEGIN,TPC 1,\"a, b; c\"\n"
                     "8500,END,TPC 1,\"a, b; c\"\n"),
            expected);
  EXPECT_EQ(slicesOf("Name;Engine;Event type;Timestamp[ms]\n\"a, b; c\";TPC 1;BEGIN;1\n"
                     "\"a, b; c\";TPC 1;END;1.0015\n"),
            expected);
  EXPECT_FALSE(import(write("trace.csv", "Name,Engine,Event type,Timestamp[weeks]\na,b,BEGIN,1\n")).ok());
}

TEST_F(HardwareTraces, JoinsLaunchesWithKernels) {
  const auto file = write("t.json", R"({"distributedInfo":{"rank":0},"traceEvents":[
    {"ph":"X","name":"cudaLaunchKernel","ts":1,"dur":1,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":5}},
    {"ph":"X","name":"gemm","ts":9,"dur":4,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":5}},
    {"ph":"X","name":"lonely","ts":15,"dur":4,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":6}},
    {"ph":"f","id":5,"cat":"ac2g","name":"ac2g","ts":1,"pid":7,"tid":7,"bp":"e"},
    {"ph":"s","id":5,"cat":"ac2g","name":"ac2g","ts":9,"pid":0,"tid":7}]})");
  ASSERT_TRUE(import(file).ok());
  const auto flows = rows<model::Transfer>();
  ASSERT_EQ(flows.size(), 1U) << "the arrow from the kernel to its launch is not another one";
  EXPECT_EQ(flows[0].start.count, 0);
  EXPECT_EQ(flows[0].end.count, 8'000'000);
  EXPECT_EQ(flows[0].kind, model::TransferKind::arrow);
}

/// A kernel that starts at the moment of the next launch has left the queue. Values at their changes, by
/// hand.
TEST_F(HardwareTraces, CountsTheLaunchesThatWait) {
  const auto file = write("t.json", R"([
    {"ph":"X","name":"launch","ts":0,"dur":1,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":1}},
    {"ph":"X","name":"launch","ts":10,"dur":1,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":2}},
    {"ph":"X","name":"launch","ts":20,"dur":1,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":3}},
    {"ph":"X","name":"a","ts":10,"dur":5,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":1}},
    {"ph":"X","name":"b","ts":30,"dur":5,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":2}},
    {"ph":"X","name":"c","ts":40,"dur":5,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":3}}])");
  ASSERT_TRUE(import(file).ok());
  std::vector<std::pair<std::int64_t, double>> values;
  for (const auto& sample : rows<model::CounterSample>())
    values.emplace_back(sample.time.count / 1'000'000, sample.value);
  EXPECT_EQ(values,
            (std::vector<std::pair<std::int64_t, double>>{{0, 1}, {10, 1}, {20, 2}, {30, 1}, {40, 0}}));
}

/// A launch of a graph starts many kernels. Where the same number is used again, the later launch counts.
TEST_F(HardwareTraces, CreditsAllKernelsOfAGraphToItsLaunch) {
  const auto slice = [](const char* category, int pid, int at) {
    return R"({"ph":"X","name":"n","dur":1,"tid":7,"args":{"correlation":5},"cat":")" +
           std::string(category) + R"(","pid":)" + std::to_string(pid) + R"(,"ts":)" + std::to_string(at) +
           "},";
  };
  std::string text = "[";
  for (const int launch : {0, 1000}) {
    text += slice("cuda_runtime", 9, launch);
    for (const int kernel : {100, 150, 200}) text += slice("kernel", 0, launch + kernel);
  }
  ASSERT_TRUE(import(write("t.json", text + "{}]")).ok());
  std::vector<std::pair<std::int64_t, std::int64_t>> launches;
  for (const auto& row : rows<model::Transfer>())
    launches.emplace_back(row.start.count / 1'000'000, row.end.count / 1'000'000);
  std::sort(launches.begin(), launches.end());
  EXPECT_EQ(launches, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                          {0, 100}, {0, 150}, {0, 200}, {1000, 1100}, {1000, 1150}, {1000, 1200}}));
}

TEST_F(HardwareTraces, FollowsArrowsStepByStep) {
  ASSERT_TRUE(import(write("t.json", R"([{"ph":"X","name":"a","ts":0,"dur":4,"pid":1,"tid":1},
    {"ph":"X","name":"b","ts":6,"dur":4,"pid":1,"tid":2},{"ph":"X","name":"c","ts":12,"dur":4,"pid":1,"tid":3},
    {"ph":"s","id":1,"cat":"c","ts":2,"pid":1,"tid":1},{"ph":"t","id":1,"cat":"c","ts":7,"pid":1,"tid":2},
    {"ph":"f","id":1,"cat":"c","ts":13,"pid":1,"tid":3}])"))
                  .ok());
  std::vector<std::pair<std::int64_t, std::int64_t>> arrows;
  for (const auto& row : rows<model::Transfer>()) {
    arrows.emplace_back(row.start.count / 1'000'000, row.end.count / 1'000'000);
    EXPECT_EQ(row.kind, model::TransferKind::arrow) << "nothing moves";
  }
  EXPECT_EQ(arrows, (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 7}, {7, 13}}));
}

TEST_F(HardwareTraces, KeepsTheArrowsOfATrace) {
  const auto file = write("t.json", R"([{"ph":"X","name":"a","ts":0,"dur":4,"pid":1,"tid":1},
    {"ph":"X","name":"b","ts":6,"dur":4,"pid":1,"tid":2},
    {"ph":"s","id":"x","cat":"c","ts":2,"pid":1,"tid":1},{"ph":"f","id":"x","cat":"c","ts":7,"pid":1,"tid":2},
    {"ph":"s","id":"x","cat":"c","ts":3,"pid":1,"tid":1},{"ph":"f","id":"x","cat":"c","ts":8,"pid":1,"tid":2},
    {"ph":"s","id":"x","cat":"other","ts":3,"pid":1,"tid":1},{"ph":"f","id":"x","cat":"c","ts":30,"pid":1,"tid":9}])");
  ASSERT_TRUE(import(file).ok());
  const auto flows = rows<model::Transfer>();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].start.count, 2'000'000);
  EXPECT_EQ(flows[0].end.count, 7'000'000);
  EXPECT_EQ(flows[1].start.count, 3'000'000);
  EXPECT_EQ(flows[1].end.count, 8'000'000);
}

TEST_F(HardwareTraces, ReadsCountersWithSeveralSeriesAndMemory) {
  const auto file = write("t.json", R"([
    {"ph":"C","name":"heap","ts":1,"pid":1,"args":{"used":5,"free":7.5}},
    {"name":"[memory]","ph":"i","ts":2,"pid":1,"tid":3,"s":"t","args":{"Total Allocated":64,"Total Reserved":128,
     "Device Id":1,"Device Type":1,"Bytes":-64,"Addr":9}},
    {"args":{"Total Allocated":32},"name":"[memory]","ph":"i","ts":3,"pid":1,"tid":3}])");
  ASSERT_TRUE(import(file).ok());
  std::vector<std::pair<std::string, double>> found;
  const auto counters = rows<model::Counter>();
  for (const auto& sample : rows<model::CounterSample>())
    found.emplace_back(counters[static_cast<std::size_t>(sample.counter.value)].name, sample.value);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::pair<std::string, double>>{{"allocated memory, device 1", 64},
                                                                {"allocated memory, host", 32},
                                                                {"heap, free", 7.5},
                                                                {"heap, used", 5},
                                                                {"reserved memory, device 1", 128}}));
  for (const auto& row : counters) EXPECT_EQ(row.unit, row.name.starts_with("heap") ? "" : "B") << row.name;
}

/// The clocks of both files have the same zero once the base time is added.
TEST_F(HardwareTraces, AddsTheBaseTimeOfAFile) {
  const auto trace = [](int rank, const char* base) {
    return R"({"baseTimeNanoseconds":)" + std::string(base) + R"(,"distributedInfo":{"rank":)" +
           std::to_string(rank) + R"(},"traceEvents":[{"ph":"X","name":"e","ts":100.5,"dur":1}]})";
  };
  write("ranks/a.json", trace(0, "1727743122000000000"));
  write("ranks/b.json", trace(1, "1727743122000002000"));
  ASSERT_TRUE(import(folder_ / "ranks").ok());
  EXPECT_EQ(slices(), (Texts{"events: e 0-1000000", "events: e 2000000-3000000"}));
}

TEST_F(HardwareTraces, ImportsTheChosenRanks) {
  const std::string event = R"([{"ph":"X","name":"e","ts":5,"dur":1,"pid":"CPU","tid":1}])";
  for (const char* name : {"ranks/rank0.json", "ranks/rank1.json", "ranks/rank12.json"}) write(name, event);
  ImportRequest request;
  request.paths = {folder_ / "ranks"};
  request.ranks = {0, 12};
  const auto summary = import(request);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  ASSERT_EQ(rows<model::Device>().size(), 2U);
  EXPECT_EQ(rows<model::Device>()[1].name, "rank 12");
  request.ranks = {3};
  const auto missing = import(request);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "No trace is of rank 3; the traces are of ranks 0, 1, 12.");
  request.paths = {write("plain.json", event)};
  const auto none = import(request);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "The traces state no ranks, so --ranks cannot choose among them.");
}

/// Two data-parallel ranks with two stages each: the messages of both pair, the collective waits for the
/// last.
TEST_F(HardwareTraces, SayThatThereAreTooManyMessages) {
  std::string events;
  const auto count = std::to_string(RecordedEvents::kMostMessages + 1);
  for (std::int64_t i = 0; i <= RecordedEvents::kMostMessages; ++i)
    events +=
        R"({"ph":"X","pid":1,"tid":1,"name":"gloo:send","ts":)" + std::to_string(2 * i) + R"(,"dur":1},)";
  events.back() = ']';
  ASSERT_TRUE(import(write("many.json", "[" + events)).ok());
  EXPECT_TRUE(rows<model::Transfer>().empty());
  for (const model::Property& row : rows<model::Property>()) {
    if (row.key == "coverage_messages" || row.key == "coverage_inferred_messages") {
      EXPECT_EQ(row.value, count) << row.key;
    }
    if (row.key == "coverage_paired_messages") {
      EXPECT_EQ(row.value, "0");
    }
  }
  bool said = false;
  for (const model::Diagnostic& note : rows<model::Diagnostic>())
    said =
        said || note.text.starts_with("The traces hold " + count + " sends and receives, which are too many");
  EXPECT_TRUE(said);
}

TEST_F(HardwareTraces, PairsMessagesAndCollectives) {
  std::string events;
  const auto add = [&](int rank, int stage, const char* queue, const char* what, int start, int length,
                       int sequence) {
    events += R"({"ph":"X","pid":)" + std::to_string(rank) + R"(,"tid":"PP rank )" + std::to_string(stage) +
              R"(, TP rank 0, )" + queue + R"(","name":")" + what + R"(","cat":")" + what + R"(","ts":)" +
              std::to_string(start) + R"(,"dur":)" + std::to_string(length) +
              R"(,"args":{"step":1,"mb_id":)" + std::to_string(sequence) + R"(,"seq_id":)" +
              std::to_string(sequence) + "}},";
  };
  for (const int rank : {0, 1}) {
    add(rank, 0, "compute", "forward-compute", 0, 10, 0);
    add(rank, 0, "pp-comm", "forward-send", 10, 8, 0);
    add(rank, 1, "pp-comm", "forward-recv", 2, 15, 0);
    add(rank, 1, "compute", "forward-compute", 18, 10, 0);
    add(rank, 0, "pp-comm", "forward-recv", 2, 1, 0);  // carries nothing
    add(rank, 1, "dp-comm", "grads-reduce-scatter", 30 + rank * 5, 20 - rank * 5, 0);
  }
  events.back() = ']';
  ASSERT_TRUE(import(write("t.json", "[" + events)).ok());
  const auto transfers = rows<model::Transfer>();
  ASSERT_EQ(transfers.size(), 3U);
  for (const int i : {0, 1}) {
    EXPECT_EQ(transfers[static_cast<std::size_t>(i)].kind, model::TransferKind::activation);
    EXPECT_EQ(transfers[static_cast<std::size_t>(i)].start.count, 10'000'000) << "both sides are there";
    EXPECT_EQ(transfers[static_cast<std::size_t>(i)].end.count, 17'000'000);
  }
  EXPECT_EQ(transfers[2].kind, model::TransferKind::collective);
  EXPECT_EQ(transfers[2].start.count, 35'000'000) << "the last member starts it";
  EXPECT_EQ(transfers[2].end.count, 50'000'000);
}

/// Both ranks sum their gradients after the backward pass. Rank 1 is slower, so rank 0 waits for it.
TEST_F(HardwareTraces, NamesTheRankThatACollectiveWaitedFor) {
  std::string events;
  for (const int rank : {0, 1}) {
    const auto add = [&](const char* queue, const char* what, int start, int length) {
      events += R"({"ph":"X","pid":)" + std::to_string(rank) + R"(,"tid":"PP rank 0, TP rank 0, )" + queue +
                R"(","name":")" + what + R"(","cat":")" + what + R"(","ts":)" + std::to_string(start) +
                R"(,"dur":)" + std::to_string(length) + R"(,"args":{"step":1,"mb_id":0}},)";
    };
    add("compute", "backward-compute", 0, rank == 0 ? 10 : 30);
    add("dp-comm", "grads-reduce-scatter", 31, 9);
    add("compute", "optimizer", 40, 5);
  }
  events.back() = ']';
  ASSERT_TRUE(import(write("t.json", "[" + events)).ok());
  const auto waits = rows<model::Wait>();
  const auto found = std::find_if(waits.begin(), waits.end(), [](const model::Wait& wait) {
    return wait.device.value == 0 && wait.start.count == 10'000'000;
  });
  ASSERT_NE(found, waits.end());
  EXPECT_EQ(found->end.count, 31'000'000);
  EXPECT_EQ(found->cause, model::WaitCause::collective);
  EXPECT_EQ(found->waitedForDevice.value, 1);
}

}  // namespace
}  // namespace pipescope::importing

// XPlane files, memory snapshots and pipeline dumps. The files are made here by the formats' own rules, or by
// Python.
#include <map>
#include <tuple>

#include "profiler/import/read/trace_format.h"
#include "tests/unit/import/import_fixture.h"
#include "tests/unit/import/protobuf_bytes.h"

namespace pipescope::importing {
namespace {

namespace fs = std::filesystem;
using ReadFormats = ImportFixture;
using Texts = std::vector<std::string>;

// --- protobuf, by hand ---

std::string part(std::uint64_t field, const std::string& bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()) + bytes;
}

std::string xevent(std::uint64_t name, std::uint64_t offset, std::uint64_t duration,
                   const std::string& stats = "") {
  return part(4, number(1, name) + number(2, offset) + number(3, duration) + stats);
}
std::string xname(std::uint64_t field, std::uint64_t id, const std::string& name) {
  return part(field, number(1, id) + part(2, number(1, id) + part(2, name)));
}

TEST_F(ReadFormats, ReadsXplanes) {
  constexpr std::uint64_t kNanos = 1'700'000'000'000'000'000;
  const std::string correlation = part(4, number(1, 7) + number(4, 99));
  const std::string host =
      number(1, 1) + part(2, "/host:CPU") +
      part(3, number(1, 5) + part(2, "python") + number(3, kNanos) + xevent(1, 0, 2'000'000, correlation)) +
      xname(4, 1, "launch") + xname(5, 7, "correlation_id");
  const std::string device =
      number(1, 2) + part(2, "/device:TPU:0") +
      part(3, number(1, 1) + part(2, "XLA Ops") + number(3, kNanos + 1000) +
                  xevent(1, 500, 3'000'000, correlation) + xevent(2, 4'000'000, 1'000'000)) +
      part(3, number(1, 2) + part(2, "Steps") + number(3, kNanos) + xevent(3, 0, 9'000'000)) +
      xname(4, 1, "fusion.1") + xname(4, 2, "all-reduce.2") + xname(4, 3, "17") +
      xname(5, 7, "correlation_id");
  const auto summary = import(write("host.xplane.pb", part(1, host) + part(1, device)));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->findings.empty());
  EXPECT_EQ(slices(), (Texts{"Steps: 17 0-9000000", "XLA Ops: all-reduce.2 5000000-6000000",
                             "XLA Ops: fusion.1 1000500-4000500", "python: launch 0-2000000"}));
  std::map<std::string, model::StepKind> kinds;
  const auto programs = rows<model::Program>();
  const auto names = rows<model::DebugContext>();
  for (const auto& step : rows<model::Step>())
    kinds[names[static_cast<std::size_t>(
                    programs[static_cast<std::size_t>(step.program.value)].debugContext.value)]
              .name] = step.kind;
  EXPECT_EQ(kinds["all-reduce.2"], model::StepKind::globalExchange);
  EXPECT_EQ(kinds["fusion.1"], model::StepKind::compute);
  const auto arrows = rows<model::Transfer>();
  ASSERT_EQ(arrows.size(), 1U) << "the launch";
  EXPECT_EQ(arrows[0].start.count, 0);
  EXPECT_EQ(arrows[0].end.count, 1'000'500);
}

TEST_F(ReadFormats, KeepsWhatIsWholeOfACutXplane) {
  const std::string plane =
      part(2, "/device:TPU:0") + xname(4, 1, "op") +
      part(3, number(1, 1) + part(2, "XLA Ops") + number(3, 5) + xevent(1, 0, 10) + xevent(1, 20, 10));
  const std::string file = part(1, plane);
  for (std::size_t size = 40; size < file.size(); ++size) {
    const auto summary = import(write("cut.xplane.pb", file.substr(0, size)));
    EXPECT_TRUE(!summary.ok() || !summary->findings.empty()) << size;
  }
  ASSERT_TRUE(import(write("whole.xplane.pb", file)).ok());
  EXPECT_EQ(slices().size(), 2U);
}

/// Made by Python 3.11: pickle.dumps, protocol 4. What was held before the history follows from what is held
/// at its end: 1,536 of 4,096 bytes.
TEST_F(ReadFormats, ReadsMemorySnapshots) {
  const auto summary = import(fs::path(PIPESCOPE_TEST_DATA) / "snapshot.pickle");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const auto counters = rows<model::Counter>();
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> values;
  for (const auto& sample : rows<model::CounterSample>())
    values[counters[static_cast<std::size_t>(sample.counter.value)].name].emplace_back(
        sample.time.count / 1'000'000, sample.value);
  using Values = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(values["allocated memory"], (Values{{0, 1024}, {10, 2048}, {20, 2560}, {40, 1536}}));
  EXPECT_EQ(values["reserved memory"], (Values{{0, 4096}, {10, 4096}, {20, 4096}, {40, 4096}}));
  EXPECT_EQ(rows<model::Device>().at(0).name, "GPU 0");
  for (const auto& row : counters) EXPECT_EQ(row.unit, "B") << row.name;
}

/// The second file asks Python to call print().
TEST_F(ReadFormats, RunsNoProgramOfASnapshot) {
  const auto refused = import(fs::path(PIPESCOPE_TEST_DATA) / "snapshot_with_call.pickle");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("only a program can make"), std::string::npos)
      << refused.error().message;
  std::ifstream whole(fs::path(PIPESCOPE_TEST_DATA) / "snapshot.pickle", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  for (std::size_t size = 60; size < bytes.size(); size += 7) {
    const auto cut = import(write("cut.pickle", bytes.substr(0, size)));
    ASSERT_FALSE(cut.ok());
    EXPECT_NE(cut.error().message.find("ends early"), std::string::npos) << cut.error().message;
    EXPECT_NE(cut.error().message.find("cut.pickle"), std::string::npos) << cut.error().message;
  }
}

/// Two ranks, two iterations of two micro-batches. The second iteration begins when the longest rank ended
/// the first, after 10 ms.
TEST_F(ReadFormats, ReadsPipelineDumps) {
  const auto rank = [](double shift) {
    std::string text = "{";
    for (const int iteration : {1, 2}) {
      const auto list = [&](const char* key, double a, double b) {
        return ", \"" + std::string(key) + "\": [" + std::to_string(a + shift) + ", " +
               std::to_string(b + shift) + "]";
      };
      text += (iteration == 1 ? "\"" : ", \"") + std::to_string(iteration) +
              "\": {\"total\": " + (shift > 0 ? "9.0" : "10.0") + ", \"memory\": 5.5" +
              list("fwd_start", 0, 1) + list("fwd_end", 1, 2) + list("bwd_start", 5, 7) +
              list("bwd_end", 7, 9) + "}";
    }
    return text + "}";
  };
  write("dump/pp_rank_0.json", rank(0));
  write("dump/pp_rank_1.json", rank(1));
  write("dump/config.json",
        R"({"world_size": 2, "pp_size": 2, "vp_size": 1, "num_mbs": 2, "train_iters": 2})");
  const auto summary = import(folder_ / "dump");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->findings.empty()) << summary->findings.front();
  EXPECT_EQ(rows<model::Executable>().at(0).stages, 2);
  EXPECT_EQ(rows<model::Executable>().at(0).microBatches, 2);
  std::vector<std::int64_t> starts;  // ms, of the forward passes of stage 1
  for (const auto& pass : rows<model::Placement>())
    if (pass.pass == model::Pass::forward && pass.stage == 1)
      starts.push_back(pass.start.count / 1'000'000'000);
  EXPECT_EQ(starts, (std::vector<std::int64_t>{1, 2, 11, 12}));
  using Span = std::tuple<int, char, std::int64_t, std::int64_t>;  // stage, pass, start and end in µs
  std::vector<Span> spans, expected;
  for (const auto& pass : rows<model::Placement>())
    if (model::isComputePass(pass.pass))
      spans.emplace_back(pass.stage, pass.pass == model::Pass::forward ? 'f' : 'b',
                         pass.start.count / 1'000'000, pass.end.count / 1'000'000);
  for (const std::int64_t stage : {0, 1}) {
    for (const std::int64_t begin : {0, 10}) {
      const auto add = [&](char pass, std::int64_t start, std::int64_t end) {
        expected.emplace_back(stage, pass, (begin + stage + start) * 1000, (begin + stage + end) * 1000);
      };
      add('f', 0, 1), add('f', 1, 2), add('b', 5, 7), add('b', 7, 9);
    }
  }
  std::ranges::sort(spans);
  std::ranges::sort(expected);
  EXPECT_EQ(spans, expected);
}

/// A pass that ends before it begins, is no number, lies 60 days off or has no end is left out. It keeps its
/// place, which tells the micro-batch of the others.
TEST_F(ReadFormats, LeavesOutPassesOfPipelineDumpsThatHaveNoTimes) {
  write("dump/pp_rank_0.json", R"({"1": {"total": 30, "fwd_start": [0, 5, 6, 7, 9, 11],
      "fwd_end": [1, 4, "six", 6e9, 10], "bwd_start": [12, 14, 16, 18, 20, 22],
      "bwd_end": [14, 16, 18, 20, 22, 24]}, "x2": {"fwd_start": [0], "fwd_end": [1]}, "3": 7})");
  const auto summary = import(folder_ / "dump");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  ASSERT_FALSE(summary->findings.empty());
  EXPECT_NE(summary->findings.front().find("A pass has no start or end that can be read"), std::string::npos);
  std::vector<std::pair<int, std::int64_t>> forward;  // micro-batch, start in ms
  for (const auto& pass : rows<model::Placement>())
    if (pass.pass == model::Pass::forward)
      forward.emplace_back(pass.microBatch, pass.start.count / 1'000'000'000);
  EXPECT_EQ(forward, (std::vector<std::pair<int, std::int64_t>>{{0, 0}, {4, 9}}));
}

TEST_F(ReadFormats, RefusesPipelineDumpsOfManyDays) {
  const auto refusal = [&](const std::string& text) {
    write("dump/pp_rank_0.json", text);
    const auto summary = import(folder_ / "dump");
    return summary.ok() ? "" : summary.error().message;
  };
  EXPECT_NE(refusal(R"({"1": {"fwd_start": [0], "fwd_end": [1]}, "2": )").find("dump it again"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"1": {"total": 4e9, "fwd_start": [0], "fwd_end": [1]},
      "2": {"total": 4e9, "fwd_start": [0], "fwd_end": [1]}})")
                .find("The pipeline dump lasts more than 50 days"),
            std::string::npos);
}

/// PyTorch reserves multiples of 2 MiB, so values that all are multiples of 1/512 are GiB.
TEST_F(ReadFormats, TellsTheUnitOfMemoryInPipelineDumps) {
  const auto dump = [&](const std::string& memory) {
    write("dump/pp_rank_0.json", R"({"1": {"total": 4, "memory": )" + memory + R"(,
        "fwd_start": [0], "fwd_end": [1], "bwd_start": [1], "bwd_end": [3]}})");
    EXPECT_TRUE(import(folder_ / "dump").ok());
    return std::pair(rows<model::Counter>().at(0).name, rows<model::CounterSample>().at(0).value);
  };
  EXPECT_EQ(dump("84.345703125"), std::pair(std::string("reserved memory"), 84.345703125 * (1 << 30)));
  EXPECT_EQ(dump("84.3"), std::pair(std::string("memory, in the unit of the dump"), 84.3));
}

/// Megatron computes micro-batches 0 and 1 with chunk 0, then with chunk 1, if each of two ranks has two
/// chunks.
TEST_F(ReadFormats, ReadsInterleavedPipelineDumps) {
  for (const int rank : {0, 1})
    write("dump/pp_rank_" + std::to_string(rank) + ".json",
          R"({"1": {"total": 20, "memory": 1, "fwd_start": [0,1,2,3], "fwd_end": [1,2,3,4],
              "bwd_start": [10,12,14,16], "bwd_end": [12,14,16,18]}})");
  write("dump/config.json", R"({"pp_size": 2, "vp_size": 2, "num_mbs": 2})");
  ASSERT_TRUE(import(folder_ / "dump").ok());
  Texts passes;
  for (const auto& pass : rows<model::Placement>())
    if (pass.device == rows<model::Placement>().at(0).device && model::isComputePass(pass.pass))
      passes.push_back(model::toString(pass.pass).substr(0, 1) + std::to_string(pass.stage) + "." +
                       std::to_string(pass.microBatch));
  const bool first = passes.at(0) == "f0.0";
  EXPECT_EQ(passes, first ? (Texts{"f0.0", "f0.1", "f2.0", "f2.1", "b2.0", "b2.1", "b0.0", "b0.1"})
                          : (Texts{"f1.0", "f1.1", "f3.0", "f3.1", "b3.0", "b3.1", "b1.0", "b1.1"}));
}

/// Ascend's profiler states times of 16 digits and three decimals as text.
TEST_F(ReadFormats, ReadsTimesOfSixteenDigitsAsText) {
  ASSERT_TRUE(
      import(
          write("trace_view.json",
                R"([{"ph":"X","name":"a","pid":20,"tid":3,"ts":"1700000000000000.125","dur":"2.5","args":{}},
    {"ph":"X","name":"b","pid":20,"tid":3,"ts":"1700000000000010.001","dur":1.001,"args":{}}])"))
          .ok());
  EXPECT_EQ(slices(), (Texts{"thread 3: a 0-2500000", "thread 3: b 9876000-10877000"}));
}

TEST(TraceFormats, AreAllRegistered) {
  EXPECT_EQ(formatRegistry().all().size(), 7U);
  EXPECT_TRUE(formatRegistry().all().back().name.starts_with("Chrome")) << "JSON of any kind looks like it";
  EXPECT_NE(formatNames().find("Perfetto"), std::string::npos);
  EXPECT_GT(std::ranges::count(traceSuffixes(), std::string(".pftrace")), 0);
}

}  // namespace
}  // namespace pipescope::importing

// Recognition before the rows are written, for the clocks of several traces, and while they are written.
#include <map>
#include <tuple>

#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

namespace fs = std::filesystem;

class RecognisedOnce : public ImportFixture {
 protected:
  /// Device, lane, program, kind, pass, stage, micro-batch and length of each placed step, with the number of
  /// transfers. Starts are left out, because the clocks differ.
  using Row =
      std::tuple<std::int64_t, std::string, std::int64_t, int, int, std::int32_t, std::int32_t, std::int64_t>;
  std::pair<std::vector<Row>, std::size_t> importWith(ClockChoice clock, std::vector<fs::path> paths) {
    ImportRequest request;
    request.paths = std::move(paths);
    request.clock = clock;
    const auto summary = import(std::move(request));
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().message);
    const auto lanes = rows<model::Lane>();
    std::map<model::SegmentId, model::Placement> placed;
    for (const auto& placement : rows<model::Placement>()) placed[placement.segment] = placement;
    std::vector<Row> all;
    for (const auto& step : rows<model::Step>()) {
      const model::Placement& placement = placed[step.segment];
      all.emplace_back(placement.device.value, lanes[static_cast<std::size_t>(step.lane.value)].name,
                       step.program.value, static_cast<int>(step.kind), static_cast<int>(placement.pass),
                       placement.stage, placement.microBatch, step.ticks.count);
    }
    std::sort(all.begin(), all.end());
    return {all, rows<model::Transfer>().size()};
  }
};

/// Two stages on hosts: passes with operators within them, an update that holds its own name, two messages
/// and a collective.
std::string traceOfStage(int stage) {
  const std::string name = "stage" + std::to_string(stage);
  std::string text = R"([{"ph":"X","pid":1,"tid":1,"name":"ProfilerStep#7","ts":0,"dur":1000})";
  const auto add = [&](const std::string& event, int time, int length) {
    text += R"(,{"ph":"X","pid":1,"tid":1,"name":")" + event + R"(","ts":)" + std::to_string(time) +
            R"(,"dur":)" + std::to_string(length) + "}";
  };
  const int late = 100 * stage;
  for (int batch = 0; batch < 3; ++batch) {
    const std::string number = std::to_string(batch);
    add(name + "/forward/mb" + number, late + 100 * batch, 90);
    add("aten::mm", late + 100 * batch + 5, 50);
    add(name + "/backward/mb" + number, 500 + 100 * batch - late, 90);
  }
  add(name + "/update", 800, 100);
  add(name + "/update", 810, 50);
  add("all_reduce", 920, 60);
  return text + "]";
}

TEST_F(RecognisedOnce, BeforeTheRowsOrWithThemGivesTheSameRows) {
  const std::vector<fs::path> paths = {write("rank0.json", traceOfStage(0)),
                                       write("rank1.json", traceOfStage(1))};
  const auto before = importWith(ClockChoice::align, paths);
  const auto with = importWith(ClockChoice::firstEvent, paths);
  EXPECT_EQ(before, with);
  // Each trace has three forward and three backward passes and one update, and shows nothing twice.
  const auto countOf = [&](model::Pass pass) {
    return std::ranges::count_if(before.first,
                                 [&](const Row& row) { return std::get<4>(row) == static_cast<int>(pass); });
  };
  EXPECT_EQ(countOf(model::Pass::forward), 6);
  EXPECT_EQ(countOf(model::Pass::backward), 6);
  EXPECT_EQ(countOf(model::Pass::update), 2);
}

/// A GPU whose passes a host marks: they take the times of the kernels that were launched within them.
std::string traceOfGpu(int rank) {
  std::string text =
      R"({"distributedInfo":{"rank":)" + std::to_string(rank) + R"(,"world_size":2},"traceEvents":[)";
  const auto add = [&](const std::string& category, int thread, const std::string& event, int time,
                       int length, int correlation) {
    text += R"({"ph":"X","cat":")" + category + R"(","pid":)" + (category == "kernel" ? "0" : "77") +
            R"(,"tid":)" + std::to_string(thread) + R"(,"name":")" + event + R"(","ts":)" +
            std::to_string(time) + R"(,"dur":)" + std::to_string(length);
    if (correlation > 0) text += R"(,"args":{"correlation":)" + std::to_string(correlation) + "}";
    text += "},";
  };
  for (int batch = 0; batch < 4; ++batch) {
    const int time = 100 * batch + 50 * rank;
    add("user_annotation", 5, "stage" + std::to_string(rank) + "/forward/mb" + std::to_string(batch), time,
        20, 0);
    add("cuda_runtime", 5, "cudaLaunchKernel", time + 2, 3, 2 * batch + 1);
    add("cuda_runtime", 5, "cudaLaunchKernel", time + 8, 3, 2 * batch + 2);
    add("kernel", 7, "gemm", time + 10, 20, 2 * batch + 1);
    add("kernel", 7, "relu", time + 30, 10, 2 * batch + 2);
  }
  text.back() = ']';
  return text + "}";
}

TEST_F(RecognisedOnce, PassesOfLaunchedKernelsKeepTheirNames) {
  const std::vector<fs::path> paths = {write("rank0.json", traceOfGpu(0)),
                                       write("rank1.json", traceOfGpu(1))};
  const auto before = importWith(ClockChoice::align, paths);
  const auto with = importWith(ClockChoice::firstEvent, paths);
  EXPECT_EQ(before, with);
  const auto forward = std::ranges::count_if(before.first, [](const Row& row) {
    return std::get<4>(row) == static_cast<int>(model::Pass::forward) && std::get<7>(row) == 30'000'000;
  });
  EXPECT_EQ(forward, 8) << "each pass lasts from its first kernel to its last one";
}

}  // namespace
}  // namespace pipescope::importing

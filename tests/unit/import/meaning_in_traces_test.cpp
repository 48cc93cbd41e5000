// Follows the meaning that rules state from the text of a trace to the rows of the profile.
#include <map>
#include <set>

#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

class MeaningInTraces : public ImportFixture {
 protected:
  base::Result<ImportSummary> importWith(const std::string& trace, const std::string& ruleText) {
    const auto rules = Rules::parse(ruleText, "mine.toml");
    EXPECT_TRUE(rules.ok());
    ImportRequest request;
    request.paths = {write("trace.json", trace)};
    request.rules = &*rules;
    return import(request);
  }
};

TEST_F(MeaningInTraces, LanesAndBlocksFollowRules) {
  const auto summary = importWith(R"([
    {"ph":"X","name":"layer 0","ts":0,"dur":50,"tid":1},
    {"ph":"X","name":"gemm","ts":10,"dur":20,"tid":1,"args":{"shape":"big"}},
    {"ph":"B","name":"layer 1","ts":60,"tid":1},
    {"ph":"X","name":"gemm","ts":70,"dur":10,"tid":1,"args":{"shape":"small"}},
    {"ph":"E","ts":90,"tid":1},
    {"ph":"X","name":"gemm","ts":95,"dur":5,"tid":1}])",
                                  R"([[rule]]
    annotation = 'layer (\d+)'
    block = "B{annotation.1}"
    [[rule]]
    args.shape = 'big'
    lane = "large products")");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (std::vector<std::string>{
                          "large products: gemm 10000000-30000000",
                          "thread 1, level 2: gemm 70000000-80000000", "thread 1: gemm 95000000-100000000",
                          "thread 1: layer 0 0-50000000", "thread 1: layer 1 60000000-90000000"}));
  // The operator of each step's program states the block.
  const auto programs = rows<model::Program>();
  const auto operators = rows<model::Operator>();
  std::map<std::string, std::int64_t> ticks;
  for (const auto& step : rows<model::Step>()) {
    const auto& program = programs[static_cast<std::size_t>(step.program.value)];
    ticks[program.op.valid() ? operators[static_cast<std::size_t>(program.op.value)].block : "none"] +=
        step.ticks.count;
  }
  EXPECT_EQ(ticks, (std::map<std::string, std::int64_t>{
                       {"B0", 20'000'000}, {"B1", 10'000'000}, {"none", 85'000'000}}));
}

TEST_F(MeaningInTraces, ChunksOfRanksAreStages) {
  // Two ranks with two chunks each, one micro-batch: stages 0 and 2 on rank 0, 1 and 3 on rank 1. Messages
  // state their number on the rank, as timelines of interleaved schedules do, and no chunk.
  std::string events;
  const auto add = [&](int rank, const char* what, int start, int length, int chunk, int sequence) {
    events += events.empty() ? "[" : ",";
    events += R"({"ph":"X","pid":0,"tid":"PP rank )" + std::to_string(rank) + R"(, TP rank 0, )" +
              (chunk < 0 ? what : "compute") + R"(","name":")" + what + R"(","cat":")" + what + R"(","ts":)" +
              std::to_string(start) + R"(,"dur":)" + std::to_string(length) +
              R"(,"args":{"step":0,"mb_id":)" + std::to_string(chunk < 0 ? -1 : 0) + R"(,"model_chunk":)" +
              std::to_string(chunk) + R"(,"seq_id":)" + std::to_string(sequence) + "}}";
  };
  add(0, "forward-compute", 0, 10, 0, 0);
  add(0, "forward-send", 10, 5, -1, 0);
  add(1, "forward-recv", 10, 5, -1, 0);
  add(1, "forward-compute", 15, 10, 0, 0);
  add(1, "forward-send", 25, 5, -1, 0);
  add(0, "forward-recv", 25, 5, -1, 0);
  add(0, "forward-compute", 30, 10, 1, 1);
  add(0, "forward-send", 40, 5, -1, 1);
  add(1, "forward-recv", 40, 5, -1, 1);
  add(1, "forward-compute", 45, 10, 1, 1);
  ASSERT_TRUE(import(write("timeline.json", events + "]")).ok());
  struct Expected {
    std::int64_t start, stage, chunk, device;
  };
  const Expected expected[] = {{0, 0, 0, 0}, {15, 1, 0, 1}, {30, 2, 1, 0}, {45, 3, 1, 1}};
  const auto devices = rows<model::Device>();
  std::vector<model::Placement> passes;
  for (const auto& placement : rows<model::Placement>())
    if (placement.pass == model::Pass::forward) passes.push_back(placement);
  ASSERT_EQ(passes.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(passes[i].start.count, expected[i].start * 1'000'000);
    EXPECT_EQ(passes[i].stage, expected[i].stage);
    EXPECT_EQ(passes[i].chunk, expected[i].chunk);
    EXPECT_EQ(devices[static_cast<std::size_t>(passes[i].device.value)].name,
              "0, PP rank " + std::to_string(expected[i].device) + ", TP rank 0");
  }
  std::set<std::int64_t> senders;
  for (const auto& transfer : rows<model::Transfer>()) {
    ASSERT_TRUE(transfer.from.valid());
    for (const auto& pass : passes)
      if (pass.id == transfer.from) senders.insert(pass.stage);
  }
  EXPECT_EQ(senders, (std::set<std::int64_t>{0, 1, 2}));
}

TEST_F(MeaningInTraces, CountsTheLaunchesThatWait) {
  // Launched at 0, 2 and 4; they run at 10, 20 and 30. The last is launched at 40 and starts at once.
  const auto launch = [](int id, int at) {
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"dur":1,"ts":)" +
           std::to_string(at) + R"(,"args":{"correlation":)" + std::to_string(id) + "}},";
  };
  const auto kernel = [](int id, int at) {
    return R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"dur":8,"ts":)" + std::to_string(at) +
           R"(,"args":{"stream":7,"correlation":)" + std::to_string(id) + "}},";
  };
  std::string events = "[";
  for (const auto& [id, from, to] :
       {std::tuple(1, 0, 10), std::tuple(2, 2, 20), std::tuple(3, 4, 30), std::tuple(4, 40, 40)})
    events += launch(id, from) + kernel(id, to);
  events.back() = ']';
  ASSERT_TRUE(import(write("trace.json", events)).ok());
  const auto counters = rows<model::Counter>();
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_EQ(counters[0].name, "launches in the queue");
  EXPECT_TRUE(counters[0].device.valid());
  std::map<std::int64_t, double> values;
  for (const auto& sample : rows<model::CounterSample>())
    values[sample.time.count / 1'000'000] = sample.value;
  EXPECT_EQ(values,
            (std::map<std::int64_t, double>{{0, 1}, {2, 2}, {4, 3}, {10, 2}, {20, 1}, {30, 0}, {40, 0}}));
}

}  // namespace
}  // namespace pipescope::importing

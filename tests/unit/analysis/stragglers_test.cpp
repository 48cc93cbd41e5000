// Stragglers of two production training jobs, as published with "Understanding Stragglers in Large Model
// Training Using What-if Analysis" (ByteDance-Seed/StragglerAnalysis, Apache-2.0), and of small graphs that
// were computed by hand.
#include "profiler/analysis/pipeline/stragglers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiler/analysis/pipeline/operation_graph.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;

Stragglers stragglersOf(const ImportedTrace& trace) {
  const auto answer = stragglers(trace.profile, *trace.catalog, model::ExecutableId(0));
  EXPECT_TRUE(answer.ok() && answer->stragglers) << (answer.ok() ? answer->why : answer.error().message);
  return answer.ok() && answer->stragglers ? *answer->stragglers : Stragglers();
}

double aloneOf(const std::vector<Straggler>& all, const std::string& name) {
  for (const Straggler& straggler : all)
    if (straggler.name == name) return straggler.alone;
  ADD_FAILURE() << name << " is missing";
  return 0;
}

TEST(OperationGraph, StartsAGroupWhenItsLastMemberIsReady) {
  OperationGraph graph;
  const auto first = graph.add(), second = graph.add(), send = graph.add(), receive = graph.add(),
             last = graph.add();
  graph.join(send, receive);
  graph.follow(send, first);
  graph.follow(receive, second);
  graph.follow(last, receive);
  ASSERT_TRUE(graph.order());
  // The send is ready at 3, the receive at 5; the receive ends at 7, and what follows it takes 10.
  EXPECT_EQ(graph.ends({3, 5, 1, 2, 10}), (std::vector<double>{3, 5, 6, 7, 17}));
}

TEST(OperationGraph, FindsCircles) {
  OperationGraph graph;
  const auto a = graph.add(), b = graph.add(), c = graph.add();
  graph.follow(a, b);
  graph.join(b, c);
  graph.follow(c, a);
  EXPECT_FALSE(graph.order());
}

/// All published figures of this job: 8 workers (4 stages, 2 data-parallel ranks), 32 steps.
TEST(Stragglers, FindsALastStageThatIsTooLong) {
  const ImportedTrace trace(fs::path(PIPESCOPE_SOURCE_DIR) / "samples/traces/stage_imbalance.json.gz");
  const Stragglers found = stragglersOf(trace);
  EXPECT_NEAR(found.slowdown, 1.1787, 0.02 * 1.1787);
  EXPECT_NEAR(found.launchSlowdown, 1.0192, 0.02);
  const std::pair<const char*, double> stages[] = {
      {"3", 1.2323}, {"0", 0.9980}, {"1", 0.9831}, {"2", 0.9825}};
  for (const auto& [stage, slowdown] : stages)
    EXPECT_NEAR(aloneOf(found.stages, stage), slowdown, 0.01 * slowdown) << stage;
  EXPECT_NEAR(aloneOf(found.replicas, "0"), 1.1731, 0.01);
  EXPECT_NEAR(aloneOf(found.replicas, "1"), 1.1779, 0.01);
  const std::pair<const char*, double> types[] = {{"forward-compute", 1.0875},
                                                  {"backward-compute", 1.0742},
                                                  {"embedding-grads-all-reduce", 1.0096},
                                                  {"grads-reduce-scatter", 1.0027},
                                                  {"optimizer-clip-main-grad", 1.0024},
                                                  {"optimizer", 1.0015},
                                                  {"params-all-gather", 1.0011},
                                                  {"layernorm-grads-all-reduce", 1.0000},
                                                  {"gc", 1.0},
                                                  {"backward-pp-comm", 1.0},
                                                  {"forward-pp-comm", 0.9999}};
  for (const auto& [type, slowdown] : types) EXPECT_NEAR(aloneOf(found.types, type), slowdown, 0.005) << type;
  EXPECT_EQ(found.types.size(), std::size(types));
  EXPECT_EQ(found.workers.size(), 8U);
  EXPECT_EQ(found.cause, Stragglers::Cause::stage);
  EXPECT_EQ(found.culprit, "3");
  // Step times in picoseconds: last end − first start of the file, computed in Python.
  ASSERT_EQ(found.recorded.size(), 32U);
  EXPECT_NEAR(found.recorded[0], 2381608.050316572e6, 1e3);
  EXPECT_NEAR(found.recorded[31], 2212631.4006745815e6, 1e3);
}

/// Two of the 44 steps of a job with 64 workers. The expected values come from a replay in Python of these
/// two steps; over all steps the published slowdown is 1.973.
TEST(Stragglers, FindsOneSlowWorker) {
  const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / "slow_worker.json.gz");
  const Stragglers found = stragglersOf(trace);
  EXPECT_NEAR(found.slowdown, 1.9857, 0.02 * 1.9857);
  EXPECT_NEAR(aloneOf(found.stages, "0"), 1.9917, 0.02);
  EXPECT_NEAR(aloneOf(found.stages, "1"), 0.9982, 0.01);
  EXPECT_NEAR(aloneOf(found.replicas, "0"), 1.9857, 0.02);
  EXPECT_NEAR(aloneOf(found.replicas, "1"), 1.0183, 0.01);
  EXPECT_NEAR(aloneOf(found.types, "backward-compute"), 1.5862, 0.02);
  EXPECT_EQ(found.cause, Stragglers::Cause::worker);
  EXPECT_EQ(found.culprit, "DP rank [0], PP rank 0, TP rank 0");
  EXPECT_GT(found.explained, 0.95);
  EXPECT_NEAR(found.recorded[0], 46669921.2e6, 1e3);
  EXPECT_NEAR(found.recorded[1], 46685966.9e6, 1e3);
}

std::string reportOf(const ImportedTrace& trace) {
  const sections::Section section = trace.section("stragglers");
  return sections::toText(section) + sections::toJson(section);
}

TEST(Stragglers, SaysWhatHoldsTheOthersUp) {
  EXPECT_NE(
      reportOf(ImportedTrace(fs::path(PIPESCOPE_TEST_DATA) / "slow_worker.json.gz"))
          .find(
              "One slow worker: DP rank [0], PP rank 0, TP rank 0; with its operations at their usual time, "
              "99 % of the slowdown disappears."),
      std::string::npos);
  const std::string report =
      reportOf(ImportedTrace(fs::path(PIPESCOPE_SOURCE_DIR) / "samples/traces/stage_imbalance.json.gz"));
  EXPECT_NE(report.find("Stage imbalance: stage 3 holds the others up on all its workers"),
            std::string::npos);
  EXPECT_NE(report.find("\"cause\": \"stage_imbalance\""), std::string::npos) << report;
}

fs::path written(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Stragglers, AreNoReasonToAdviseKeysOfAConfiguration) {
  const sections::Section section =
      ImportedTrace(fs::path(PIPESCOPE_TEST_DATA) / "slow_worker.json.gz").section("insights");
  const sections::SectionTable& table = section.tables.at(0);
  const auto text = [&](const std::vector<sections::Cell>& row, const std::string& key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key && std::holds_alternative<std::string>(row[i]))
        return std::get<std::string>(row[i]);
    return std::string();
  };
  bool waits = false;
  for (const auto& row : table.rows) {
    waits = waits || text(row, "rule") == "host_waits";
    EXPECT_EQ(text(row, "changes").find("training."), std::string::npos) << text(row, "changes");
    for (const char* key : {"gain_reason", "advice"}) {
      EXPECT_EQ(text(row, key).find("emulate"), std::string::npos) << text(row, key);
      EXPECT_EQ(text(row, key).find("pipescope plan"), std::string::npos) << text(row, key);
    }
  }
  EXPECT_TRUE(waits) << "this rule would advise more iterations in a call of an emulated run";
}

TEST(Stragglers, GivesNoVerdictWithoutPasses) {
  const ImportedTrace trace(written("straggler_none.json", R"([{"ph":"X","name":"work","ts":0,"dur":4}])"));
  EXPECT_NE(reportOf(trace).find("no verdict on stragglers: name them with import --rules"),
            std::string::npos);
}

TEST(Stragglers, GivesNoVerdictIfMessagesHaveNoCounterpart) {
  const ImportedTrace trace(written("straggler_messages.json", R"([
    {"ph":"X","pid":0,"tid":"PP rank 0, TP rank 0, compute","name":"f","cat":"forward-compute","ts":0,"dur":9,
     "args":{"step":1,"mb_id":0}},
    {"ph":"X","pid":0,"tid":"PP rank 0, TP rank 0, pp-comm","name":"s","cat":"forward-send","ts":9,"dur":9,
     "args":{"step":1,"seq_id":0}},
    {"ph":"X","pid":0,"tid":"PP rank 1, TP rank 0, compute","name":"f","cat":"forward-compute","ts":20,"dur":9,
     "args":{"step":1,"mb_id":0}}])"));
  EXPECT_NE(reportOf(trace).find("Only 0 of 1 messages between stages found their counterpart"),
            std::string::npos);
}

/// Stage 0 has the gradient of micro-batch 0 before it sends micro-batch 1, which stage 1 has before it makes
/// that gradient: names or clocks of the trace are wrong.
TEST(Stragglers, GivesNoVerdictIfPassesWaitInACircle) {
  const ImportedTrace trace(written("straggler_circle.json", R"([
    {"ph":"X","pid":1,"name":"stage0/backward/mb0","ts":0,"dur":5},
    {"ph":"X","pid":1,"name":"stage0/forward/mb1","ts":10,"dur":5},
    {"ph":"X","pid":2,"name":"stage1/forward/mb1","ts":0,"dur":5},
    {"ph":"X","pid":2,"name":"stage1/backward/mb0","ts":10,"dur":5}])"));
  EXPECT_NE(reportOf(trace).find("wait for each other in a circle"), std::string::npos);
}

TEST(Stragglers, GivesNoVerdictIfMostOfTheStepIsUnknown) {
  // The passes take 30 of 1000 µs.
  const ImportedTrace trace(written("straggler_poor.json",
                                    R"([{"ph":"X","name":"ProfilerStep#1","ts":0,"dur":1000},
                                          {"ph":"X","name":"stage0/forward/mb0","ts":0,"dur":10},
                                          {"ph":"X","name":"stage0/backward/mb0","ts":980,"dur":20}])"));
  EXPECT_NE(reportOf(trace).find("takes 3 % of the recorded step time"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis

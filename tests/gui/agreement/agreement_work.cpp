#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "agreement_figures.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/model/model_graph.h"
#include "profiler/analysis/model/program_tree.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/sections/program_rows.h"

namespace pipescope::testing {

using base::Ticks;
using model::StepKind;
using nlohmann::json;

void expectBytesAgree(const Figures& of) {
  std::int64_t host = 0, links = 0;
  if (of.catalog().target.tickMeaning == model::TickMeaning::cost) {
    EXPECT_TRUE(of["execution"]["traffic"][0]["global_in_bytes"].is_null()) << "costs have no sizes";
    return;
  }
  for (const json& row : of["execution"]["traffic"])
    host += row["stream_in_bytes"].get<std::int64_t>() + row["stream_out_bytes"].get<std::int64_t>();
  std::int64_t collectives = 0, sent = 0;
  for (const json& row : of["execution"]["traffic"]) sent += row["global_out_bytes"].get<std::int64_t>();
  for (const json& row : of["system"]["links"]) {
    const std::int64_t bytes = row["bytes"].is_null() ? 0 : row["bytes"].get<std::int64_t>();
    if (row["from"] == "host" || row["to"] == "host") links += bytes;
    if (row["to"] == "other chips") collectives += bytes;
  }
  EXPECT_LE(collectives, sent);
  const auto places = analysis::devicePlaces(of.catalog(), of.context().executable);
  std::map<std::string, std::int32_t> replicaOf;
  for (const model::Device& device : of.catalog().devices)
    replicaOf[device.name] = places.find(device.id)->stages.empty() ? -1 : places.find(device.id)->replica;
  for (const json& row : of["system"]["links"]) {
    const auto from = replicaOf.find(row["from"]), to = replicaOf.find(row["to"]);
    if (collectives == 0 || from == replicaOf.end() || to == replicaOf.end()) continue;
    if (from->second < 0 || to->second < 0 || from->second == to->second) continue;
    EXPECT_TRUE(row["bytes"].is_null() || row["bytes"].get<std::int64_t>() > 0)
        << row["from"] << " → " << row["to"] << " may carry a part of the collectives, so 0 B would be wrong";
  }
  if (!of["system"]["links"].empty()) {
    EXPECT_EQ(links, host);
  }
}

namespace {

/// The ticks of all steps of the call in the first replica, but for launches (control) and the sync of all
/// devices, which belong to no layer.
double ticksOfWork(const Figures& of) {
  std::map<std::int64_t, std::int64_t> ofSegment;
  const auto steps = of.context().source.rows<model::Step>().value();
  for (const model::Step& step : *steps) {
    if (step.kind != StepKind::control) ofSegment[step.segment.value] += step.ticks.count;
  }
  double sum = 0;
  const auto placements = analysis::rowsOfRun<model::Placement>(of.context().source, of.run()).value();
  for (const model::Placement& p : placements) {
    if (p.replica == 0 && p.pass != model::Pass::sync) sum += static_cast<double>(ofSegment[p.segment.value]);
  }
  return sum;
}

}  // namespace

/// Checks that layers together take the time in which the stages compute, copy and update. Where the host
/// launches work (control), that is no work of a layer, and a collective belongs to no stage's passes.
void expectOperationsAgree(const Figures& of) {
  double stages = 0, blocks = 0;
  for (const json& stage : of["stages"]["stages"]) {
    stages += stage["update_cycles"].get<double>();
    for (const char* key : {"busy_cycles", "host_in_cycles", "host_out_cycles", "remote_cycles"})
      stages += static_cast<double>(of.stages().microBatches) * stage[key].get<double>();
  }
  for (const char* table : {"operations", "kinds"}) {
    double shares = 0, cycles = 0;
    for (const json& row : of["operations"][table]) {
      const auto sumOf = [&](std::initializer_list<const char*> keys) {
        double sum = 0;
        for (const char* key : keys) sum += row[key].get<double>();
        return sum;
      };
      const double all = row["cycles"].get<double>();
      EXPECT_NEAR(sumOf({"forward_cycles", "recompute_cycles", "backward_cycles", "weight_gradient_cycles",
                         "update_cycles", "collective_cycles", "copy_cycles"}),
                  all, kRounding)
          << row["name"];
      if (row["peak_share"].is_number()) {
        EXPECT_LE(row["peak_share"].get<double>(), 1 + 0.011)
            << row["name"] << ": no operation exceeds the peak";
      }
      EXPECT_NEAR(sumOf({"compute_cycles", "exchange_cycles", "sync_cycles", "other_cycles"}), all, kRounding)
          << row["name"];
      shares += row["share"].get<double>();
      cycles += all;
    }
    EXPECT_NEAR(shares, 1, 1e-9) << table;
    EXPECT_NEAR(cycles * static_cast<double>(of.trace().iterations.size()), ticksOfWork(of), 1e-6 * cycles)
        << "every step belongs to some row";
  }
  for (const json& block : of["operations"]["blocks"]) blocks += block["cycles"].get<double>();
  const double layers = of["operations"]["cycles"].get<double>();
  EXPECT_LE(blocks, layers * (1 + 1e-9));
  const auto controls = [](const json& engine) { return engine["control_share"].get<double>() > 0; };
  if (std::ranges::any_of(of["engines"]["devices"], controls) || of.replicas() > 1) return;
  // Stages have the mean over all micro-batches; layers have the passes as compiled, which single
  // micro-batches may shorten.
  EXPECT_NEAR(layers, stages, 1e-3 * stages);
}

/// A stage whose costs are given is one box of the graph.
void expectGraphAgrees(const Figures& of) {
  if (of.catalog().target.tickMeaning != model::TickMeaning::cost) return;
  const auto graph = analysis::modelGraph(of.context().source, of.catalog(), of.context().executable);
  ASSERT_TRUE(graph.ok());
  for (const json& stage : of["stages"]["stages"]) {
    const auto node =
        std::ranges::find(graph->nodes, stage["index"].get<std::int32_t>(), &analysis::ModelNode::stage);
    ASSERT_NE(node, graph->nodes.end());
    EXPECT_EQ(static_cast<double>(node->ticks.count),
              static_cast<double>(of.stages().microBatches) * stage["busy_cycles"].get<double>() +
                  stage["update_cycles"].get<double>());
  }
}

/// Checks that programs within a function are counted where it is called: there is no figure for its parts,
/// rather than 0.
void expectProgramsAgree(const Figures& of) {
  const auto rows = sections::programRows(of.context());
  ASSERT_TRUE(rows.ok());
  constexpr std::size_t kType = 2, kCycles = 4;
  std::vector<bool> within(rows->parents.size(), false);
  for (std::size_t i = 0; i < rows->parents.size(); ++i) {
    if (rows->parents[i] < 0) continue;
    const auto parent = static_cast<std::size_t>(rows->parents[i]);
    within[i] = within[parent] || rows->table.rows[parent][kType] == sections::Cell(std::string("Function"));
    const auto* cycles = std::get_if<std::int64_t>(&rows->table.rows[i][kCycles]);
    EXPECT_TRUE(cycles == nullptr ? within[i] : !within[i] || *cycles > 0) << i;
  }
}

/// A copy between devices takes as long in the trees of both devices as in the table of boundaries.
void expectCopiesAgree(const Figures& of) {
  double tree = 0, boundaries = 0;
  std::map<int, int> deviceOf;
  for (const analysis::StageReport& stage : of.stages().stages) deviceOf[stage.index] = stage.device;
  for (const json& row : of["stages"]["boundaries"]) {
    if (deviceOf[row["from_stage"].get<int>()] != deviceOf[row["to_stage"].get<int>()])
      boundaries += 2 * row["cycles"].get<double>();
  }
  const auto nodes =
      analysis::programTree(of.context().source, of.catalog(), of.context().executable).value();
  for (const analysis::ProgramNode& node : nodes) {
    if (node.kind == "GlobalExchange" && !of.catalog().programs[node.id].op.valid())
      tree += static_cast<double>(node.ticks.count);
  }
  EXPECT_EQ(tree, boundaries);
}

namespace {

/// The time of the passes of a stage in which none of its steps but launches runs, per micro-batch.
double launchesOf(const Figures& of, int stage) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;  // keyed by segment
  const auto steps = of.context().source.rows<model::Step>().value();
  for (const model::Step& step : *steps) {
    if (step.kind != StepKind::control)
      spans[step.segment.value].emplace_back(step.offset.count, (step.offset + step.ticks).count);
  }
  double sum = 0;
  const auto placements = analysis::rowsOfRun<model::Placement>(of.context().source, of.run()).value();
  for (const model::Placement& p : placements) {
    if (p.replica != 0 || p.stage != stage || !model::isComputePass(p.pass)) continue;
    auto& own = spans[p.segment.value];
    std::ranges::sort(own);
    std::int64_t gaps = (p.end - p.start).count, reached = 0;
    for (const auto& [from, to] : own) {
      gaps -= std::max<std::int64_t>(0, to - std::max(from, reached));
      reached = std::max(reached, to);
    }
    sum += static_cast<double>(gaps);
  }
  return sum / static_cast<double>(of.trace().iterations.size()) /
         static_cast<double>(of.stages().microBatches);
}

}  // namespace

/// Checks that the reasons for a slow limiting stage do not leave out the time in which its kernels are
/// launched.
void expectLaunchesAgree(const Figures& of) {
  const int stage = of["stages"]["limiting_stage"].get<int>();
  const double launches = launchesOf(of, stage);
  const json& rows = of["stages"]["slowest_operations"];
  const auto row = std::ranges::find_if(rows, [](const json& each) { return each["pass"] == "launch"; });
  if (row != rows.end()) {
    EXPECT_NEAR((*row)["cycles"].get<double>(), launches, 1e-6 * launches);
  } else if (launches > 0) {
    for (const json& each : rows)
      EXPECT_GE(each["cycles"].get<double>(), launches) << "the ten largest are shown";
    EXPECT_EQ(rows.size(), 10U);
  }
}

}  // namespace pipescope::testing

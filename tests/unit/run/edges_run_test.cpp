// Tests the edges between operators that a run records.
#include <map>
#include <set>

#include "profiler/analysis/model/model_graph.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

class EdgesRunTest : public RunFixture {
 protected:
  static std::vector<model::Edge> edgesOf(const Read& profile) {
    const auto rows = profile.source->rows<model::Edge>();
    EXPECT_TRUE(rows.ok());
    std::vector<model::Edge> own;
    for (const model::Edge& row : **rows) {
      if (row.executable == profile.catalog->executables.front().id) own.push_back(row);
    }
    return own;
  }
};

TEST_F(EdgesRunTest, ForwardEdgesAreTheNetworksOwn) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto graph =
      analysis::modelGraph(*profile.source, *profile.catalog, profile.catalog->executables.front().id);
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(graph->edgesKnown);
  // A network without branches: each operator has a producer, except what loads samples and labels.
  std::map<std::size_t, std::set<std::size_t>> into;
  for (const analysis::ModelEdge& edge : graph->edges) {
    EXPECT_LT(edge.from, edge.to) << "the program makes a tensor before it reads it";
    EXPECT_GT(edge.bytes.count, 0);
    into[edge.to].insert(edge.from);
  }
  std::size_t without = 0;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) without += into[i].empty() ? 1 : 0;
  EXPECT_EQ(without, 2U);
  for (const analysis::ModelNode& node : graph->nodes) EXPECT_NE(node.kind, "Stash") << node.name;
}

TEST_F(EdgesRunTest, CutsCarryTheTensorsOfTheBoundaries) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  std::map<model::OperatorId, model::Operator> operators;
  const auto rows = profile.source->rows<model::Operator>();
  ASSERT_TRUE(rows.ok());
  for (const model::Operator& row : **rows) operators.emplace(row.id, row);
  std::set<std::tuple<std::int32_t, std::int32_t, std::string>> cut, boundaries;
  for (const model::Edge& edge : edgesOf(profile)) {
    const model::Operator &from = operators.at(edge.from), &to = operators.at(edge.to);
    if (from.stage != to.stage) cut.emplace(from.stage, to.stage, profile.catalog->namePath(edge.tensor));
  }
  for (const model::Boundary& row : profile.catalog->boundaries) {
    if (row.executable == profile.catalog->executables.front().id)
      boundaries.emplace(row.fromStage, row.toStage, row.tensor);
  }
  EXPECT_FALSE(boundaries.empty());
  EXPECT_EQ(cut, boundaries);
}

/// DualPipe compiles each part of the model for two stages, which run from both ends of the pipeline.
TEST_F(EdgesRunTest, APipelineFromBothEndsHasItsModelOnce) {
  std::vector<std::multiset<std::string>> names, edges, cuts;
  for (const char* schedule : {"1f1b", "dualpipe"}) {
    ASSERT_TRUE(
        run(sample("pipelined", {{"execution.numerics", "false"}, {"execution.schedule", schedule}})).ok())
        << schedule;
    const Read profile = read();
    const auto graph =
        analysis::modelGraph(*profile.source, *profile.catalog, profile.catalog->executables.front().id);
    ASSERT_TRUE(graph.ok());
    names.emplace_back();
    edges.emplace_back();
    cuts.emplace_back();
    for (const analysis::ModelNode& node : graph->nodes) {
      names.back().insert(node.name + " " + std::to_string(node.stage));
      EXPECT_FALSE(graph->mirrors.contains(node.stage)) << "the stage of a copy";
    }
    for (const analysis::ModelEdge& edge : graph->edges) {
      const analysis::ModelNode &from = graph->nodes[edge.from], &to = graph->nodes[edge.to];
      edges.back().insert(from.name + " → " + to.name);
      if (from.stage != to.stage) cuts.back().insert(edge.tensor);
    }
    EXPECT_EQ(graph->mirrors.size(), schedule == std::string("dualpipe") ? 4U : 0U) << "of four places";
  }
  EXPECT_EQ(names[0], names[1]);
  EXPECT_EQ(edges[0], edges[1]);
  EXPECT_EQ(cuts[0], cuts[1]);
}

TEST_F(EdgesRunTest, BackwardOperatorsReadWhatForwardOnesMade) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  std::map<model::OperatorId, model::Pass> passes;
  const auto rows = profile.source->rows<model::Operator>();
  ASSERT_TRUE(rows.ok());
  for (const model::Operator& row : **rows) passes.emplace(row.id, row.pass);
  std::map<std::pair<model::Pass, model::Pass>, int> count;
  for (const model::Edge& edge : edgesOf(profile)) ++count[{passes.at(edge.from), passes.at(edge.to)}];
  EXPECT_GT((count[{model::Pass::backward, model::Pass::backward}]), 0);
  EXPECT_GT((count[{model::Pass::backward, model::Pass::update}]), 0) << "updates read gradients";
  EXPECT_EQ((count[{model::Pass::update, model::Pass::forward}]), 0) << "weights come from no operator";
}

}  // namespace
}  // namespace pipescope::app

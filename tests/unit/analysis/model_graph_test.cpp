// Tests the model as a graph: groups by blocks and parts of names, and what crosses between them.
#include "profiler/analysis/model/model_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pipescope::analysis {
namespace {

/// Two encoder blocks with two operators each, and a head: a → b | c → d → head, and a way around from a to
/// d.
ModelGraph example() {
  ModelGraph graph;
  const auto node = [&](const char* name, const char* block, std::int32_t stage) {
    graph.nodes.push_back({name, "Gemm", block, stage, Ticks(10), 100, Bytes(1'000)});
  };
  node("encoder0/attention/query", "encoder0", 0);
  node("encoder0/output", "encoder0", 0);
  node("encoder1/attention/query", "encoder1", 1);
  node("encoder1/output", "encoder1", 1);
  node("loss", "head", 1);
  const auto edge = [&](std::size_t from, std::size_t to, std::int64_t bytes) {
    graph.edges.push_back({from, to, "t", "2x3 float32", Bytes(bytes), Ticks(from == 1 ? 7 : 0)});
  };
  edge(0, 1, 1);
  edge(1, 2, 2);
  edge(2, 3, 4);
  edge(3, 4, 8);
  edge(0, 3, 16);
  graph.edgesKnown = true;
  return graph;
}

const GraphLink* between(const GraphView& view, const std::string& from, const std::string& to) {
  for (const GraphLink& link : view.links) {
    if (view.boxes[link.from].path == from && view.boxes[link.to].path == to) return &link;
  }
  return nullptr;
}

TEST(ModelGraph, TheRootHasTheBlocks) {
  const GraphView view = graphView(example(), "", 300);
  ASSERT_EQ(view.boxes.size(), 3u);
  EXPECT_EQ(view.boxes[0].path, "encoder0");
  EXPECT_TRUE(view.boxes[0].group);
  EXPECT_EQ(view.boxes[0].stage, 0);
  EXPECT_EQ(view.boxes[0].ticks, Ticks(20));
  EXPECT_EQ(view.boxes[0].memory, Bytes(2'000));
  EXPECT_EQ(view.boxes[2].path, "head/loss") << "the operator's name does not begin with its block";
  const GraphLink* cut = between(view, "encoder0", "encoder1");
  ASSERT_NE(cut, nullptr);
  EXPECT_TRUE(cut->cut);
  EXPECT_EQ(cut->tensors, 2);
  EXPECT_EQ(cut->bytes, Bytes(18));
  EXPECT_EQ(cut->ticks, Ticks(7));
  const GraphLink* within = between(view, "encoder1", "head/loss");
  ASSERT_NE(within, nullptr);
  EXPECT_FALSE(within->cut);
  EXPECT_EQ(within->label, "2x3 float32");
}

TEST(ModelGraph, AnOpenGroupShowsItsNeighbours) {
  const GraphView view = graphView(example(), "encoder1", 300);
  ASSERT_EQ(view.boxes.size(), 4u);
  EXPECT_EQ(view.boxes[0].path, "encoder1/attention/query") << "the only operator of its group";
  EXPECT_EQ(view.boxes[0].name, "attention/query");
  EXPECT_FALSE(view.boxes[0].group);
  EXPECT_EQ(view.boxes[1].path, "encoder1/output");
  EXPECT_FALSE(view.boxes[1].group);
  EXPECT_EQ(view.boxes[1].kind, "Gemm");
  EXPECT_TRUE(view.boxes[2].outside);
  EXPECT_TRUE(view.boxes[3].outside);
  EXPECT_NE(between(view, "encoder0", "encoder1/attention/query"), nullptr);
  EXPECT_NE(between(view, "encoder0", "encoder1/output"), nullptr);
  EXPECT_NE(between(view, "encoder1/output", "head/loss"), nullptr);
}

TEST(ModelGraph, TooManyBoxesAreCounted) {
  const GraphView view = graphView(example(), "", 2);
  EXPECT_EQ(view.boxes.size(), 2u);
  EXPECT_EQ(view.left, 1u);
}

TEST(ModelGraph, ATensorWithSeveralReadersIsSentOnce) {
  ModelGraph graph = example();
  graph.edges.push_back({1, 3, "t", "2x3 float32", Bytes(2), Ticks(7)});  // encoder0's output again
  const GraphView view = graphView(graph, "", 300);
  const GraphLink* cut = between(view, "encoder0", "encoder1");
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(cut->tensors, 2);
  EXPECT_EQ(cut->bytes, Bytes(18));
}

/// Layers of two operators each within one group, and a head.
ModelGraph deepExample(int layers) {
  ModelGraph graph;
  const auto add = [&](const std::string& name, std::int32_t stage) {
    graph.nodes.push_back({name, "Gemm", "", stage, Ticks(10), 100, Bytes(1'000)});
  };
  for (int i = 0; i < layers; ++i) {
    for (const char* name : {"/in", "/out"}) add("model/layer" + std::to_string(i) + name, i < 2 ? 0 : 1);
  }
  add("head/loss", 1);
  return graph;
}

TEST(ModelGraph, AGroupOfMostOperatorsIsShownOpened) {
  const GraphView view = graphView(deepExample(4), "", 300);
  ASSERT_EQ(view.boxes.size(), 5u);
  EXPECT_EQ(view.boxes[0].path, "model/layer0");
  EXPECT_EQ(view.boxes[0].name, "model/layer0");
  EXPECT_EQ(view.boxes[0].nodes.size(), 2u);
  EXPECT_EQ(view.boxes[4].path, "head/loss") << "a group of one operator has its name and type";
  EXPECT_FALSE(view.boxes[4].group);
  EXPECT_EQ(view.boxes[4].kind, "Gemm");
  // So many layers would make the drawing too large.
  EXPECT_EQ(graphView(deepExample(200), "", 300).boxes.size(), 2u);
}

TEST(ModelGraph, GroupsOfSeveralStagesAreShownOpened) {
  ModelGraph graph = example();
  graph.nodes[1].stage = 1;  // encoder0 now lies in two stages
  const GraphView view = graphView(graph, "", 300);
  ASSERT_EQ(view.boxes.size(), 4u);
  EXPECT_EQ(view.boxes[0].path, "encoder0/attention/query");
  EXPECT_EQ(view.boxes[1].path, "encoder0/output");
  EXPECT_NE(between(view, "encoder0/attention/query", "encoder0/output"), nullptr);
}

/// Only the output of encoder0 goes into encoder1, but the box has the name of the group.
TEST(ModelGraph, ANeighbourHasTheFiguresOfItsWholeGroup) {
  ModelGraph graph = example();
  graph.edges.pop_back();
  const GraphView view = graphView(graph, "encoder1", 300);
  const auto neighbour = std::ranges::find(view.boxes, "encoder0", &GraphBox::path);
  ASSERT_NE(neighbour, view.boxes.end());
  EXPECT_TRUE(neighbour->outside);
  EXPECT_EQ(neighbour->ticks, Ticks(20));
  EXPECT_EQ(neighbour->kind, "2 operators");
  EXPECT_EQ(between(view, "encoder0", "encoder1/attention/query")->tensors, 1);
}

TEST(ModelGraph, BlocksOfALayerAcrossStagesDoNotRepeatItsName) {
  EXPECT_EQ(groupOf({"encoder/layer2/attention/query", "Gemm", "encoder/layer2/stage1"}),
            "encoder/layer2/stage1/attention");
}

TEST(ModelGraph, AnOperatorMayHaveTheNameOfItsGroup) {
  ModelGraph graph = example();
  graph.nodes.push_back({"encoder1", "Identity", "encoder1", 1, Ticks(1), 0, Bytes(0)});
  const GraphView view = graphView(graph, "encoder1", 300);
  const auto found = std::find_if(view.boxes.begin(), view.boxes.end(),
                                  [](const GraphBox& box) { return box.path == "encoder1"; });
  ASSERT_NE(found, view.boxes.end());
  EXPECT_FALSE(found->group);
  EXPECT_FALSE(found->outside);
}

TEST(ModelGraph, AnOperatorLiesInItsGroup) {
  const ModelGraph graph = example();
  EXPECT_EQ(groupOf(graph.nodes[0]), "encoder0/attention");
  EXPECT_EQ(groupOf(graph.nodes[4]), "head");
}

}  // namespace
}  // namespace pipescope::analysis

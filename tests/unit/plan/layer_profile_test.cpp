// Tests of the readers of layer profiles: both formats, the order of the layers, and every refusal.
#include "engine/plan/layer_profiles/layer_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <filesystem>

namespace pipescope::plan {
namespace {

constexpr const char* kCosts =
    " -- forward_compute_time=1.5, backward_compute_time=2.25, activation_size=8.000, parameter_size=4.000\n";

std::string layerLine(const std::string& id) {
  return id + " -- Linear(in=1, out=2)" + kCosts;
}

std::vector<std::string> idsOf(const LayerProfile& profile) {
  std::vector<std::string> ids;
  for (const Layer& layer : profile.layers) ids.push_back(layer.id);
  return ids;
}

std::string refusalOf(const std::string& text) {
  const auto profile = parseLayerProfile(text, "p.txt");
  return profile.ok() ? "accepted" : profile.error().message;
}

TEST(LayerProfile, ReadsTheTextOfPipeDream) {
  const std::string text =
      "node2 -- LSTM(2, -- 3) -- forward_compute_time=1.500, backward_compute_time=2.250, "
      "activation_size=[6.0; 2.0; 1.0], parameter_size=50.000\r\n" +
      layerLine("node1") +
      "node3 -- Add -- forward_compute_time=0.000, backward_compute_time=0.000, "
      "activation_size=0.0, parameter_size=0.000 -- stage_id=1\n\n\tnode1 -- node2\n\tnode2 -- node3\n"
      "\tnode1 -- node3\n\tnode1 -- node3\n";
  const auto profile = parseLayerProfile(text, "p.txt");
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(idsOf(*profile), (std::vector<std::string>{"node1", "node2", "node3"}));
  const Layer& lstm = profile->layers[1];
  EXPECT_EQ(lstm.description, "LSTM(2, -- 3)");
  EXPECT_EQ(lstm.forwardMs, 1.5);
  EXPECT_EQ(lstm.backwardMs, 2.25);
  EXPECT_EQ(lstm.activationBytes, 9);
  EXPECT_EQ(lstm.parameterBytes, 50);
  EXPECT_EQ(profile->layers[2].inputs, (std::vector<std::size_t>{0, 1}));
  // The output of node1 (8 bytes) crosses both cuts, however many layers read it; node2's (9) the second.
  EXPECT_EQ(crossingBytes(*profile), (std::vector<double>{0, 8, 17, 0}));
}

TEST(LayerProfile, ReadsCsvWithAndWithoutInputs) {
  const auto row = parseLayerProfile(
      "\xEF\xBB\xBFid,forward_ms,backward_ms,activation_bytes,parameter_bytes,name\n"
      "b,1,2,3,4,\"Conv 3, 5\"\na,5,6,7,8,\"the \"\"last\"\"\"\n",
      "p.csv");
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_EQ(idsOf(*row), (std::vector<std::string>{"b", "a"})) << "each layer reads the one before it";
  EXPECT_EQ(row->layers[0].description, "Conv 3, 5");
  EXPECT_EQ(row->layers[1].description, "the \"last\"");
  const auto graph = parseLayerProfile(
      "node,forward_compute_time,backward_compute_time,activation_size,parameter_size,predecessors\n"
      "3,1,1,[1; 2],0,1;2\n2,1,1,1,0,\n1,1,1,1,0,\n",
      "p.csv");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(idsOf(*graph), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(graph->layers[2].activationBytes, 3);
  EXPECT_EQ(graph->layers[2].inputs, (std::vector<std::size_t>{0, 1}));
}

TEST(LayerProfile, ReadsCsvOfSpreadsheets) {
  for (const char separator : {',', ';', '\t'}) {
    std::string text =
        "ID,Forward (ms),BACKWARD-MS,Activation "
        "Bytes,parameter_bytes,Inputs\r\n1,2,3,4,5,\r\n2,6,7,8,9,1\r\n";
    std::ranges::replace(text, ',', separator);
    const auto profile = parseLayerProfile(text, "p.csv");
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    ASSERT_EQ(profile->layers.size(), 2U);
    EXPECT_EQ(profile->layers[1].forwardMs, 6);
    EXPECT_EQ(profile->layers[1].backwardMs, 7);
    EXPECT_EQ(profile->layers[1].activationBytes, 8);
    EXPECT_EQ(profile->layers[1].parameterBytes, 9);
    EXPECT_EQ(profile->layers[1].inputs, std::vector<std::size_t>{0});
  }
}

TEST(LayerProfile, OrdersLayersByEdgesAndThenByTheValueOfTheirNumbers) {
  std::string text;
  for (const char* id : {"node10", "node9", "node2", "node1", "node11"}) text += layerLine(id);
  // node2 waits for node11, so node9 and node10 come before it.
  const auto profile = parseLayerProfile(text + "\tnode11 -- node2\n", "p.txt");
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(idsOf(*profile), (std::vector<std::string>{"node1", "node9", "node10", "node11", "node2"}));
  EXPECT_TRUE(idBefore("a2b10", "a2b11"));
  EXPECT_TRUE(idBefore("a", "a1"));
  EXPECT_TRUE(idBefore("a9", "b1"));
  EXPECT_TRUE(idBefore("a01", "a1"));
  EXPECT_FALSE(idBefore("a1", "a1"));
  EXPECT_TRUE(idBefore("9", "123456789012345678901234567890"));
}

TEST(LayerProfile, RefusesWhatItCannotUse) {
  const std::string one = layerLine("node1"), two = one + layerLine("node2");
  const std::pair<std::string, const char*> cases[] = {
      {"", "p.txt is empty"},
      {" \n\t\r\n", "p.txt is empty"},
      {std::string("node1\0 -- ", 10), "not a text file"},
      {"\tnode1 -- node2\n", "p.txt has no layers"},
      {one + one, "p.txt, line 2: the id node1 already stands in line 1"},
      {two + "\tnode1 -- node7\n",
       "line 3: the edge from node1 to node7 names a layer that the file does not"},
      {two + "\tnode1 -- node2\n\tnode2 -- node1\n", "p.txt has a cycle, from node"},
      {one + "\tnode1 -- node1\n", "has a cycle, from node1 to node1"},
      {two + "\tnode1\n", "line 3: an edge needs \"ID -- ID\""},
      {"node1 -- Conv\n", "line 1: a layer needs"},
      {" -- x" + std::string(kCosts), "an edge needs"},
      {"node1 -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=3\n",
       "line 1: parameter_size=… is missing"},
      {"node1 -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=[3; 4\n",
       "has no closing bracket"},
      {"node1 -- x -- forward_compute_time=1, backward_compute_time=",
       "backward_compute_time must be a number"},
      {"node1 -- x -- forward_compute_time=nan, backward_compute_time=2, activation_size=3, "
       "parameter_size=4\n",
       "forward_compute_time must be a number between 0 and 1e15, but is \"nan\""},
      {"node1 -- x -- forward_compute_time=1, backward_compute_time=-2, activation_size=3, "
       "parameter_size=4\n",
       "but is \"-2\""},
      {"node1 -- x -- forward_compute_time=inf, backward_compute_time=2, activation_size=3, "
       "parameter_size=4\n",
       "but is \"inf\""},
      {"node1 -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=3, parameter_size=4, "
       "more=5\n",
       "nothing may follow parameter_size"},
      {"id,forward_ms,backward_ms,activation_bytes\n1,2,3,4\n",
       "line 1: the column parameter_bytes is missing"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes,speed\n", "heading \"speed\" is unknown"},
      {"id,node,forward_ms,backward_ms,activation_bytes,parameter_bytes\n",
       "heading \"node\" is there twice"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes\n", "has no layers"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes\na,1,2,3\n", "line 2: there are 4 fields"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes\n,1,2,3,4\n",
       "line 2: the layer has no id"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes\n\"a,1,2,3,4\n", "a quote is not closed"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes\na,1,,3,4\n",
       "backward_ms must be a number"},
      {"id,forward_ms,backward_ms,activation_bytes,parameter_bytes,inputs\na,1,2,3,4,b\n",
       "names a layer that the file does not have: b"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(refusalOf(text).find(part), std::string::npos) << refusalOf(text);
  EXPECT_NE(readLayerProfile("/no/such/file").error().message.find("no such file"), std::string::npos);
  EXPECT_NE(readLayerProfile(std::filesystem::temp_directory_path()).error().message.find("it is a folder"),
            std::string::npos);
}

// Any text, cut at any place, is read or refused.
TEST(LayerProfile, AnswersEveryCutOfAFile) {
  const std::string text = layerLine("node1") + layerLine("node2") + "\tnode1 -- node2\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto profile = parseLayerProfile(std::string_view(text).substr(0, length), "p.txt");
    const std::string message = profile.ok() ? "p.txt" : profile.error().message;
    EXPECT_NE(message.find("p.txt"), std::string::npos);
  }
}

}  // namespace
}  // namespace pipescope::plan

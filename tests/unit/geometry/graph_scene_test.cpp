// Tests the drawing of graphs whose boxes have many readers, and the rule by which arcs have labels.
#include <gtest/gtest.h>

#include <algorithm>

#include "profiler/geometry/graph_scene.h"

namespace pipescope::geometry {
namespace {

bool meet(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

std::ptrdiff_t labelled(const Shapes& shapes, const std::string& text) {
  return std::ranges::count_if(shapes.labels, [&](const Label& label) { return label.text == text; });
}

/// Layers below each other. The first one makes a mask that all others read.
struct Decoder {
  explicit Decoder(std::size_t layers, std::size_t perStage) {
    for (std::size_t i = 0; i < layers; ++i)
      boxes.push_back({"decoder/layer" + std::to_string(i), "", ColourRole::series,
                       static_cast<int>(i / perStage), false});
    for (std::size_t i = 0; i + 1 < layers; ++i)
      arcs.push_back({i, i + 1, "8x8 float16", boxes[i].region != boxes[i + 1].region, "1 MiB", "1 MiB"});
    for (std::size_t i = 2; i < layers; ++i)
      arcs.push_back({0, i, "mask", boxes[i].region != 0, "9 MiB", "9 MiB"});
  }
  std::vector<SceneBox> boxes;
  std::vector<SceneArc> arcs;
};

TEST(GraphScene, AMaskOfAllLayersIsWrittenBesideThem) {
  constexpr std::size_t kLayers = 16;
  const Decoder decoder(kLayers, 4);
  const GraphScene scene(decoder.boxes, decoder.arcs);
  for (std::size_t a = 0; a < decoder.arcs.size(); ++a)
    EXPECT_EQ(scene.isNote(a), a >= kLayers - 1) << "arc " << a;
  for (std::size_t a = 0; a < decoder.arcs.size(); ++a)
    EXPECT_EQ(scene.layout().arcs[a].empty(), scene.isNote(a)) << "a note takes no room for a line";
  const GraphPlace place{1, 150, 10};
  constexpr int kWide = 4'000, kTall = 3'000;
  const Shapes shapes = scene.draw(place, kWide, kTall, {}, -1);
  const auto names = [](const Label& label) { return label.text.ends_with("/layer0"); };
  EXPECT_EQ(std::ranges::count_if(shapes.labels, names), static_cast<std::ptrdiff_t>(kLayers - 1))
      << "the box itself, and each of the other readers says whose mask it reads";
  EXPECT_EQ(labelled(shapes, "decoder/layer0"), 1);
  for (const Label& label : shapes.labels) {
    if (!names(label) || label.text == "decoder/layer0") continue;
    for (int i = 0; i < static_cast<int>(kLayers); ++i)
      EXPECT_FALSE(meet(label.box, scene.boxOf(place, i))) << "the note lies over box " << i;
  }
}

TEST(GraphScene, NamesOfOneGroupHaveTheSameParts) {
  std::vector<SceneBox> boxes;
  for (const char* name : {"input", "decoder/layer9", "decoder/layer10"})
    boxes.push_back({name, "", ColourRole::series, -1, false});
  const GraphScene scene(boxes, {{0, 1, "", false}, {1, 2, "", false}});
  // At this scale a box has room for 14 letters of 7 pixels, and for its padding.
  const GraphPlace place{(14 * 7 + 6 + 0.5) / GraphScene::kBoxWidth, 5, 5};
  const Shapes shapes = scene.draw(place, 800, 600, {}, -1);
  EXPECT_EQ(labelled(shapes, "…/layer9"), 1);
  EXPECT_EQ(labelled(shapes, "…/layer10"), 1);
  EXPECT_EQ(labelled(shapes, "input"), 1);
  EXPECT_EQ(labelled(scene.draw({1, 5, 5}, 800, 600, {}, -1), "decoder/layer9"), 1);
}

TEST(GraphScene, TwoLinesOfTextKeepOffTheEdgesOfTheirBox) {
  const GraphScene scene({{"name", "3 ms", ColourRole::series, -1, false}}, {});
  for (int height = kLowestText; height < 2 * GraphScene::kBoxHeight; ++height) {
    const GraphPlace place{static_cast<double>(height) / GraphScene::kBoxHeight, 5, 5};
    const Shapes shapes = scene.draw(place, 800, 600, {}, -1);
    const int drawn = scene.boxOf(place, 0).height;
    EXPECT_EQ(labelled(shapes, "3 ms"), drawn > 2 * kLowText + 1 ? 1 : 0) << drawn;
  }
}

TEST(GraphScene, TheNotesOfTheMarkedBoxAreLines) {
  constexpr std::size_t kLayers = 16;
  const Decoder decoder(kLayers, kLayers);
  const GraphScene scene(decoder.boxes, decoder.arcs);
  const auto linesWith = [&](int marked) {
    return scene.draw(scene.whole(800, 600), 800, 600, {}, marked).lines.size();
  };
  constexpr std::size_t kOfLine = 3;  // the line, and two of its head
  EXPECT_EQ(linesWith(0), linesWith(-1) + kOfLine * (kLayers - 2));
  EXPECT_EQ(linesWith(5), linesWith(-1) + kOfLine) << "a reader has one of them";
  EXPECT_EQ(linesWith(1), linesWith(-1)) << "its arc is drawn anyway";
}

TEST(GraphScene, FewReadersKeepTheirLines) {
  std::vector<SceneBox> boxes(8, {"n", "", ColourRole::series, -1, false});
  std::vector<SceneArc> arcs;
  for (std::size_t i = 0; i + 1 < boxes.size(); ++i) arcs.push_back({i, i + 1, "", false});
  for (std::size_t i = 2; i < 2 + GraphScene::kMostFarArcs; ++i) arcs.push_back({0, i, "", false});
  const GraphScene few(boxes, arcs);
  for (std::size_t a = 0; a < arcs.size(); ++a) EXPECT_FALSE(few.isNote(a));
  arcs.push_back({0, 2 + GraphScene::kMostFarArcs, "", false});
  EXPECT_TRUE(GraphScene(boxes, arcs).isNote(arcs.size() - 1));
}

TEST(GraphScene, ManyWritersOfOneBoxAreNotesToo) {
  std::vector<SceneBox> boxes;
  std::vector<SceneArc> arcs;
  for (int i = 0; i < 12; ++i) boxes.push_back({"layer" + std::to_string(i), "", ColourRole::series, -1});
  for (std::size_t i = 0; i + 1 < boxes.size(); ++i) arcs.push_back({i, i + 1, "", false});
  for (std::size_t i = 0; i < 10; ++i) arcs.push_back({i, 11, "", false});  // the losses of all layers
  const GraphScene scene(boxes, arcs);
  const Shapes shapes = scene.draw({1, 150, 10}, 2'000, 2'000, {}, -1);
  EXPECT_EQ(labelled(shapes, "layer11"), static_cast<std::ptrdiff_t>(11)) << "the box and ten notes";
}

/// Two stages of two boxes each, one below the other, with plain arcs within and a cut between them.
std::vector<SceneBox> twoStages() {
  std::vector<SceneBox> boxes(4, {"n", "", ColourRole::series, 0, false});
  boxes[2].region = boxes[3].region = 1;
  return boxes;
}

TEST(GraphScene, PlainLabelsStandWithinTheirStageOrBesideIt) {
  const std::string whole = "2x384x1024x1024 float32 and more text", sizes = "2x384";
  const GraphScene scene(twoStages(),
                         {{0, 1, whole, false, sizes}, {1, 2, "cut", true}, {2, 3, "2 int", false}});
  const GraphPlace place{1, 500, 10};
  const Shapes shapes = scene.draw(place, 1'200, 600, {}, -1);
  EXPECT_EQ(labelled(shapes, whole), 0) << "it would reach over the edge of its stage";
  EXPECT_EQ(labelled(shapes, sizes), 1);
  EXPECT_EQ(labelled(shapes, "2 int"), 1) << "it has no shorter text";
  for (const Label& label : shapes.labels) {
    for (const auto& [role, ground] : shapes.grounds) {
      const bool inside = label.box.x >= ground.x && label.box.right() <= ground.right() &&
                          label.box.y >= ground.y && label.box.bottom() <= ground.bottom();
      EXPECT_TRUE(inside || !meet(label.box, ground)) << label.text;
    }
  }
}

TEST(GraphScene, CutsHaveTheTextThatAllOfThemHaveRoomFor) {
  // The arrow of the first cut has room for its whole text, that of the second has not: it ends at the
  // canvas.
  const std::string whole = "1x2x3x4x5x6x7x8x9 float32 · 1.50 MiB · 73.4 k cycles",
                    amount = "1.50 MiB · 73.4 k cycles", bytes = "1.50 MiB";
  std::vector<SceneBox> boxes(3, {"n", "", ColourRole::series, 0, false});
  boxes[1].region = 1;
  boxes[2].region = 2;
  const auto drawn = [&](int width) {
    const GraphScene scene(boxes, {{0, 1, whole, true, amount, bytes}, {1, 2, whole, true, amount, bytes}});
    const GraphPlace place{1, (width - GraphScene::kBoxWidth) / 2.0, 10};
    return scene.draw(place, width, 600, {}, -1);
  };
  const TextMeasure measure;
  EXPECT_EQ(labelled(drawn(2 * measure.width(whole) + 60), whole), 2);
  EXPECT_EQ(labelled(drawn(2 * measure.width(amount) + 60), amount), 2);
  EXPECT_EQ(labelled(drawn(2 * measure.width(bytes) + 60), bytes), 2);
}

TEST(GraphScene, TheWholeGraphIsShownWithItsGrounds) {
  const GraphScene scene(twoStages(), {{0, 1, "", false}, {1, 2, "", true}, {2, 3, "", false}});
  for (const auto& [width, height] : {std::pair{400, 300}, {1'300, 560}, {3'600, 1'400}, {300, 1'400}}) {
    const Shapes shapes = scene.draw(scene.whole(width, height), width, height, {}, -1);
    ASSERT_EQ(shapes.grounds.size(), 2U);
    for (const auto& [role, ground] : shapes.grounds) {
      EXPECT_GT(ground.x, 0) << width;
      EXPECT_GT(ground.y, 0) << width;
      EXPECT_LT(ground.right(), width);
      EXPECT_LT(ground.bottom(), height);
    }
  }
}

TEST(GraphScene, NamesOfStagesStandBesideLowGrounds) {
  const GraphScene scene(twoStages(), {{0, 1, "", false}, {1, 2, "", true}, {2, 3, "", false}});
  constexpr double kSmall = 0.4;  // the upper edge of a ground is too low for text
  const Shapes shapes = scene.draw({kSmall, 200, 100}, 800, 600, {}, -1);
  ASSERT_EQ(shapes.grounds.size(), 2U);
  for (const std::string name : {"stage 0", "stage 1"}) {
    EXPECT_EQ(labelled(shapes, name), 1) << name;
    for (const Label& label : shapes.labels) {
      for (const auto& [role, ground] : shapes.grounds)
        EXPECT_FALSE(label.text == name && meet(label.box, ground)) << name;
    }
  }
}

}  // namespace
}  // namespace pipescope::geometry

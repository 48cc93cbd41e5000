#include "profiler/geometry/shapes.h"

#include <gtest/gtest.h>

#include <set>

#include "profiler/geometry/charts/bars.h"

namespace pipescope::geometry {
namespace {

/// A font in which every character is 10 wide.
TextMeasure tenWide() {
  TextMeasure measure;
  measure.width = [](const std::string& text) {
    int characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    return characters * 10;
  };
  measure.averageCharacter = 10;
  return measure;
}

TEST(Shapes, TextIsCutToItsBox) {
  const TextMeasure measure = tenWide();
  EXPECT_EQ(fitText("Convolve", 80, measure), "Convolve");
  EXPECT_EQ(fitText("Convolve", 79, measure), "Convol…");
  EXPECT_EQ(fitText("Convolve", 40, measure), "Con…");
  EXPECT_EQ(fitText("Convolve", 39, measure), "") << "two letters say nothing";
  EXPECT_EQ(fitText("F3", 20, measure), "F3");
  EXPECT_EQ(fitText("F3", 19, measure), "");
  EXPECT_EQ(fitText("", 100, measure), "");
  EXPECT_EQ(fitText("x", -5, measure), "");
}

TEST(Shapes, TextIsNeverCutWithinACharacter) {
  const TextMeasure measure = tenWide();
  const std::string text = "µµµµµµµµ";
  for (int width = 0; width <= 90; ++width) {
    const std::string fitted = fitText(text, width, measure);
    EXPECT_LE(measure.width(fitted), std::max(0, width));
    for (std::size_t i = 0; i + 3 < fitted.size() && fitted != text; i += 2)
      EXPECT_EQ(fitted.substr(i, 2), "µ");
  }
}

TEST(Shapes, PathsLoseTheirBeginningFirst) {
  const TextMeasure measure = tenWide();
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 200, measure), "layer1/conv/Convolve");
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 199, measure), "…/conv/Convolve");
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 100, measure), "…/Convolve");
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 90, measure), "Convolve");
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 60, measure), "Convo…");
  EXPECT_EQ(fitPath("layer1/conv/Convolve", 10, measure), "");
}

TEST(Shapes, EveryRoleHasAKeyOfItsOwn) {
  std::set<std::string> keys;
  for (std::size_t i = 0; i < kColourRoles; ++i) keys.insert(roleKey(static_cast<ColourRole>(i)));
  EXPECT_EQ(keys.size(), kColourRoles);
  EXPECT_EQ(roleKey(ColourRole::compute), "step.compute");
  EXPECT_EQ(roleKey(ColourRole::waitSlowerStage), "wait.slower_stage");
  EXPECT_EQ(roleKey(ColourRole::hostOutTransfer), "transfer.host_out");
  EXPECT_EQ(roleKey(microBatchRole(33, false)), "micro_batch.3");
  EXPECT_EQ(roleKey(microBatchRole(9, true)), "micro_batch_backward.9");
  EXPECT_EQ(roleKey(seriesRole(13)), "series.13");
  EXPECT_EQ(roleKey(seriesRole(25)), "series.1");
  EXPECT_EQ(roleKey(ColourRole::idle), "idle");
}

TEST(Shapes, ValuesOfNewerFilesAreNeutral) {
  EXPECT_EQ(roleOf(static_cast<model::StepKind>(77)), ColourRole::otherKind);
  EXPECT_EQ(roleOf(static_cast<model::StepKind>(77), true), ColourRole::otherKindGroup);
  EXPECT_EQ(roleOf(static_cast<model::Pass>(77)), ColourRole::otherPass);
  EXPECT_EQ(roleOf(static_cast<model::WaitCause>(77)), ColourRole::otherWait);
  EXPECT_EQ(roleOf(static_cast<model::TransferKind>(255)), ColourRole::otherTransfer);
  EXPECT_EQ(roleOf(model::StepKind::remoteCopy), ColourRole::remoteCopy);
  EXPECT_EQ(roleOf(model::WaitCause::update), ColourRole::waitUpdate);
  EXPECT_EQ(roleOf(model::TransferKind::remote), ColourRole::remoteTransfer);
  EXPECT_EQ(roleOf(model::Pass::remote), ColourRole::remotePass);
}

TEST(Bars, PartsAddUpToTheBar) {
  std::vector<Bar> bars(2);
  for (int i = 0; i < 7; ++i) bars[0].parts.push_back({seriesRole(i), 1.0, "", false});
  bars[1].parts = {{seriesRole(0), 3.5, "", false}};
  const StackedBars chart(bars, {100, 20, 10, 0});
  int sum = 0;
  for (int part = 0; part < 7; ++part) {
    const Box box = chart.boxOf({0, part});
    EXPECT_EQ(box.x, sum) << "parts follow each other";
    sum += box.width;
  }
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(chart.boxOf({1, 0}).width, 50);
  EXPECT_EQ(chart.boxOf({1, 0}).y, 30);
  EXPECT_EQ(chart.height(), 50);
}

TEST(Bars, PointingFindsTheLastPart) {
  std::vector<Bar> bars(1);
  bars[0].parts = {{seriesRole(0), 1, "", false}, {seriesRole(1), 3, "", false}};
  const StackedBars chart(bars, {100, 20, 10, 8});
  EXPECT_EQ(chart.hit(5, 5), (BarHit{0, 0}));
  EXPECT_EQ(chart.hit(30, 5), (BarHit{0, 1}));
  EXPECT_EQ(chart.hit(60, 5), BarHit{}) << "beyond the bar, which ends at half of the scale";
  EXPECT_EQ(chart.hit(5, 19), (BarHit{0, 0})) << "the last row of the bar's pixels";
  EXPECT_EQ(chart.hit(5, 20), BarHit{}) << "just below it";
  EXPECT_EQ(chart.hit(5, 25), BarHit{}) << "between bars";
  EXPECT_EQ(chart.hit(5, 35), BarHit{}) << "below the last bar";
  EXPECT_EQ(chart.hit(-1, 5), BarHit{});
}

TEST(Bars, LabelsAreDrawnWholeOrNotAtAll) {
  std::vector<Bar> bars(1);
  bars[0].parts = {{ColourRole::forward, 60, "12,345", false}, {ColourRole::waitFill, 40, "1,234,567", true}};
  const Shapes shapes = StackedBars(bars, {150, 20, 10, 0}).draw(tenWide());
  ASSERT_EQ(shapes.labels.size(), 1U);
  EXPECT_EQ(shapes.labels[0].text, "12,345");
  EXPECT_EQ(shapes.hatches.size(), 1U);
  EXPECT_EQ(shapes.fillCount(), 1U);
}

TEST(Bars, HostileValuesCountAsNothing) {
  std::vector<Bar> bars(1);
  bars[0].parts = {{seriesRole(0), -5, "", false},
                   {seriesRole(1), std::numeric_limits<double>::infinity(), "", false},
                   {seriesRole(2), std::numeric_limits<double>::quiet_NaN(), "", false},
                   {seriesRole(3), 2, "", false}};
  const StackedBars chart(bars, {100, 20, 10, 0});
  EXPECT_DOUBLE_EQ(bars[0].total(), 2);
  EXPECT_EQ(chart.boxOf({0, 3}).width, 100);
  EXPECT_EQ(StackedBars({}, {100, 20, 10, 0}).height(), 0);
  EXPECT_EQ(StackedBars(std::vector<Bar>(1), {100, 20, 10, 0}).draw(tenWide()).fillCount(), 0U);
}

TEST(Shapes, WordsThatDoNotFitLoseTheFirstOnes) {
  const TextMeasure measure;  // seven pixels a character
  EXPECT_EQ(fitLastWords("training epoch 1 call 12", 24 * 7, measure), "training epoch 1 call 12");
  EXPECT_EQ(fitLastWords("training epoch 1 call 12", 24 * 7 - 1, measure), "epoch 1 call 12");
  EXPECT_EQ(fitLastWords("training epoch 1 call 12", 7 * 7, measure), "call 12");
  EXPECT_EQ(fitLastWords("training epoch 1 call 12", 9 * 7, measure), "call 12") << "not \"1 call 12\"";
  EXPECT_EQ(fitLastWords("training epoch 1 call 12", 2 * 7, measure), "12");
  EXPECT_EQ(fitLastWords("training", 5 * 7, measure), fitText("training", 5 * 7, measure));
  EXPECT_EQ(fitLastWords("training", 0, measure), "");
}

}  // namespace
}  // namespace pipescope::geometry

// The evidence that the interval of a step is made of: a replay, a calibration, whole steps, or single
// layers.
#include "profiler/figures/step_interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profiler/analysis/model/error_bands.h"
#include "profiler/analysis/pipeline/stages.h"

namespace pipescope::figures {
namespace {

constexpr double kEightyShare = 1.2816;  // standard deviations that hold 80 % of a normal distribution

/// A step of 100 ticks of an executable on a modelled device, of which 20 pass without compute.
struct ModelledStep {
  explicit ModelledStep(model::ExecutableKind kind) {
    catalog.target.tickMeaning = model::TickMeaning::time;
    model::Device device;
    device.kind = "gaudi2";
    catalog.devices.push_back(device);
    model::Executable executable;
    executable.id = model::ExecutableId(0);
    executable.kind = kind;
    executable.replicas = 1;
    catalog.executables.push_back(executable);
    catalog.properties.push_back({"figure.clock", "1; grade D"});
    stages.stages.emplace_back().busy = 80;
    stages.limitingStage = 0;
    stages.stepsKnown = true;
    stages.lost.step = 100;
    stages.lost.exchangeUpdateHost = 20;
    from.catalog = &catalog;
    from.stages = &stages;
    from.placed = true;
    from.executable = model::ExecutableId(0);
  }
  ModelledStep(const ModelledStep&) = delete;  // `from` refers to its own members
  ModelledStep& operator=(const ModelledStep&) = delete;

  void compared(const std::string& kind, const std::string& quantity, const std::string& figures) {
    catalog.properties.push_back({"band.gaudi2." + kind + "." + quantity, figures});
  }
  FigureInterval interval() const {
    const auto found = stepInterval(from);
    EXPECT_TRUE(found);
    return found.value_or(FigureInterval{});
  }
  std::string basis() const { return interval().basis; }

  analysis::Catalog catalog;
  analysis::StagesReport stages;
  Analyses from;
};

struct Centre {
  double bias = 0, spread = 0;
};
Centre centreOf(const FigureInterval& interval) {
  const double least = std::log(interval.factors.least), most = std::log(interval.factors.most);
  return {(least + most) / 2, (most - least) / 2 / kEightyShare};
}

constexpr const char* kFewPoints = "30 points, |ln| median 0.05, p90 0.1, bias +0";

TEST(StepEvidence, InferenceIsComparedWithItsPhase) {
  ModelledStep step(model::ExecutableKind::inference);
  step.compared("prefill", "time", kFewPoints);
  EXPECT_EQ(step.basis(), "prefills: 30 compared points on gaudi2");
  step.catalog.properties.push_back({"tokens_per_sample.0", "1"});
  EXPECT_EQ(step.basis(), "prefills: 30 compared points on gaudi2") << "the nearest that was compared";
  step.compared("decoding step", "time", "1 points, |ln| median 0.05, bias +0");
  EXPECT_EQ(step.basis(), "decoding steps: 1 compared point on gaudi2");
  step.catalog.properties[2].value = "2";
  EXPECT_EQ(step.basis(), "prefills: 30 compared points on gaudi2");
  ModelledStep decoder(model::ExecutableKind::inference);
  decoder.compared("decoding step", "time", kFewPoints);
  EXPECT_EQ(decoder.basis(), "decoding steps: 30 compared points on gaudi2");
}

TEST(StepEvidence, TrainingIsNotComparedWithInference) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("prefill", "time", kFewPoints);
  step.compared("decoding step", "time", kFewPoints);
  step.stages.stages[0].ticksOfKinds = {{"Softmax", 80}};
  EXPECT_EQ(step.basis(), "nothing that was compared: it counts as off by up to a factor of 1.5");
  EXPECT_NEAR(step.interval().factors.most, 1.5, 0.01);
  EXPECT_NEAR(step.interval().factors.least, 1 / 1.5, 0.01);
}

/// A box is 4 % slower than emulated beside what one card is, and both errors are independent.
TEST(StepEvidence, SeveralReplicasAddTheErrorOfScaling) {
  for (const int replicas : {1, 2}) {
    ModelledStep step(model::ExecutableKind::training);
    step.catalog.executables[model::ExecutableId(0)].replicas = replicas;
    step.compared("training step", "time", "400 points, |ln| median 0.1, p90 0.2, bias -0.1");
    step.compared("training on a box", "speed", "400 points, |ln| median 0.04, p90 0.2, bias +0.04");
    const std::vector<analysis::ErrorBand> bands = analysis::errorBandsOf(step.catalog);
    ASSERT_EQ(bands.size(), 2U);
    const double own = errorOf(bands[0]).spread, more = errorOf(bands[1]).spread;
    const Centre centre = centreOf(step.interval());
    EXPECT_NEAR(centre.bias, replicas == 1 ? 0.1 : 0.14, 2e-3);
    EXPECT_NEAR(centre.spread, replicas == 1 ? own : std::sqrt(own * own + more * more), 2e-3);
    EXPECT_EQ(step.basis().find("; training on a box: 400 compared points on gaudi2") != std::string::npos,
              replicas == 2);
  }
}

/// Convolutions are three quarters of the compute, which is four fifths of the step: 60 % were compared.
TEST(StepEvidence, LayersCountByTheirShareOfTheStep) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("convolution", "cycles", kFewPoints);
  step.compared("pooling", "total_bytes", kFewPoints);
  step.stages.stages[0].ticksOfKinds = {{"Conv2d", 40}, {"ConvGrad", 20}, {"MaxPool", 15}, {"Softmax", 5}};
  const analysis::ErrorBand convolutions = analysis::errorBandsOf(step.catalog)[0];
  const auto expectCompared = [&](double share, const char* text) {
    const FigureInterval found = step.interval();
    const IntervalFactors own = intervalOf({errorOf(convolutions, share), uncheckedError(1 - share)});
    EXPECT_NEAR(found.factors.least, own.least, 1e-9) << share;
    EXPECT_NEAR(found.factors.most, own.most, 1e-9) << share;
    EXPECT_NE(found.basis.find(text), std::string::npos) << found.basis;
  };
  expectCompared(0.6, "(60 % of the step)");
  // Compute that belongs to no operation was not compared.
  step.stages.stages[0].busy = 120;
  expectCompared(0.4, "(40 % of the step)");
  // The times of operations that overlap add up to more than the time in which the stage is busy.
  step.stages.stages[0].busy = 40;
  expectCompared(0.6, "(60 % of the step)");
  step.stages.lost.exchangeUpdateHost = 60;
  expectCompared(0.3, "(30 % of the step)");
  // A step that is all exchange has no part that was compared.
  step.stages.lost.exchangeUpdateHost = 130;
  EXPECT_EQ(step.basis().substr(0, 26), "nothing that was compared:");
  step.stages.lost.exchangeUpdateHost = -50;
  expectCompared(0.75, "(75 % of the step)");
}

TEST(StepEvidence, AStepThatIsComparedAsAWholeHasNoRest) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("convolution", "cycles", kFewPoints);
  step.stages.lost.exchangeUpdateHost = 0;
  step.stages.stages[0].ticksOfKinds = {{"Conv2d", 80}};
  const Centre centre = centreOf(step.interval());
  EXPECT_NEAR(centre.spread, errorOf(analysis::errorBandsOf(step.catalog)[0]).spread, 2e-3);
  EXPECT_NE(step.basis().find("(100 % of the step)"), std::string::npos);
}

TEST(StepEvidence, WithoutOperationsThereIsNone) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("convolution", "cycles", kFewPoints);
  EXPECT_FALSE(stepInterval(step.from));
  EXPECT_EQ(keptInterval(step.from), "");
  step.stages.stages[0].ticksOfKinds = {{"Conv2d", 80}};
  EXPECT_TRUE(stepInterval(step.from));
  step.stages.limitingStage = -1;
  EXPECT_FALSE(stepInterval(step.from));
}

TEST(StepEvidence, AReplayKeepsTheIntervalOfItsProfile) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("training step", "time", kFewPoints);
  const FigureInterval own = step.interval();
  const std::string kept = keptInterval(step.from);
  step.catalog.properties.push_back({"replay.0.step_interval", kept});
  std::string& text = step.catalog.properties.back().value;
  EXPECT_NEAR(step.interval().factors.least, own.factors.least, 1e-12);
  EXPECT_NEAR(step.interval().factors.most, own.factors.most, 1e-12);
  EXPECT_EQ(step.basis(), own.basis);
  text = "0.5 2.5 two words";
  EXPECT_EQ(step.interval().factors.least, 0.5);
  EXPECT_EQ(step.interval().factors.most, 2.5);
  EXPECT_EQ(step.basis(), "two words");
  text = "1 1 exact";
  EXPECT_EQ(step.basis(), "exact");
  // The step keeps the interval of its own figures if the text is no interval.
  for (const char* wrong : {"", "0.5", "0.5 2.5", "x 2.5 words", "0.5 x words", "0 2.5 words", "-1 2.5 words",
                            "2.5 0.5 words", "  words"}) {
    text = wrong;
    EXPECT_EQ(step.basis(), own.basis) << wrong;
  }
}

TEST(StepEvidence, ACalibrationIsWorthMoreThanBands) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("training step", "time", kFewPoints);
  const std::string compared = step.basis();
  step.catalog.properties.push_back({"figure.step_error", "0.02; grade M"});
  std::string& text = step.catalog.properties.back().value;
  EXPECT_EQ(step.basis(), "the device's calibration");
  EXPECT_NEAR(centreOf(step.interval()).spread, 0.02, 1e-4);
  for (const char* wrong : {"0; grade M", "-0.02; grade M", "none"}) {
    text = wrong;
    EXPECT_EQ(step.basis(), compared) << wrong;
  }
}

TEST(StepEvidence, GivenAndRecordedTimesHaveNoError) {
  ModelledStep step(model::ExecutableKind::training);
  step.compared("training step", "time", kFewPoints);
  EXPECT_TRUE(isModelled(step.catalog));
  step.catalog.target.tickMeaning = model::TickMeaning::cost;
  EXPECT_TRUE(hasGivenCosts(step.catalog));
  EXPECT_FALSE(stepInterval(step.from));
  step.catalog.target.tickMeaning = model::TickMeaning::time;
  // Without a clock and without a model's figures, all costs came from the configuration.
  step.catalog.properties[0].key = "other";
  EXPECT_TRUE(hasGivenCosts(step.catalog));
  EXPECT_FALSE(stepInterval(step.from));
  step.catalog.devices.begin()->clock = "1 GHz";
  EXPECT_FALSE(hasGivenCosts(step.catalog));
  EXPECT_TRUE(stepInterval(step.from));
  step.catalog.properties.push_back({"imported_from", "pytorch"});
  EXPECT_FALSE(hasGivenCosts(step.catalog));
  EXPECT_FALSE(isModelled(step.catalog));
}

TEST(ErrorShares, ExactFiguresAreAheadOrNot) {
  const PartError exact{1, 0, 0};
  EXPECT_EQ(shareAhead(1, exact, exact, 0), 0.5) << "equal figures";
  EXPECT_EQ(shareAhead(1.01, exact, exact, 0), 1);
  EXPECT_EQ(shareAhead(0.99, exact, exact, 0), 0);
  EXPECT_EQ(shareBelow(exact, 1), 1) << "at most as large as itself";
  EXPECT_EQ(shareBelow(exact, 1.01), 1);
  EXPECT_EQ(shareBelow(exact, 0.99), 0);
  // A figure that is emulated a fifth too high is truly that much lower.
  const PartError high{1, std::log(1.2), 0};
  EXPECT_EQ(shareAhead(0.9, high, exact, 0), 1);
  EXPECT_EQ(shareAhead(0.8, high, exact, 0), 0);
  EXPECT_EQ(shareAhead(1.1, exact, high, 0), 0);
  EXPECT_EQ(shareBelow(high, 0.9), 1);
  EXPECT_EQ(shareBelow(high, 0.8), 0);
  // Equal errors that are wholly correlated cancel out.
  const PartError tenth{1, 0, 0.1};
  EXPECT_EQ(shareAhead(1.0001, tenth, tenth, 1), 1);
}

}  // namespace
}  // namespace pipescope::figures

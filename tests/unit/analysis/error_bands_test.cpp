// Checks error bands and the use of floating-point operations against results worked out by hand.
#include "profiler/analysis/model/error_bands.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profiler/analysis/model/flop_use.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
namespace {

/// Two devices with one stage each. They have 10⁹ ticks per second, and a call takes 1,000 ticks (1 µs).
struct Worked {
  std::shared_ptr<record::MemoryProfile> profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder{*profile};
  model::ExecutableId executable;
  std::vector<model::DeviceId> devices;

  Worked() {
    for (int d = 0; d < 2; ++d) {
      model::Device device;
      device.kind = "mk2";
      device.name = "IPU" + std::to_string(d);
      device.ticksPerSecond = 1'000'000'000;
      device.clock = "1 GHz";
      devices.push_back(recorder.add(device));
    }
    model::Executable row;
    row.name = "training";
    row.microBatches = 4;
    row.deviceIterations = 2;
    executable = recorder.add(row);
    for (int d = 0; d < 2; ++d)
      recorder.add(model::Stage{executable, d, devices[static_cast<std::size_t>(d)], "B", 0, {}});
    model::Run run;
    run.executable = executable;
    run.end = Ticks(1000);
    const model::RunId id = recorder.add(run);
    model::Placement placement;
    placement.device = devices.front();
    placement.end = Ticks(1000);
    placement.run = id;
    recorder.add(placement);
  }

  void option(const char* path, const char* value) {
    recorder.add(model::ConfigurationEntry{path, value, "file"});
  }
  void property(const std::string& key, const char* value) { recorder.add(model::Property{key, value}); }

  model::OperatorId op(const char* kind, model::Pass pass, double flops) {
    model::Operator row;
    row.executable = executable;
    row.kind = kind;
    row.pass = pass;
    row.flops = flops;
    return recorder.add(row);
  }

  /// Adds a step of an operator in its own segment.
  void step(model::OperatorId op, model::Pass pass, std::int64_t ticks) {
    model::Segment segment;
    segment.executable = executable;
    segment.device = devices.front();
    segment.pass = pass;
    segment.ticks = Ticks(ticks);
    model::Program program;
    program.executable = executable;
    program.op = op;
    model::Step row;
    row.segment = recorder.add(segment);
    row.program = recorder.add(program);
    row.ticks = Ticks(ticks);
    recorder.add(row);
  }

  std::shared_ptr<const Catalog> catalog() {
    EXPECT_TRUE(recorder.commit().ok());
    return *loadCatalog(*profile);
  }
};

TEST(FigureValue, ReadsNumbersWithDecimalPrefixes) {
  EXPECT_DOUBLE_EQ(*figureValue("62.65 TFLOP/s; grade X; tiles x clock", "FLOP/s"), 62.65e12);
  EXPECT_DOUBLE_EQ(*figureValue("1,472 tiles; grade D", "tiles"), 1472);
  EXPECT_DOUBLE_EQ(*figureValue("500 kFLOP/s", "FLOP/s"), 5e5);
  for (const char* text :
       {"", "62.65", "62.65 ", "fast FLOP/s", "62.65 TB/s", "62.65 QFLOP/s", "1.2.3 FLOP/s"})
    EXPECT_FALSE(figureValue(text, "FLOP/s").has_value()) << text;
}

/// A micro-batch needs 100 operations forward, 200 backward and 100 for recomputation. The 8 micro-batches of
/// the call need 2,400 operations and 800 recomputed ones. Two devices of 3 GFLOP/s could do 6,000 in 1 µs.
TEST(FlopUse, CountsModelAndRecomputedOperations) {
  Worked worked;
  worked.option("execution.precision", "\"float32\"");
  worked.property("figure.peak_fp32", "3 GFLOP/s; grade X; worked");
  worked.op("Conv", model::Pass::forward, 100);
  worked.op("Conv", model::Pass::recompute, 100);
  worked.op("GradConvInput", model::Pass::backward, 150);
  worked.op("GradConvWeight", model::Pass::weightGradient, 50);
  worked.op("Sgd", model::Pass::update, 999);
  const auto catalog = worked.catalog();
  const auto use = flopUse(*worked.profile, *catalog, worked.executable);
  ASSERT_TRUE(use.ok()) << use.error().message;
  EXPECT_EQ(use->devices, 2);
  EXPECT_DOUBLE_EQ(use->modelFlops, 2400);
  EXPECT_DOUBLE_EQ(use->recomputeFlops, 800);
  EXPECT_DOUBLE_EQ(use->model.value(), 2400.0 / 6000);
  EXPECT_DOUBLE_EQ(use->withRecompute.value(), 3200.0 / 6000);
  EXPECT_EQ(use->peakName, "peak_fp32");
}

TEST(FlopUse, TakesThePeakOfThePrecision) {
  Worked worked;
  worked.option("execution.precision", "\"float16\"");
  worked.property("figure.peak_fp16", "8 GFLOP/s; grade X; worked");
  worked.property("figure.peak_fp16_fp32", "4 GFLOP/s; grade X; worked");
  worked.op("Conv", model::Pass::forward, 100);
  const auto catalog = worked.catalog();
  const auto use = flopUse(*worked.profile, *catalog, worked.executable);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->peakName, "peak_fp16_fp32") << "sums stay float32";
  EXPECT_DOUBLE_EQ(use->model.value(), 800.0 / 8000);
}

TEST(FlopUse, KnowsTheShortNamesOfPrecisions) {
  for (const auto& [precision, peak] : {std::pair("\"fp8\"", "peak_fp8"),
                                        {"\"float8\"", "peak_fp8"},
                                        {"\"bf16\"", "peak_bf16"},
                                        {"\"16\"", "peak_fp16"}}) {
    Worked worked;
    worked.option("execution.precision", precision);
    for (const char* name : {"peak_fp8", "peak_bf16", "peak_fp16", "peak_fp32"})
      worked.property(std::string("figure.") + name, "8 GFLOP/s; grade X; worked");
    worked.op("Conv", model::Pass::forward, 100);
    const auto catalog = worked.catalog();
    const auto use = flopUse(*worked.profile, *catalog, worked.executable);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(use->peakName, peak) << precision;
  }
}

TEST(FlopUse, TakesThePeakOfTheTypesInWhichItsFlopAreDone) {
  // 100 operations of 4 GFLOP/s and 100 of 2 GFLOP/s need 75 ns for a micro-batch, so the peak is 200 / 75
  // ns.
  Worked worked;
  worked.option("execution.precision", "\"float16\"");
  worked.property("figure.peak_fp16", "8 GFLOP/s; grade X; worked");
  worked.op("Conv", model::Pass::forward, 100);
  worked.op("Gemm", model::Pass::forward, 100);
  worked.property("least_seconds." + std::to_string(worked.executable.value) + ".model", "75e-9");
  worked.property("least_seconds." + std::to_string(worked.executable.value) + ".recompute", "0");
  const auto catalog = worked.catalog();
  const auto use = flopUse(*worked.profile, *catalog, worked.executable);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->peakName, "");
  EXPECT_DOUBLE_EQ(use->peakPerDevice, 200 / 75e-9);
  EXPECT_DOUBLE_EQ(use->model.value(), 8 * 75e-9 / (2 * 1e-6)) << "8 micro-batches, 2 devices, 1 µs";
}

TEST(FlopUse, SaysNothingWithoutAPeak) {
  Worked worked;
  worked.op("Conv", model::Pass::forward, 100);
  const auto catalog = worked.catalog();
  const auto use = flopUse(*worked.profile, *catalog, worked.executable);
  ASSERT_TRUE(use.ok());
  EXPECT_FALSE(use->model.has_value());
  EXPECT_FALSE(flopUse(*worked.profile, *catalog, model::ExecutableId(7)).ok());
}

TEST(ErrorBands, ReadsTheBandsOfItsDevices) {
  Worked worked;
  worked.property("band.mk2.fully connected.cycles",
                  "32 points, |ln| median 0.032, p90 0.122, bias -0.012; against Poplar's IPU Model");
  worked.property("band.mk1.convolution.cycles", "56 points, |ln| median 0.1, p90 0.2, bias -0.1; against x");
  worked.property("band.mk2.gru.cycles", "three points");
  worked.property("band.mk2", "56 points, |ln| median 0.1, p90 0.2, bias -0.1; against x");
  const auto catalog = worked.catalog();
  const std::vector<ErrorBand> bands = errorBandsOf(*catalog);
  ASSERT_EQ(bands.size(), 1U) << "of another chip, or no band at all";
  EXPECT_EQ(bands[0].kind, "fully connected");
  EXPECT_EQ(bands[0].quantity, "cycles");
  EXPECT_EQ(bands[0].points, 32);
  EXPECT_EQ(bands[0].against, "Poplar's IPU Model");
  EXPECT_NEAR(bands[0].medianError(), 0.0325, 1e-4);  // e^0.032 − 1
  ASSERT_TRUE(bands[0].p90Error());
  EXPECT_NEAR(*bands[0].p90Error(), 0.1298, 1e-4);   // e^0.122 − 1
  EXPECT_NEAR(bands[0].biasShare(), -0.0119, 1e-4);  // e^−0.012 − 1
}

TEST(ErrorBands, BandsOfFewPointsHaveNoP90) {
  Worked worked;
  worked.property("band.mk2.collective.time", "1 point, |ln| median 0.014, bias -0.014; against a page");
  worked.property("band.mk2.gru.time", "2 points, |ln| median 0.1, bias +0.1; against a page");
  const auto catalog = worked.catalog();
  const std::vector<ErrorBand> bands = errorBandsOf(*catalog);
  ASSERT_EQ(bands.size(), 2U);
  EXPECT_EQ(bands[0].points, 1);
  EXPECT_FALSE(bands[0].p90Error());
  EXPECT_NEAR(bands[0].biasShare(), -0.0139, 1e-4);  // e^−0.014 − 1
  EXPECT_EQ(bands[1].points, 2);
  EXPECT_EQ(bands[1].against, "a page");
}

/// 60 ticks belong to a checked kind and 40 to an unchecked kind. The update counts for neither.
TEST(ErrorBands, WeighsComputeTimeByWhatIsChecked) {
  Worked worked;
  worked.property("band.mk2.convolution.cycles", "56 points, |ln| median 0.1, p90 0.2, bias -0.1; against x");
  worked.step(worked.op("GradConvInput", model::Pass::backward, 1), model::Pass::backward, 60);
  worked.step(worked.op("Relu", model::Pass::forward, 1), model::Pass::forward, 40);
  worked.step(worked.op("Sgd", model::Pass::update, 1), model::Pass::update, 500);
  const auto catalog = worked.catalog();
  const auto found = errorBands(*worked.profile, *catalog, worked.executable);
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ(found->computeTicks, 100);
  EXPECT_DOUBLE_EQ(found->checkedShare(), 0.6);
}

TEST(ErrorBands, KnowsKindsOfLayers) {
  EXPECT_EQ(checkedKindOf("ConvTranspose"), "convolution");
  EXPECT_EQ(checkedKindOf("GradMaxPool"), "pooling");
  EXPECT_EQ(checkedKindOf("ReduceSum"), "reduction");
  EXPECT_EQ(checkedKindOf("Gemm"), "fully connected");
  EXPECT_EQ(checkedKindOf("MatMul"), "matrix product");
  EXPECT_EQ(checkedKindOf("Float8MatMul"), "");
  EXPECT_EQ(checkedKindOf("MultiGradConvInput"), "octave convolution");
  EXPECT_EQ(checkedKindOf("MultiFloat8Conv"), "");
  EXPECT_EQ(checkedKindOf("Relu"), "");
}

TEST(WorthSection, NamesGradesAndErrors) {
  Worked worked;
  worked.property("band.mk2.convolution.cycles",
                  "56 points, |ln| median 0.065, p90 0.172, bias -0.061; against x");
  const auto catalog = worked.catalog();
  const sections::SectionDefinition* definition = sections::sectionRegistry().find("error_bands");
  ASSERT_NE(definition, nullptr);
  const auto section = makeSection(*definition, {*worked.profile, *catalog, worked.executable});
  ASSERT_TRUE(section.ok());
  const std::string text = toText(*section);
  EXPECT_NE(text.find("modelled and checked"), std::string::npos) << text;
  EXPECT_NE(text.find("18.8 %"), std::string::npos) << text;  // e^0.172 − 1
}

}  // namespace
}  // namespace pipescope::analysis

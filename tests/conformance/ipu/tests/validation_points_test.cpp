// Compares published measurements of single vertices and products, beside the layer table, and prints each
// with its error (ln emulated / measured).
#include <gtest/gtest.h>

#include "engine/devices/ipu/code/step_code.h"
#include "engine/devices/ipu/products/conv_vertices.h"
#include "engine/devices/ipu/stage_lowering.h"
#include "tests/conformance/ipu/layer_plan.h"
#include "tests/conformance/ipu/statistics.h"
#include "tests/conformance/ipu/tests/points.h"

namespace pipescope::conformance {
namespace {

using devices::ipu::CodePart;
using devices::ipu::ConvVertex;
using devices::ipu::LoweredVertex;
using devices::ipu::LoweredWork;
using devices::ipu::ProgramStep;
using devices::ipu::spreadOf;
using graph::ElementType;

constexpr auto kHalf = ElementType::float16, kSingle = ElementType::float32;

std::int64_t computeCycles(const LoweredWork& work) {
  std::int64_t cycles = 0;
  for (const ProgramStep& step : work.steps) {
    if (step.kind == model::StepKind::compute) cycles += spreadOf(step.cycles).most;
  }
  return cycles;
}

/// One vertex on all tiles of a Bow, float16 [N,16]·[16,16] (tessellate-ipu notebooks). The count on the tile
/// includes the launch but not the sync.
TEST(ValidationPoints, OneVertexOnEveryTileOfABow) {
  constexpr std::int64_t launch = 45;
  const struct {
    std::int64_t rows;
    double cycles, teraflops;
  } points[] = {{16, 402, 55.5},  {64, 584, 152.8},   {128, 845, 211.1},
                {256, 1352, 264}, {512, 2381, 299.8}, {1024, 4424, 322.7}};
  EmulatedChip bow("bow");
  for (const auto& [rows, measured, teraflops] : points) {
    devices::ipu::ConvShape shape;
    shape.half = shape.halfPartials = true;
    shape.inputChannels = shape.outputChannels = 16;
    shape.dimCount = 1;
    shape.dims[0].input = shape.dims[0].output = rows;
    devices::ipu::ConvTile tile;
    tile.output[0] = rows;
    const auto cycles = static_cast<double>(
        launch + convVertexCycles(bow.chip(), shape, {ConvVertex::Method::amp, 1, 16, 16, 16, 1}, tile));
    const std::string name = "8.1 Bow, [" + std::to_string(rows) + ",16] x [16,16] fp16 on every tile, ";
    // Tiny shares must be within ±15 %, large ones within ±5 %.
    EXPECT_LE(std::abs(comparePoint(name + "cycles", cycles, measured)), rows < 128 ? 0.15 : 0.05);
    const double flops =
        2.0 * 256 * static_cast<double>(rows * bow.chip().tiles * bow.chip().clockHz) / cycles;
    EXPECT_LE(std::abs(comparePoint(name + "TFLOP/s", flops / 1e12, teraflops)), rows < 128 ? 0.15 : 0.05);
  }
}

TEST(ValidationPoints, AdditionsOnABow) {
  EmulatedChip bow("bow");
  const LoweredWork add = bow.lower(ops::Map{ops::MapFunction::add, 1024 * 1472, 2, kSingle, false});
  EXPECT_LE(std::abs(comparePoint("8.1 Bow, add of 1,024 fp32 on every tile, cycles",
                                  static_cast<double>(add.cycles()), 1860)),
            0.05);
  const LoweredWork tiny = bow.lower(ops::Map{ops::MapFunction::add, 10, 2, kSingle, false});
  // The measurement includes the launch and two cycle counters of 45 each.
  const double cycles = static_cast<double>(spreadOf(tiny.steps[0].cycles).most) + 3 * 45;
  EXPECT_LE(std::abs(comparePoint("8.1 Bow, add of [5,2] fp32 with two counters, cycles", cycles, 329.5)),
            0.05);
}

/// Dense products on a Bow with m = k and batch n, in TFLOP/s, read off a figure of Graphcore's sparsity
/// benchmarks.
TEST(ValidationPoints, DenseProductsOnABow) {
  struct Row {
    std::int64_t size;
    ElementType type;
    std::vector<double> teraflops;  ///< n = 4, 16, 64 …, see below
  };
  const std::vector<std::int64_t> batches{4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384};
  const std::vector<Row> table{{1024, kHalf, {6.1, 20, 46, 90, 121, 154, 181, 207, 225}},
                               {1024, kSingle, {3.7, 11.2, 21.4, 34.5, 43.9, 50.2, 55.9, 57.4, 59.0}},
                               {4096, kHalf, {18.4, 61, 131, 176, 211, 225}},
                               {4096, kSingle, {7.1, 22.3, 41.6, 53.0, 55.9, 57.4, 59.1}}};
  EmulatedChip bow("bow");
  std::vector<double> logarithms;
  for (const Row& row : table) {
    for (std::size_t i = 0; i < row.teraflops.size(); ++i) {
      const LoweredWork work = bow.lower(EmulatedChip::product(row.size, row.size, batches[i], row.type));
      const double flops = 2.0 * static_cast<double>(row.size * row.size * batches[i]);
      const double ours =
          flops * static_cast<double>(bow.chip().clockHz) / static_cast<double>(work.cycles()) / 1e12;
      const std::string point = "8.2 Bow " + std::to_string(row.size) + " x " + std::to_string(row.size) +
                                " x " + std::to_string(batches[i]) + (row.type == kHalf ? " fp16" : " fp32") +
                                ", TFLOP/s";
      logarithms.push_back(comparePoint(point, ours, row.teraflops[i]));
      // No point may exceed the chip's peak.
      const auto peak = static_cast<double>(row.type == kHalf ? bow.chip().ampHalf : bow.chip().ampFloat);
      EXPECT_LE(ours, 2 * peak * static_cast<double>(bow.chip().tiles * bow.chip().clockHz) / 1e12) << point;
    }
  }
  const ErrorFigures errors = errorsOf(logarithms);
  std::printf("8.2 dense products: median |ln| %.2f, p90 %.2f, bias %+.2f\n", errors.median, errors.p90,
              errors.bias);
  // One layer: a median within ±10 %, and nine of ten within ±25 %.
  EXPECT_LE(errors.median, 0.10);
  EXPECT_LE(errors.p90, 0.25);
}

/// The same figure, one more point: [8192,8192]·[8192,16] in float16, and the transposed product.
TEST(ValidationPoints, ALargeMatrixAndFewColumnsOnABow) {
  EmulatedChip bow("bow");
  const auto columns = static_cast<double>(bow.lower(EmulatedChip::product(8192, 8192, 16, kHalf)).cycles()),
             rows = static_cast<double>(bow.lower(EmulatedChip::product(16, 8192, 8192, kHalf)).cycles());
  EXPECT_LE(std::abs(comparePoint("8.2 Bow 8192 x 8192 x 16 fp16, cycles", columns, 72600)), 0.25);
  EXPECT_EQ(rows, columns);
}

/// Poplar tutorial 4 on the IPU Model: [800,500]·[500,400]·[400,200] in float32.
class TwoProducts : public ::testing::Test {
 protected:
  TwoProducts() : mk2_("mk2", false) {
    IrAssembler ir;
    const auto m1 = ir.kept("m1", kSingle, {800, 500}), m2 = ir.kept("m2", kSingle, {500, 400}),
               m4 = ir.kept("m4", kSingle, {400, 200}), m3 = ir.temporary("m3", kSingle, {800, 400}),
               m5 = ir.temporary("m5", kSingle, {800, 200});
    ir.add(model::Pass::forward, "first", "MatMul", {{mk2_.product(800, 500, 400, kSingle), 1, ""}}, {m1, m2},
           {m3});
    ir.add(model::Pass::forward, "second", "MatMul", {{mk2_.product(800, 400, 200, kSingle), 1, ""}},
           {m3, m4}, {m5});
    const compile::StageIr stage = ir.finish();
    device_ = devices::ipu::lowerStages({&stage}, "IPU0", mk2_.context()).value();
  }
  std::int64_t ticksOf(const std::string& name) const {
    std::int64_t ticks = 0;
    for (const devices::LoweredStep& step : device_.passes[0].segments[0].steps) {
      if (step.name.find(name) == 0 && step.kind == model::StepKind::compute) ticks += step.ticks.count;
    }
    return ticks;
  }
  const devices::LoweredMemory& memory() const { return device_.memory.front(); }

  EmulatedChip mk2_;
  devices::LoweredDevice device_;
};

TEST_F(TwoProducts, CyclesOfTheIpuModel) {
  const auto total = static_cast<double>(device_.passes[0].ticks().count);
  EXPECT_LE(std::abs(comparePoint("8.4 tutorial 4, cycles of both products", total, 34655)), 0.25);
  const struct {
    const char *step, *name;
    double measured, within;  // within: the error that the model has today, rounded up
  } points[] = {{"first/Convolve", "first convolve", 15200, 0.5},
                {"first/Reduce", "first reduce", 3450, 0.7},
                {"second/Convolve", "second convolve", 7850, 0.5},
                {"second/Reduce", "second reduce", 2350, 1.1}};
  for (const auto& [step, name, measured, within] : points) {
    const auto ours = static_cast<double>(ticksOf(step));
    ASSERT_GT(ours, 0) << "the plan has no step " << step;
    const double error = comparePoint(std::string("8.4 tutorial 4, ") + name + ", cycles", ours, measured);
    EXPECT_LE(std::abs(error), within) << name;
  }
  // The share of tile cycles that compute.
  double busy = 0;
  for (const devices::LoweredStep& step : device_.passes[0].segments[0].steps) {
    if (step.kind == model::StepKind::compute) busy += step.meanTicks;
  }
  const double share =
      comparePoint("8.4 tutorial 4, share of tile cycles that compute", 100 * busy / total, 89 * 0.81);
  EXPECT_LE(std::abs(share), 0.25);
}

TEST_F(TwoProducts, MemoryOfTheIpuModel) {
  double whole = 0, gaps = 0, alwaysLive = 0, peak = 0;
  for (const devices::UnitBytesRun& run : memory().units) {
    const auto bytes = static_cast<double>(run.bytes.count * run.unitCount);
    (run.category == "gap" ? gaps : whole) += bytes;
    if (run.alwaysLive && run.category != "gap") alwaysLive += bytes;
  }
  for (const devices::LoweredStepMemory& step : memory().steps)
    peak = std::max(peak, static_cast<double>(step.notAlwaysLive.count));
  const double total = comparePoint("8.4 tutorial 4, MB in all without gaps", whole / 1e6, 59.9);
  EXPECT_LE(std::abs(total), 0.25);
  const double gapped = comparePoint("8.4 tutorial 4, MB in all with gaps", (whole + gaps) / 1e6, 307);
  EXPECT_LE(std::abs(gapped), 0.25);
  const double always = comparePoint("8.4 tutorial 4, MB always live", alwaysLive / 1e6, 3.2);
  EXPECT_LE(std::abs(always), 0.40);
  const double live = comparePoint("8.4 tutorial 4, MB not always live at the peak", peak / 1e6, 56);
  EXPECT_LE(std::abs(live), 0.25);
}

/// The same tutorial with large matrices, [9000,6000]·[6000,300]·[300,200], ran out of memory on an Mk2: its
/// fullest tile needed 659 KiB. The first matrix does not lie as its product wants it, so the product works
/// on a copy of it.
TEST(ValidationPoints, LargeProductsOfTheTutorialDoNotFit) {
  EmulatedChip mk2("mk2");
  const auto bytesOnFullestTile = [&](compile::TensorUse use) {
    compile::StageIr stage;
    const auto tensor = [&](const char* name, graph::Shape shape, compile::TensorUse how) {
      stage.tensors.push_back({name, {kSingle, std::move(shape)}, how, 1});
      return compile::IrTensorId(static_cast<std::int64_t>(stage.tensors.size()) - 1);
    };
    const auto activation = compile::TensorUse::activation;
    const auto a = tensor("a", {9000, 6000}, use), b = tensor("b", {6000, 300}, use),
               c = tensor("c", {300, 200}, use), ab = tensor("ab", {9000, 300}, activation),
               abc = tensor("abc", {9000, 200}, activation);
    stage.passes.push_back(
        {model::Pass::forward,
         {{"first", "MatMul", {{mk2.product(9000, 6000, 300, kSingle), 1, ""}}, {a, b}, {ab}},
          {"second", "MatMul", {{mk2.product(9000, 300, 200, kSingle), 1, ""}}, {ab, c}, {abc}}}});
    const devices::LoweredDevice device = devices::ipu::lowerStages({&stage}, "IPU0", mk2.context()).value();
    std::vector<double> tiles(1472);
    for (const devices::UnitBytesRun& run : device.memory.front().units) {
      for (std::int64_t i = 0; i < run.unitCount; ++i)
        tiles.at(static_cast<std::size_t>(run.firstUnit + i)) += static_cast<double>(run.bytes.count);
    }
    return *std::ranges::max_element(tiles);
  };
  const double streamed = bytesOnFullestTile(compile::TensorUse::input) / 1024;
  EXPECT_LE(std::abs(comparePoint("Poplar tutorial 4, large, KiB on the fullest tile", streamed, 659)), 0.08);
  EXPECT_GT(streamed, 624);
  // A framework gives its weights the layout that their product wants.
  EXPECT_LT(bytesOnFullestTile(compile::TensorUse::weight) / 1024, 624);
}

/// Code and state of single operations in popliner's profile of BERT-Large on an Mk2 (bytes on all tiles,
/// from tests/test_popart_bert_inf.py of graphcore/popliner): [128,1024] by [1024,n] in float16.
TEST(ValidationPoints, CodeOfProductsInAProfile) {
  EmulatedChip mk2("mk2");
  const struct {
    std::int64_t n;
    double state, vertexCode, exchangeCode, controlCode;
  } rows[] = {{3072, 86272, 2372928, 520300, 104228},
              {1024, 86272, 2372928, 472528, 105216},
              {4096, 86272, 2372928, 443848, 103636}};
  for (const auto& row : rows) {
    double state = 0, vertexCode = 0, exchangeCode = 0, controlCode = 0;
    for (const ProgramStep& step : mk2.lower(EmulatedChip::product(128, 1024, row.n, kHalf)).steps) {
      const auto active = static_cast<double>(spreadOf(step.cycles).active);
      for (const LoweredVertex& use : step.vertices) {
        state += active * static_cast<double>(use.stateBytes);
        vertexCode += active * static_cast<double>(use.codeBytes);
      }
      for (const CodePart& part : codeOf(step, mk2.chip()))
        exchangeCode += static_cast<double>(spreadOf(part.bytes).total);
      controlCode += static_cast<double>(spreadOf(controlCodeOf(step, mk2.chip())).total);
    }
    const std::string name = "8.5 product to " + std::to_string(row.n) + " columns, B of ";
    EXPECT_LE(std::abs(comparePoint(name + "vertex state", state, row.state)), 0.2);
    EXPECT_LE(std::abs(comparePoint(name + "vertex code", vertexCode, row.vertexCode)), 0.1);
    EXPECT_LE(std::abs(comparePoint(name + "exchange code", exchangeCode, row.exchangeCode)), 0.20);
    EXPECT_LE(std::abs(comparePoint(name + "control code", controlCode, row.controlCode)), 0.3);
  }
}

/// Poplar tutorial 6: [10000,1000] times a vector, float32. The tutorial has vertices of its own, dot
/// products over a seventh of a row each; here the planner chooses.
TEST(ValidationPoints, MatrixTimesVectorOnTheIpuModel) {
  EmulatedChip mk2("mk2");
  const LoweredWork vector = mk2.lower(EmulatedChip::product(10000, 1000, 1, kSingle));
  const double error = comparePoint("8.4 tutorial 6, matrix times vector, compute cycles",
                                    static_cast<double>(computeCycles(vector)), 3800);
  EXPECT_LE(std::abs(error), 0.35);
  const double planned =
      comparePoint("8.4 tutorial 6, planned cycles without host", static_cast<double>(vector.cycles()), 3996);
  EXPECT_LE(std::abs(planned), 0.45);
  const LoweredWork host = mk2.lower(ops::HostCopy{true, base::Bytes(4 * (10000 * 1000 + 1000 + 10000))});
  const double copies =
      comparePoint("8.4 tutorial 6, host exchange, cycles", static_cast<double>(host.cycles()), 6'663'551);
  EXPECT_LE(std::abs(copies), 0.01);
}

}  // namespace
}  // namespace pipescope::conformance

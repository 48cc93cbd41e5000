// The kernel modules of every instruction set that this processor supports, compared with loops in double
// precision; and the promises of all kernels: the same bits for any number of threads, and no allocation
// after they have been made.
#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/ops/kernels/choose.h"

#include "engine/numerics/thread_pool.h"
#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace {
std::atomic<long> allocations{0};
}

#ifndef __SANITIZE_ADDRESS__
// The operator is not inlined, because a compiler that sees free() here but not malloc() reports a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif

namespace pipescope::ops_test {
namespace {

using kernels::KernelTable;
using kernels::RowProduct;

std::vector<float> floats(std::int64_t count, unsigned seed) {
  const Value value = noise({count}, seed);
  return {value.data.begin(), value.data.end()};
}

struct Modules : ::testing::TestWithParam<const KernelTable*> {};

TEST_P(Modules, MultiplyMatrices) {
  const KernelTable& table = *GetParam();
  // Whole blocks, edges of every kind, and depths below and above one visit of C.
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {7, 10, 5},
                                {8, 48, 384},
                                {13, 33, 385},
                                {24, 96, 1000},
                                {6, 16, 2},
                                {5, 100, 3}}) {
    for (const bool accumulate : {false, true}) {
      const std::vector<float> a = floats(m * k, 1), b = floats(k * n, 2), bias = floats(n, 3),
                               before = floats(m * n, 4);
      const std::int64_t stride = k * kernels::kPanel;
      std::vector<float> rows(static_cast<std::size_t>((n + 15) / 16 * stride), 9), columns = rows,
                                                                                    transposed(b.size());
      table.packRows(b.data(), n, k, n, rows.data(), stride);
      table.transpose(b.data(), n, k, n, transposed.data(), k);
      table.packColumns(transposed.data(), k, k, n, columns.data(), stride);
      ASSERT_EQ(rows, columns);
      std::vector<float> c = before;
      RowProduct p;
      p.a = a.data();
      p.rowStride = k;
      p.blockStride = kernels::kPanel * k;
      p.length = p.last = k;
      p.b = rows.data();
      p.panelStride = stride;
      p.c = c.data();
      p.ldc = p.columns = n;
      p.rows = m;
      p.scale = 0.5F;
      p.accumulate = accumulate;
      p.bias = bias.data();
      p.relu = accumulate;
      table.multiplyRows(p);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t d = 0; d < k; ++d) sum += double{a[i * k + d]} * double{b[d * n + j]};
          double expected = 0.5 * sum + double{bias[j]} + (accumulate ? double{before[i * n + j]} : 0.0);
          if (accumulate) expected = std::max(expected, 0.0);
          ASSERT_NEAR(double{c[i * n + j]}, expected, 1e-6 * static_cast<double>(k + 2))
              << m << "x" << n << "x" << k;
        }
      }
    }
  }
}

TEST_P(Modules, ReluKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {nan, -1, 2};
  float panel[16] = {1}, c[3] = {};
  RowProduct p;
  p.a = a;
  p.rowStride = 1;
  p.length = p.last = 1;
  p.b = panel;
  p.panelStride = 16;
  p.c = c;
  p.ldc = p.columns = 1;
  p.rows = 3;
  p.relu = true;
  GetParam()->multiplyRows(p);
  EXPECT_TRUE(std::isnan(c[0]));
  EXPECT_EQ(c[1], 0.0F);
  EXPECT_EQ(c[2], 2.0F);
}

TEST_P(Modules, TransposeAnyExtents) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {8, 8}, {9, 17}, {16, 5}, {3, 40}}) {
    const std::vector<float> from = floats(rows * columns, 5);
    std::vector<float> to(from.size());
    GetParam()->transpose(from.data(), columns, rows, columns, to.data(), rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) ASSERT_EQ(to[c * rows + r], from[r * columns + c]);
    }
  }
}

/// One tile of sixteen channels, channel by channel with the matrices of the definition.
TEST_P(Modules, FilterTilesAsDefined) {
  const std::vector<float> x = floats(16 * 16, 6), w = floats(16 * 9, 7);
  std::vector<float> tiles(16 * 16), filters(16 * 16), y(16 * 4);
  kernels::WinogradTiles in;
  std::vector<float> planes = x;
  in.planes = planes.data();
  in.planeStride = 16;
  in.height = in.width = 4;
  in.channels = 16;
  in.tileRows = in.tilesPerRow = 1;
  in.tiles = tiles.data();
  in.frequencyStride = in.tileStride = 16;
  GetParam()->winogradInput(in);
  kernels::WinogradFilters f;
  f.weights = w.data();
  f.filterStride = 9;
  f.filters = 16;
  f.channels = 1;
  f.transformed = filters.data();
  f.frequencyStride = f.transformedStride = 16;
  GetParam()->winogradFilters(f);
  for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] *= filters[i];
  kernels::WinogradTiles out = in;
  out.planes = y.data();
  out.planeStride = 4;
  out.height = out.width = 2;
  GetParam()->winogradOutput(out);
  for (std::int64_t channel = 0; channel < 16; ++channel) {
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
          for (std::int64_t j = 0; j < 3; ++j) {
            sum += double{x[channel * 16 + (row + i) * 4 + column + j]} * double{w[channel * 9 + 3 * i + j]};
          }
        }
        ASSERT_NEAR(double{y[channel * 4 + row * 2 + column]}, sum, 1e-5);
      }
    }
  }
}

TEST_P(Modules, ConvolveRowsAsDefined) {
  const KernelTable& table = *GetParam();
  for (const std::array<std::int64_t, 4>& extents : {std::array<std::int64_t, 4>{1, 10, 24, 5},
                                                     {10, 20, 8, 5},
                                                     {3, 1, 13, 7},
                                                     {13, 2, 21, 1},
                                                     {2, 25, 9, 3}}) {
    const std::int64_t channels = extents[0], filters = extents[1], width = extents[2], kernelX = extents[3];
    kernels::RowConvolution s;
    s.channels = channels;
    s.filters = filters;
    s.height = 3;
    s.width = width;
    s.kernelY = 2;
    s.kernelX = kernelX;
    s.inputRow = (width + 7) / 8 * 8 + kernelX - 1;
    s.inputPlane = 4 * s.inputRow;
    s.inputImage = channels * s.inputPlane;
    s.outputRow = (width + 7) / 8 * 8;
    s.outputPlane = 3 * s.outputRow;
    s.outputImage = filters * s.outputPlane;
    const std::int64_t taps = 2 * kernelX, weights = filters * channels * taps, images = 2;
    const std::vector<float> x = floats(images * s.inputImage, 1), w = floats(weights, 2),
                             bias = floats(filters, 3), dy = floats(images * s.outputImage, 4);
    std::vector<float> packed(2 * w.size()), turned(2 * w.size()), y(dy.size(), 7), dx(x.size(), 0.5F),
        dw(w.size(), 2);
    table.rowFilters(s, w.data(), false, packed.data());
    table.rowFilters(s, w.data(), true, turned.data());
    table.rowForward(s, x.data(), packed.data(), bias.data(), true, y.data());
    table.rowInputGradient(s, dy.data(), turned.data(), dx.data());
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      for (std::int64_t ky = 0; ky < 2; ++ky)
        table.rowWeightGradient(s, images, channel, ky, x.data(), dy.data(), ky == 1, dw.data());
    }
    std::vector<double> sums(static_cast<std::size_t>(s.outputImage)), inputs(x.size(), 0.5),
        products(w.size());
    const auto each = [&](const auto& body) {
      for (std::int64_t i = 0; i < images * filters * channels * 3 * width * taps; ++i) {
        const std::int64_t tap = i % taps, column = i / taps % width, row = i / taps / width % 3,
                           channel = i / taps / width / 3 % channels,
                           filter = i / taps / width / 3 / channels % filters,
                           image = i / taps / width / 3 / channels / filters;
        body(image, image * s.outputImage + filter * s.outputPlane + row * s.outputRow + column,
             image * s.inputImage + channel * s.inputPlane + (row + tap / kernelX) * s.inputRow + column +
                 tap % kernelX,
             (filter * channels + channel) * taps + tap);
      }
    };
    each([&](std::int64_t image, std::int64_t out, std::int64_t in, std::int64_t weight) {
      if (image == 0) {  // kernels of one image
        sums[out] += double{x[in]} * double{w[weight]};
        inputs[in] += double{dy[out]} * double{w[weight]};
      }
      products[weight] += double{dy[out]} * double{x[in]};
    });
    for (std::int64_t i = 0; i < filters * 3 * width; ++i) {
      const std::int64_t at = i / width * s.outputRow + i % width;
      const double expected = std::max(0.0, sums[at] + double{bias[i / width / 3]});
      ASSERT_NEAR(double{y[at]}, expected, 1e-4) << channels << " " << filters << " " << i;
    }
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(double{dx[i]}, inputs[i], 1e-4) << i;
    for (std::int64_t i = 0; i < weights; ++i)
      ASSERT_NEAR(double{dw[i]}, products[i] + (i % taps >= kernelX ? 2.0 : 0.0), 1e-3) << i;
    for (std::int64_t i = 0; i < filters * 3; ++i) {  // nothing beyond the ends of the rows is written
      for (std::int64_t column = width; column < s.outputRow; ++column)
        ASSERT_EQ(y[i * s.outputRow + column], 7.0F);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Modules, ::testing::ValuesIn(kernels::usableTables()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(Kernels, TheFirstUsableTableIsChosen) {
  EXPECT_EQ(&kernels::kernelTable(), kernels::usableTables().front());
  EXPECT_STREQ(kernels::usableTables().back()->name, "baseline");
}

/// A graph of float32 nodes with made-up inputs, run on a given number of threads.
class Runner {
 public:
  TensorId input(const Shape& shape) {
    inputs_.push_back(graph.addTensor("in" + std::to_string(inputs_.size()), {ElementType::float32, shape},
                                      graph::TensorRole::input));
    graph.inputs.push_back(inputs_.back());
    values_.push_back(floats(graph::elementCount(shape), static_cast<unsigned>(values_.size()) + 1));
    return inputs_.back();
  }
  std::vector<TensorId> node(const char* op, std::vector<TensorId> inputs, Attributes attributes,
                             std::size_t outputs = 1) {
    graph::Node made;
    made.op = op;
    made.name = "node" + std::to_string(graph.nodes().size());
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(made.name + "/" + std::to_string(i));
    auto ids = ops::appendNode(graph, made, names, graph::TensorRole::activation, ops::standardOperators());
    EXPECT_TRUE(ids.ok()) << ids.error().message;
    return *ids;
  }
  /// The bytes of all outputs, one after another. `allocated` gets what the second run allocates.
  std::vector<std::byte> run(std::size_t threads, long* allocated = nullptr) const {
    numerics::ThreadPool pool(threads);
    const auto program = numerics::GraphProgram::create(graph, ops::standardOperators());
    EXPECT_TRUE(program.ok()) << program.error().message;
    numerics::Workspace workspace = program->makeWorkspace();
    std::vector<std::span<const std::byte>> spans;
    for (const std::vector<float>& each : values_) spans.push_back(std::as_bytes(std::span(each)));
    numerics::Bindings bindings{spans, {}, {}, {}};
    bindings.executor = &pool;
    EXPECT_TRUE(program->run(bindings, workspace).ok());
    const long before = allocations;
    EXPECT_TRUE(program->run(bindings, workspace).ok());
    if (allocated) *allocated = allocations - before;
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto output = program->output(workspace, bindings, i);
      all.insert(all.end(), output.begin(), output.end());
    }
    return all;
  }

  graph::Graph graph;

 private:
  std::vector<TensorId> inputs_;
  std::vector<std::vector<float>> values_;
};

/// A convolution with its two gradients.
Runner convolution(const Shape& x, const Shape& w, const Attributes& attributes) {
  Runner r;
  const TensorId input = r.input(x), weight = r.input(w);
  const TensorId y = r.node("Conv", {input, weight}, attributes)[0];
  const TensorId dy = r.input(r.graph.tensor(y).type.shape);
  Attributes withInput = attributes, withWeight = attributes;
  withInput["input_shape"] = x;
  withWeight["weight_shape"] = w;
  r.graph.outputs = {y, r.node("GradConvInput", {dy, weight}, withInput)[0],
                     r.node("GradConvWeight", {input, dy}, withWeight)[0]};
  return r;
}

TEST(Kernels, ConvolutionsHaveTheSameBitsForAnyNumberOfThreads) {
  const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
  Attributes strided = padded;
  strided["strides"] = Ints{2, 2};
  // Convolutions by filtering, directly, with strides, and with few channels.
  for (const auto& [x, w, attributes] :
       {std::tuple<Shape, Shape, Attributes>{{5, 32, 14, 14}, {48, 32, 3, 3}, padded},
        {{9, 20, 12, 12}, {24, 20, 3, 3}, strided},
        {{12, 1, 28, 28}, {10, 1, 5, 5}, {}},
        {{6, 33, 5, 5}, {17, 33, 1, 1}, {}}}) {
    const Runner runner = convolution(x, w, attributes);
    const std::vector<std::byte> alone = runner.run(1);
    EXPECT_EQ(alone, runner.run(2));
    EXPECT_EQ(alone, runner.run(5));
  }
}

/// The operators of a transformer and of a residual network, large enough to be split.
Runner manyKernels() {
  Runner r;
  const TensorId tokens = r.input({96, 300}), weight = r.input({300, 260}), row = r.input({260}),
                 heads = r.input({6, 40, 70});
  const TensorId y = r.node("MatMul", {tokens, weight}, {})[0], sum = r.node("Add", {row, y}, {})[0];
  const TensorId more = r.node("Gelu", {sum}, {})[0],
                 norm = r.node("LayerNormalization", {more, row, row}, {})[0];
  const auto norms = r.node("GradLayerNormalization", {sum, row, more}, {}, 3);
  const TensorId dx = r.node("GradMatMulLeft", {sum, weight}, {{"input_shape", Shape{96, 300}}})[0],
                 dw = r.node("GradMatMulRight", {tokens, sum}, {{"input_shape", Shape{300, 260}}})[0];
  const TensorId turned = r.node("Transpose", {heads}, {{"perm", Ints{0, 2, 1}}})[0];
  const TensorId scores = r.node("Softmax", {r.node("MatMul", {heads, turned}, {})[0]}, {})[0];
  const TensorId planes = r.input({6, 20, 40, 40}), small = r.input({64, 100, 2, 2}), channel = r.input({20}),
                 many = r.input({100});
  const Attributes batch{{"training_mode", std::int64_t{1}}};
  const auto normed = r.node("BatchNormalization", {planes, channel, channel, channel, channel}, batch, 3),
             shortNormed = r.node("BatchNormalization", {small, many, many, many, many}, batch, 3);
  const auto gradient = r.node("GradBatchNormalization", {planes, channel, normed[0]}, {}, 3),
             shortGradient = r.node("GradBatchNormalization", {small, many, shortNormed[0]}, {}, 3);
  const Attributes window{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const TensorId pooled = r.node("MaxPool", {planes}, window)[0];
  const TensorId spread = r.node("GradMaxPool", {planes, pooled, pooled}, window)[0];
  r.graph.outputs = {norm,
                     dx,
                     dw,
                     scores,
                     spread,
                     norms[0],
                     norms[1],
                     norms[2],
                     gradient[0],
                     gradient[1],
                     shortGradient[0],
                     shortGradient[1],
                     shortGradient[2],
                     r.node("ReduceSum", {planes}, {{"axes", Ints{0, 2, 3}}})[0],
                     r.node("ReduceSum", {sum}, {{"axes", Ints{0}}})[0],
                     r.node("ReduceSum", {sum}, {{"axes", Ints{1}}})[0]};
  return r;
}

TEST(Kernels, HaveTheSameBitsForAnyNumberOfThreads) {
  const Runner runner = manyKernels();
  const std::vector<std::byte> alone = runner.run(1);
  EXPECT_EQ(alone, runner.run(2));
  EXPECT_EQ(alone, runner.run(4));
}

#ifndef __SANITIZE_ADDRESS__
TEST(Kernels, AllocateNothingOnceTheyAreMade) {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    long allocated = -1;
    manyKernels().run(threads, &allocated);
    EXPECT_EQ(allocated, 0) << threads << " threads";
    convolution({5, 32, 14, 14}, {48, 32, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}).run(threads, &allocated);
    EXPECT_EQ(allocated, 0) << "filtered, " << threads << " threads";
    convolution({12, 1, 28, 28}, {10, 1, 5, 5}, {}).run(threads, &allocated);
    EXPECT_EQ(allocated, 0) << "few filters, " << threads << " threads";
  }
}
#endif

TEST(Kernels, AReluInTheKernelBeforeItChangesNoBit) {
  const Attributes padded{{"pads", Ints{1, 1, 1, 1}}}, batch{{"training_mode", std::int64_t{1}}};
  const auto check = [](const char* op, const std::vector<Shape>& shapes, const Attributes& attributes,
                        std::size_t outputs) {
    std::vector<std::byte> fused, apart;
    for (const bool kept : {false, true}) {
      Runner r;
      std::vector<TensorId> inputs;
      for (const Shape& shape : shapes) inputs.push_back(r.input(shape));
      const TensorId y = r.node(op, inputs, attributes, outputs)[0];
      r.graph.outputs = {r.node("Relu", {y}, {})[0]};
      // Another node also reads the result, so the Relu has a kernel of its own.
      if (kept) r.graph.outputs.push_back(r.node("Neg", {y}, {})[0]);
      (kept ? apart : fused) = r.run(2);
    }
    apart.resize(fused.size());
    EXPECT_EQ(fused, apart) << op;
    const auto* values = reinterpret_cast<const float*>(fused.data());
    EXPECT_TRUE(std::all_of(values, values + fused.size() / sizeof(float), [](float v) { return v >= 0; }))
        << op;
  };
  check("Conv", {{3, 16, 9, 9}, {20, 16, 3, 3}, {20}}, padded, 1);
  check("Conv", {{3, 30, 9, 9}, {40, 30, 2, 2}, {40}}, {}, 1);
  check("Conv", {{3, 2, 9, 9}, {4, 2, 3, 3}, {4}}, {}, 1);
  check("Gemm", {{7, 30}, {30, 50}, {50}}, {}, 1);
  check("BatchNormalization", {{4, 6, 9, 9}, {6}, {6}, {6}, {6}}, batch, 3);
  check("BatchNormalization", {{4, 6, 2, 2}, {6}, {6}, {6}, {6}}, batch, 3);
}

}  // namespace
}  // namespace pipescope::ops_test

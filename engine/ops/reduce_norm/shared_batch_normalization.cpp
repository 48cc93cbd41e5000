// Batch norms whose statistics several replicas share. compile::distributeBatchNorm makes them of
// BatchNormalization nodes and puts a ReplicaSum behind BatchMoments and behind SharedNormSums.
// - BatchMoments: x → float32 [2, C], the mean of x and of x² over the replica's own batch.
// - SharedBatchNormalization: x, scale, bias, moments (summed over the replicas) → y, mean, variance.
// - SharedNormSums: x, scale, dy, moments → sums (float32 [2, C]: Σ dy and Σ dy·x̂), dscale, dbias, x̂.
// - SharedNormGradient: x̂, scale, dy, moments, sums (summed over the replicas) → dx.
// The passes are those of PopLibs (C: poplin/Norms.cpp, popnn/BatchNorm.cpp, popart's batchnormx.cpp), which
// exchanges both moments at once, and both sums.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/ranges.h"
#include "engine/ops/reduce_norm/normalization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct SharedNormSetup {
  Rows rows;  ///< batch, channels, positions
  double epsilon = 1e-5;
  std::int64_t replicas = 1;

  std::int64_t perChannel() const { return rows.outer * rows.inner; }
  Pieces pieces() const { return {rows.outer, rows.depth * rows.inner, rows.inner}; }
  std::int64_t start(std::int64_t channel) const { return channel * rows.inner; }
  /// Moments of a channel, from sums over the replicas.
  Moments<float> momentsOfGroup(const float* moments, std::int64_t channel) const {
    const auto group = static_cast<float>(replicas);
    const float mean = moments[channel] / group, square = moments[rows.depth + channel] / group;
    return {mean, std::max(square - mean * mean, 0.0F)};
  }
};

Result<SharedNormSetup> sharedNormSetupOf(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  if (x.shape.size() < 2) {
    return badInput(
        fmt::format("{}: its input is {}; it needs a batch and channels", call.title(), graph::toString(x)));
  }
  if (x.element != ElementType::float32 && x.element != ElementType::float16 &&
      x.element != ElementType::bfloat16) {
    return badInput(
        fmt::format("{}: its input is {}; replicas share the statistics of float32, float16 and "
                    "bfloat16 only",
                    call.title(), graph::toString(x)));
  }
  SharedNormSetup setup;
  setup.rows = Rows::around(x.shape, 1, 2);
  setup.epsilon = graph::floatAttribute(call.node, "epsilon", double(1e-5F));
  setup.replicas = graph::intAttribute(call.node, "replicas", 1);
  if (setup.replicas < 1)
    return badInput(
        fmt::format("{}: its group is {} replicas; it must be at least 1", call.title(), setup.replicas));
  return setup;
}

/// The type of two float32 numbers for each channel.
TensorType pairsOf(const SharedNormSetup& setup) {
  return {ElementType::float32, {2, setup.rows.depth}};
}

Status checkPairs(const OperatorCall& call, const SharedNormSetup& setup, std::size_t input) {
  if (call.input(input) == pairsOf(setup)) return {};
  return badInput(fmt::format("{}: input {} is {}; it must be {}", call.title(), input,
                              graph::toString(call.input(input)), graph::toString(pairsOf(setup))));
}

Status checkScales(const OperatorCall& call, const SharedNormSetup& setup,
                   std::initializer_list<std::size_t> inputs) {
  for (const std::size_t input : inputs) {
    const TensorType& type = call.input(input);
    if (type.shape == Shape{setup.rows.depth} &&
        (type.element == call.input(0).element || type.element == ElementType::float32))
      continue;
    return badInput(fmt::format("{}: input {} is {}; it must hold one number for each of the {} channels",
                                call.title(), input, graph::toString(type), setup.rows.depth));
  }
  return {};
}

/// A kernel that calls run(setup, arguments, channel) for each channel, in float32.
using ChannelRun = void (*)(const SharedNormSetup&, const KernelArguments&, std::int64_t);

template <ChannelRun run>
Result<Kernel> channelKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SharedNormSetup setup, sharedNormSetupOf(call));
  Kernel kernel{[setup](const KernelArguments& a) -> Status {
                  forItems(a, setup.rows.depth, setup.perChannel(),
                           [&](std::int64_t first, std::int64_t end) {
                             for (std::int64_t channel = first; channel < end; ++channel)
                               run(setup, a, channel);
                           });
                  return {};
                },
                0};
  const ElementType type = call.input(0).element;
  return type == ElementType::float32 ? kernel : halfKernel(call, type, std::move(kernel));
}

/// Calls each(offset of a piece) for the pieces of a channel.
template <class Each>
void forPieces(const SharedNormSetup& setup, std::int64_t channel, const Each& each) {
  const Pieces pieces = setup.pieces();
  for (std::int64_t p = 0; p < pieces.count; ++p) each(setup.start(channel) + p * pieces.step);
}

// --- BatchMoments --------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferMoments(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SharedNormSetup setup, sharedNormSetupOf(call));
  return std::vector<TensorType>{pairsOf(setup)};
}

void momentsOfChannel(const SharedNormSetup& setup, const KernelArguments& a, std::int64_t channel) {
  const Moments<float> own = momentsOf(setup.pieces(), a.input<float>(0) + setup.start(channel));
  a.output<float>(0)[channel] = own.mean;
  a.output<float>(0)[setup.rows.depth + channel] = own.variance + own.mean * own.mean;
}

std::vector<Work> momentsWork(const OperatorCall& call) {
  const SharedNormSetup setup = *sharedNormSetupOf(call);
  const ElementType type = call.input(0).element;
  return {{Reduce{ReduceFunction::mean, setup.rows.depth, setup.perChannel(), false, type}, 1, "Mean"},
          {Reduce{ReduceFunction::squareSum, setup.rows.depth, setup.perChannel(), false, type}, 1, "Power"}};
}

// --- SharedBatchNormalization --------------------------------------------------------------------

Result<std::vector<TensorType>> inferSharedNorm(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SharedNormSetup setup, sharedNormSetupOf(call));
  PIPESCOPE_TRY(checkScales(call, setup, {1, 2}));
  PIPESCOPE_TRY(checkPairs(call, setup, 3));
  const TensorType statistic{ElementType::float32, {setup.rows.depth}};
  return std::vector<TensorType>{call.input(0), statistic, statistic};
}

void normaliseShared(const SharedNormSetup& setup, const KernelArguments& a, std::int64_t channel) {
  const Moments<float> group = setup.momentsOfGroup(a.input<float>(3), channel);
  if (float* mean = a.output<float>(1)) mean[channel] = group.mean;
  if (float* variance = a.output<float>(2)) variance[channel] = group.variance;
  const float mean = group.mean, factor = a.input<float>(1)[channel] * group.inverse(setup.epsilon),
              bias = a.input<float>(2)[channel];
  forPieces(setup, channel, [&](std::int64_t at) {
    mapOne(a.input<float>(0) + at, a.output<float>(0) + at, setup.rows.inner,
           [=](float value) { return (value - mean) * factor + bias; });
  });
}

std::vector<Work> sharedNormWork(const OperatorCall& call) {
  const SharedNormSetup setup = *sharedNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = setup.rows.depth;
  return {{Map{MapFunction::rsqrt, channels, 1, type, false}, 1, "InverseDeviation"},
          {Map{MapFunction::multiply, channels, 2, type, true}, 1, "Factor"},
          {Map{MapFunction::scaledAdd, channels, 2, type, false}, 1, "Addend"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"},
          {Map{MapFunction::add, all, 2, type, true}, 1, "Bias"}};
}

Status sharedNormGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const graph::TensorId x = node.inputs[0], scale = node.inputs[1], moments = node.inputs[3],
                        up = builder.outputGradient(0);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && builder.outputGradient(i).valid())
      return badInput(builder.call().title() + ": cannot train through its statistics");
  }
  const graph::Attributes group{{"replicas", graph::intAttribute(node, "replicas", 1)}};
  graph::Attributes attributes = group;
  attributes["epsilon"] = graph::floatAttribute(node, "epsilon", double(1e-5F));
  PIPESCOPE_ASSIGN(const std::vector<graph::TensorId> own,
                   builder.addMany("SharedNormSums", "grad_sums", {x, scale, up, moments}, attributes, 4));
  if (builder.wants(1)) builder.setInputGradient(1, own[1]);
  if (builder.wants(2)) builder.setInputGradient(2, own[2]);
  if (!builder.wants(0)) return {};
  PIPESCOPE_ASSIGN(const graph::TensorId sums, builder.add("ReplicaSum", "grad_group", {own[0]}, group));
  return builder.addFor(0, "SharedNormGradient", "grad_input", {own[3], scale, up, moments, sums},
                        attributes);
}

// --- SharedNormSums ------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferNormSums(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SharedNormSetup setup, sharedNormSetupOf(call));
  PIPESCOPE_TRY(checkScales(call, setup, {1}));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  PIPESCOPE_TRY(checkPairs(call, setup, 3));
  return std::vector<TensorType>{pairsOf(setup), call.input(1), call.input(1), call.input(0)};
}

void sumsOfChannel(const SharedNormSetup& setup, const KernelArguments& a, std::int64_t channel) {
  const Moments<float> group = setup.momentsOfGroup(a.input<float>(3), channel);
  const float mean = group.mean, inverse = group.inverse(setup.epsilon);
  const std::int64_t start = setup.start(channel);
  const GradientSums<float> sums =
      gradientSums(setup.pieces(), a.input<float>(0) + start, a.input<float>(2) + start, mean, inverse);
  a.output<float>(0)[channel] = sums.bias;
  a.output<float>(0)[setup.rows.depth + channel] = sums.scale;
  a.output<float>(1)[channel] = sums.scale;
  a.output<float>(2)[channel] = sums.bias;
  forPieces(setup, channel, [&](std::int64_t at) {
    mapOne(a.input<float>(0) + at, a.output<float>(3) + at, setup.rows.inner,
           [=](float value) { return (value - mean) * inverse; });
  });
}

/// PopLibs reduces for the gradients by scale and bias once more, apart from the sums of the group.
std::vector<Work> normSumsWork(const OperatorCall& call) {
  const SharedNormSetup setup = *sharedNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), channels = setup.rows.depth;
  const Work product{Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"},
      sums{Reduce{ReduceFunction::sum, 2 * channels, setup.perChannel(), false, type}, 1, "Sums"};
  return {{Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Whiten"},
          {Map{MapFunction::multiply, all, 2, type, false}, 1, "Scale"},
          product,
          product,
          sums,
          sums};
}

// --- SharedNormGradient --------------------------------------------------------------------------

Result<std::vector<TensorType>> inferSharedNormGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SharedNormSetup setup, sharedNormSetupOf(call));
  PIPESCOPE_TRY(checkScales(call, setup, {1}));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  PIPESCOPE_TRY(checkPairs(call, setup, 3));
  PIPESCOPE_TRY(checkPairs(call, setup, 4));
  return std::vector<TensorType>{call.input(0)};
}

/// dx = scale ÷ deviation · (dy − Σ dy ÷ n − x̂·Σ dy·x̂ ÷ n), where n counts the elements of all replicas.
void gradientOfShared(const SharedNormSetup& setup, const KernelArguments& a, std::int64_t channel) {
  const Moments<float> group = setup.momentsOfGroup(a.input<float>(3), channel);
  const auto count = static_cast<float>(setup.perChannel() * setup.replicas);
  const float factor = a.input<float>(1)[channel] * group.inverse(setup.epsilon),
              shift = a.input<float>(4)[channel] / count,
              tilt = a.input<float>(4)[setup.rows.depth + channel] / count;
  forPieces(setup, channel, [&](std::int64_t at) {
    const float *whitened = a.input<float>(0) + at, *up = a.input<float>(2) + at;
    float* to = a.output<float>(0) + at;
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t i = 0; i < setup.rows.inner; ++i) to[i] = factor * (up[i] - shift - whitened[i] * tilt);
  });
}

std::vector<Work> sharedNormGradientWork(const OperatorCall& call) {
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  return {{Map{MapFunction::copy, all, 1, type, false}, 1, "Copy"},
          {Map{MapFunction::multiply, all, 2, type, false}, 1, "VarianceGradient"},
          {Map{MapFunction::add, all, 2, type, true}, 1, "MeanGradient"},
          {Map{MapFunction::scaledAdd, all, 2, type, true}, 1, "AddGradients"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "InverseDeviation"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(shared_batch_normalization) {
  const std::vector<AttributeRule> attributes{{"epsilon", AttributeKind::real},
                                              {"replicas", AttributeKind::integer}};
  registry.add({.type = "BatchMoments",
                .attributes = {},
                .infer = inferMoments,
                .kernel = channelKernel<momentsOfChannel>,
                .work = momentsWork});
  registry.add({.type = "SharedBatchNormalization",
                .attributes = attributes,
                .minInputs = 4,
                .maxInputs = 4,
                .maxOutputs = 3,
                .infer = inferSharedNorm,
                .kernel = channelKernel<normaliseShared>,
                .work = sharedNormWork,
                .gradient = sharedNormGradient,
                .inPlaceInput = 0});
  registry.add({.type = "SharedNormSums",
                .attributes = attributes,
                .minInputs = 4,
                .maxInputs = 4,
                .maxOutputs = 4,
                .infer = inferNormSums,
                .kernel = channelKernel<sumsOfChannel>,
                .work = normSumsWork});
  registry.add({.type = "SharedNormGradient",
                .attributes = attributes,
                .minInputs = 5,
                .maxInputs = 5,
                .infer = inferSharedNormGradient,
                .kernel = channelKernel<gradientOfShared>,
                .work = sharedNormGradientWork,
                .inPlaceInput = 2});
}

}  // namespace pipescope::ops

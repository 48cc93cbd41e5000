// FusedAttention: softmax(q·k, masked and scaled)·v without its scores in memory, and its gradient. Only
// IRs hold it (compile/fused_attention.h): numbers are computed by the operators that it stands for, so it
// has no kernel. A device computes it block by block: a block of scores is made, becomes exponentials, and is
// multiplied with values, while the largest score and the sum of a row are kept up to date. The backward pass
// makes the scores again from the logarithm of these sums. (D: Dao et al. 2022, FlashAttention, algorithms 1
// and 4; Habana's FusedSDPA does the same.)
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/dense/matmul_setup.h"

namespace pipescope::ops {
namespace {

#define PIPESCOPE_COUNTED(id, name) +1
constexpr std::int64_t kMapFunctions = 0 PIPESCOPE_MAP_FUNCTIONS(PIPESCOPE_COUNTED);
#undef PIPESCOPE_COUNTED

/// Keys of a block, whose scores are summed in one go (R).
constexpr std::int64_t kBlockKeys = 1024;

struct AttentionSetup {
  MatMulSetup scores, context;
  std::int64_t all = 0;  ///< scores
  ElementType type = ElementType::float32, factors = ElementType::float32, inner = ElementType::float32;
  std::vector<MapFunction> functions;  ///< functions of each score, besides the softmax
  bool draws = false;

  TensorType statistics() const {
    Shape rows = scores.result;
    rows.back() = 1;
    return {ElementType::float32, rows};
  }
};

/// The setup from the queries (input `first`), keys and values behind them.
Result<AttentionSetup> attentionSetup(const OperatorCall& call, std::size_t first) {
  AttentionSetup setup;
  setup.type = call.input(first).element;
  PIPESCOPE_ASSIGN(setup.scores, matMulSetup(call, call.input(first).shape, call.input(first + 1).shape));
  PIPESCOPE_ASSIGN(setup.context, matMulSetup(call, setup.scores.result, call.input(first + 2).shape));
  // A query computes with so many of the keys, on average.
  if (const std::vector<std::int64_t> seen = graph::intsAttribute(call.node, "keys_seen", {});
      seen.size() == 1) {
    if (seen[0] < 0 || seen[0] > setup.scores.n)
      return base::badInput(
          fmt::format("{}: keys_seen is {}, but there are {} keys", call.title(), seen[0], setup.scores.n));
    setup.scores.n = setup.context.k = std::max<std::int64_t>(1, seen[0]);
  }
  setup.all = setup.scores.matrices * setup.scores.m * setup.scores.n;
  if (setup.all <= 0 || setup.scores.k <= 0 || setup.context.n <= 0)
    return base::badInput(fmt::format("{}: its factors have no elements", call.title()));
  for (const char* type : {"factors", "inner"}) {
    const std::int64_t number = graph::intAttribute(call.node, type, 0);
    if (number < 0 || number > static_cast<std::int64_t>(ElementType::float8_152fnuz))
      return base::badInput(fmt::format("{}: there is no element type {} ({})", call.title(), number, type));
  }
  for (const std::int64_t function : graph::intsAttribute(call.node, "functions", {}))
    if (function < 0 || function >= kMapFunctions)
      return base::badInput(fmt::format("{}: there is no function {}", call.title(), function));
  setup.factors = static_cast<ElementType>(
      graph::intAttribute(call.node, "factors", static_cast<std::int64_t>(setup.type)));
  setup.inner = static_cast<ElementType>(
      graph::intAttribute(call.node, "inner", static_cast<std::int64_t>(setup.type)));
  for (const std::int64_t function : graph::intsAttribute(call.node, "functions", {}))
    setup.functions.push_back(static_cast<MapFunction>(function));
  setup.draws = graph::intAttribute(call.node, "draws", 0) != 0;
  return setup;
}

/// True if the operator adds to what the steps of a ring before it have computed, its last inputs.
bool merges(const OperatorCall& call) {
  return graph::intAttribute(call.node, "merges", 0) != 0;
}

/// Adds a product, whose factors are cast first where products multiply a smaller type.
void addAttentionProduct(std::vector<Work>& work, const AttentionSetup& setup, const MatMulSetup& product,
                         Contraction::Phase phase, const char* label) {
  if (setup.factors != setup.type) {
    const std::int64_t left = product.matrices * product.m * product.k;
    work.push_back({Map{MapFunction::cast, left, 1, setup.type, false}, 1, std::string(label) + "Cast"});
  }
  work.push_back(
      {productsOf(product.matrices, product.m, product.k, product.n, phase, setup.factors), 1, label});
}

/// Scale, mask and dropout of the scores.
void addFunctions(std::vector<Work>& work, const AttentionSetup& setup) {
  for (const MapFunction function : setup.functions)
    work.push_back({Map{function, setup.all, 2, setup.inner, true}, 1, "Scores"});
  if (setup.draws) work.push_back({Random{setup.all, setup.inner}, 1, "Mask"});
}

std::vector<Work> attentionWork(const OperatorCall& call) {
  const AttentionSetup setup = *attentionSetup(call, 0);
  const std::int64_t rows = setup.scores.matrices * setup.scores.m;
  const std::int64_t depth = std::min(kBlockKeys, setup.scores.n), blocks = ceilDiv(setup.scores.n, depth);
  const std::int64_t results = setup.context.matrices * setup.context.m * setup.context.n;
  std::vector<Work> work;
  addAttentionProduct(work, setup, setup.scores, Contraction::Phase::forward, "Scores");
  addFunctions(work, setup);
  work.push_back({Reduce{ReduceFunction::max, rows * blocks, depth, true, setup.inner}, 1, "Max"});
  work.push_back({Map{MapFunction::subtract, setup.all, 2, setup.inner, true}, 1, "Shift"});
  work.push_back({Map{MapFunction::fastExp, setup.all, 1, setup.inner, true}, 1, "Exp"});
  work.push_back({Reduce{ReduceFunction::sum, rows * blocks, depth, true, setup.inner}, 1, "Sum"});
  addAttentionProduct(work, setup, setup.context, Contraction::Phase::forward, "Context");
  work.push_back({Map{MapFunction::normalise, results, 2, setup.type, true}, 1, "Normalise"});
  if (merges(call)) {
    // The larger sum of a row scales both results.
    work.push_back({Map{MapFunction::exp, rows, 2, ElementType::float32, true}, 1, "Scale"});
    work.push_back({Map{MapFunction::scaledAdd, results, 3, setup.type, true}, 1, "Merge"});
  }
  return work;
}

Result<std::vector<TensorType>> inferAttention(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AttentionSetup setup, attentionSetup(call, 0));
  return std::vector<TensorType>{{setup.type, setup.context.result}, setup.statistics()};
}

Status attentionGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  std::vector<graph::TensorId> inputs{builder.outputGradient(0)};
  inputs.insert(inputs.end(), node.outputs.begin(), node.outputs.end());
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  PIPESCOPE_ASSIGN(
      const std::vector<graph::TensorId> gradients,
      builder.addMany("GradFusedAttention", "grad_input", std::move(inputs), node.attributes, 3));
  for (std::size_t input = 0; input < 3; ++input) {
    if (builder.wants(input)) builder.setInputGradient(input, gradients[input]);
  }
  return {};
}

// --- Gradient: dy, y, statistics, q, k, v … → dq, dk, dv -----------------------------------------

constexpr std::size_t kQueries = 3;

Result<std::vector<TensorType>> inferAttentionGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(attentionSetup(call, kQueries));
  return std::vector<TensorType>{call.input(kQueries), call.input(kQueries + 1), call.input(kQueries + 2)};
}

std::vector<Work> attentionGradientWork(const OperatorCall& call) {
  using Phase = Contraction::Phase;
  const AttentionSetup setup = *attentionSetup(call, kQueries);
  const std::int64_t rows = setup.scores.matrices * setup.scores.m;
  const std::int64_t results = setup.context.matrices * setup.context.m * setup.context.n;
  std::vector<Work> work;
  addAttentionProduct(work, setup, setup.scores, Phase::forward, "Scores");
  work.push_back({Map{MapFunction::multiply, results, 2, setup.type, false}, 1, "Product"});
  work.push_back({Reduce{ReduceFunction::sum, rows, setup.context.n, true, setup.type}, 1, "RowSum"});
  addFunctions(work, setup);
  work.push_back({Map{MapFunction::subtract, setup.all, 2, setup.inner, true}, 1, "Shift"});
  work.push_back({Map{MapFunction::fastExp, setup.all, 1, setup.inner, true}, 1, "Exp"});
  addAttentionProduct(work, setup, setup.context, Phase::weightGradient, "Values");
  addAttentionProduct(work, setup, setup.context, Phase::inputGradient, "Weights");
  addFunctions(work, setup);
  work.push_back({Map{MapFunction::subtract, setup.all, 2, setup.inner, true}, 1, "Subtract"});
  work.push_back({Map{MapFunction::multiply, setup.all, 2, setup.inner, true}, 1, "Scale"});
  addAttentionProduct(work, setup, setup.scores, Phase::inputGradient, "Queries");
  addAttentionProduct(work, setup, setup.scores, Phase::weightGradient, "Keys");
  if (merges(call)) {
    for (std::size_t i = kQueries; i < kQueries + 3; ++i)
      work.push_back({Map{MapFunction::add, call.input(i).elements(), 2, setup.type, true}, 1, "Merge"});
  }
  return work;
}

const std::vector<AttributeRule> kAttributes{{"functions", AttributeKind::integers},
                                             {"factors", AttributeKind::integer},
                                             {"inner", AttributeKind::integer},
                                             {"draws", AttributeKind::integer},
                                             {"keys_seen", AttributeKind::integers},
                                             {"merges", AttributeKind::integer},
                                             {"causal", AttributeKind::integer},  // it makes the mask itself
                                             // A ring has these, which ranks/ranks.h names.
                                             {"ranks", AttributeKind::integer},
                                             {"mesh_axis", AttributeKind::text}};

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(fused_attention) {
  registry.add({.type = "FusedAttention",
                .attributes = kAttributes,
                .minInputs = 3,
                .maxInputs = 32,
                .maxOutputs = 2,
                .infer = inferAttention,
                .work = attentionWork,
                .gradient = attentionGradient});
  registry.add({.type = "GradFusedAttention",
                .attributes = kAttributes,
                .minInputs = 6,
                .maxInputs = 40,
                .maxOutputs = 3,
                .infer = inferAttentionGradient,
                .work = attentionGradientWork});
}

}  // namespace pipescope::ops

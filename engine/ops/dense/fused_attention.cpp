// FusedAttention: softmax(q·k, masked and scaled)·v without its scores in memory, and its gradient. Only
// plans hold it (compile/fused_attention.h): numbers are computed by the operators that it stands for, so it
// has no kernel. A device computes it block by block: a block of scores is made, becomes exponentials, and is
// multiplied with values, while the largest score and the sum of a row are kept up to date. The backward pass
// makes the scores again from the logarithm of these sums. (D: Dao et al. 2022, FlashAttention, algorithms 1
// and 4; Habana's FusedSDPA does the same.)
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/dense/matmul_plan.h"

namespace pipescope::ops {
namespace {

#define PIPESCOPE_COUNTED(id, name) +1
constexpr std::int64_t kMapFunctions = 0 PIPESCOPE_MAP_FUNCTIONS(PIPESCOPE_COUNTED);
#undef PIPESCOPE_COUNTED

/// Keys of a block, whose scores are summed in one go (R).
constexpr std::int64_t kBlockKeys = 1024;

struct AttentionPlan {
  MatMulPlan scores, context;
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

/// The plan from the queries (input `first`), keys and values behind them.
Result<AttentionPlan> attentionPlan(const OperatorCall& call, std::size_t first) {
  AttentionPlan plan;
  plan.type = call.input(first).element;
  PIPESCOPE_ASSIGN(plan.scores, matMulPlan(call, call.input(first).shape, call.input(first + 1).shape));
  PIPESCOPE_ASSIGN(plan.context, matMulPlan(call, plan.scores.result, call.input(first + 2).shape));
  // A query computes with so many of the keys, on average.
  if (const std::vector<std::int64_t> seen = graph::intsAttribute(call.node, "keys_seen", {});
      seen.size() == 1) {
    if (seen[0] < 0 || seen[0] > plan.scores.n)
      return base::badInput(
          fmt::format("{}: keys_seen is {}, but there are {} keys", call.title(), seen[0], plan.scores.n));
    plan.scores.n = plan.context.k = std::max<std::int64_t>(1, seen[0]);
  }
  plan.all = plan.scores.matrices * plan.scores.m * plan.scores.n;
  if (plan.all <= 0 || plan.scores.k <= 0 || plan.context.n <= 0)
    return base::badInput(fmt::format("{}: its factors have no elements", call.title()));
  for (const char* type : {"factors", "inner"}) {
    const std::int64_t number = graph::intAttribute(call.node, type, 0);
    if (number < 0 || number > static_cast<std::int64_t>(ElementType::float8_152fnuz))
      return base::badInput(fmt::format("{}: there is no element type {} ({})", call.title(), number, type));
  }
  for (const std::int64_t function : graph::intsAttribute(call.node, "functions", {}))
    if (function < 0 || function >= kMapFunctions)
      return base::badInput(fmt::format("{}: there is no function {}", call.title(), function));
  plan.factors = static_cast<ElementType>(
      graph::intAttribute(call.node, "factors", static_cast<std::int64_t>(plan.type)));
  plan.inner =
      static_cast<ElementType>(graph::intAttribute(call.node, "inner", static_cast<std::int64_t>(plan.type)));
  for (const std::int64_t function : graph::intsAttribute(call.node, "functions", {}))
    plan.functions.push_back(static_cast<MapFunction>(function));
  plan.draws = graph::intAttribute(call.node, "draws", 0) != 0;
  return plan;
}

/// True if the operator adds to what the steps of a ring before it have computed, its last inputs.
bool merges(const OperatorCall& call) {
  return graph::intAttribute(call.node, "merges", 0) != 0;
}

/// Adds a product, whose factors are cast first where products multiply a smaller type.
void addAttentionProduct(std::vector<Work>& work, const AttentionPlan& plan, const MatMulPlan& product,
                         Contraction::Phase phase, const char* label) {
  if (plan.factors != plan.type) {
    const std::int64_t left = product.matrices * product.m * product.k;
    work.push_back({Map{MapFunction::cast, left, 1, plan.type, false}, 1, std::string(label) + "Cast"});
  }
  work.push_back(
      {productsOf(product.matrices, product.m, product.k, product.n, phase, plan.factors), 1, label});
}

/// Scale, mask and dropout of the scores.
void addFunctions(std::vector<Work>& work, const AttentionPlan& plan) {
  for (const MapFunction function : plan.functions)
    work.push_back({Map{function, plan.all, 2, plan.inner, true}, 1, "Scores"});
  if (plan.draws) work.push_back({Random{plan.all, plan.inner}, 1, "Mask"});
}

std::vector<Work> attentionWork(const OperatorCall& call) {
  const AttentionPlan plan = *attentionPlan(call, 0);
  const std::int64_t rows = plan.scores.matrices * plan.scores.m;
  const std::int64_t depth = std::min(kBlockKeys, plan.scores.n), blocks = ceilDiv(plan.scores.n, depth);
  const std::int64_t results = plan.context.matrices * plan.context.m * plan.context.n;
  std::vector<Work> work;
  addAttentionProduct(work, plan, plan.scores, Contraction::Phase::forward, "Scores");
  addFunctions(work, plan);
  work.push_back({Reduce{ReduceFunction::max, rows * blocks, depth, true, plan.inner}, 1, "Max"});
  work.push_back({Map{MapFunction::subtract, plan.all, 2, plan.inner, true}, 1, "Shift"});
  work.push_back({Map{MapFunction::exp, plan.all, 1, plan.inner, true}, 1, "Exp"});
  work.push_back({Reduce{ReduceFunction::sum, rows * blocks, depth, true, plan.inner}, 1, "Sum"});
  addAttentionProduct(work, plan, plan.context, Contraction::Phase::forward, "Context");
  work.push_back({Map{MapFunction::normalise, results, 2, plan.type, true}, 1, "Normalise"});
  if (merges(call)) {
    // The larger sum of a row scales both results.
    work.push_back({Map{MapFunction::exp, rows, 2, ElementType::float32, true}, 1, "Scale"});
    work.push_back({Map{MapFunction::scaledAdd, results, 3, plan.type, true}, 1, "Merge"});
  }
  return work;
}

Result<std::vector<TensorType>> inferAttention(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AttentionPlan plan, attentionPlan(call, 0));
  return std::vector<TensorType>{{plan.type, plan.context.result}, plan.statistics()};
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
  PIPESCOPE_TRY(attentionPlan(call, kQueries));
  return std::vector<TensorType>{call.input(kQueries), call.input(kQueries + 1), call.input(kQueries + 2)};
}

std::vector<Work> attentionGradientWork(const OperatorCall& call) {
  using Phase = Contraction::Phase;
  const AttentionPlan plan = *attentionPlan(call, kQueries);
  const std::int64_t rows = plan.scores.matrices * plan.scores.m;
  const std::int64_t results = plan.context.matrices * plan.context.m * plan.context.n;
  std::vector<Work> work;
  addAttentionProduct(work, plan, plan.scores, Phase::forward, "Scores");
  work.push_back({Map{MapFunction::multiply, results, 2, plan.type, false}, 1, "Product"});
  work.push_back({Reduce{ReduceFunction::sum, rows, plan.context.n, true, plan.type}, 1, "RowSum"});
  addFunctions(work, plan);
  work.push_back({Map{MapFunction::subtract, plan.all, 2, plan.inner, true}, 1, "Shift"});
  work.push_back({Map{MapFunction::exp, plan.all, 1, plan.inner, true}, 1, "Exp"});
  addAttentionProduct(work, plan, plan.context, Phase::weightGradient, "Values");
  addAttentionProduct(work, plan, plan.context, Phase::inputGradient, "Weights");
  addFunctions(work, plan);
  work.push_back({Map{MapFunction::subtract, plan.all, 2, plan.inner, true}, 1, "Subtract"});
  work.push_back({Map{MapFunction::multiply, plan.all, 2, plan.inner, true}, 1, "Scale"});
  addAttentionProduct(work, plan, plan.scores, Phase::inputGradient, "Queries");
  addAttentionProduct(work, plan, plan.scores, Phase::weightGradient, "Keys");
  if (merges(call)) {
    for (std::size_t i = kQueries; i < kQueries + 3; ++i)
      work.push_back({Map{MapFunction::add, call.input(i).elements(), 2, plan.type, true}, 1, "Merge"});
  }
  return work;
}

const std::vector<AttributeRule> kAttributes{{"functions", AttributeKind::integers},
                                             {"factors", AttributeKind::integer},
                                             {"inner", AttributeKind::integer},
                                             {"draws", AttributeKind::integer},
                                             {"keys_seen", AttributeKind::integers},
                                             {"merges", AttributeKind::integer},
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

// Pooling, reductions, embeddings and recurrent layers.
#include <algorithm>

#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {
namespace {

using graph::ElementType;
using model::Pass;

}  // namespace

base::Result<LayerPlan> planPooling(LayerOptions& options) {
  for (const char* extent : {"field", "channels"}) options.require(extent);
  ops::Pool pool;
  pool.type = typeOf(options, "data-type", ElementType::float16);
  pool.field = options.list("field");
  const std::size_t n = pool.field.size();
  pool.kernel = options.list(options.has("kernel") ? "kernel" : "kernel-size", n, 1);
  pool.stride = options.list("stride", n, 1);
  const auto both = options.list("padding", n, 0, 0);
  const auto lower = options.has("padding-lower") ? options.list("padding-lower", n, 0, 0) : both,
             upper = options.has("padding-upper") ? options.list("padding-upper", n, 0, 0) : both;
  pool.batch = options.number("batch-size", 1);
  pool.channels = options.number("channels", 1);
  const std::string function = options.choice("pooling-type", {"max", "avg", "average", "sum"}, "max");
  pool.function = function == "max" ? ops::PoolFunction::max : ops::PoolFunction::average;
  options.ignore({"fwd-chans-per-group", "bwd-chans-per-group"});
  const Phases phases = phasesOf(options, true);
  PIPESCOPE_TRY(options.status());
  graph::Shape in{pool.batch, pool.channels}, out = in;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t room = pool.field[i] + lower[i] + upper[i] - pool.kernel[i];
    pool.output.push_back(room < 0 ? 0 : room / pool.stride[i] + 1);
    in.push_back(pool.field[i]);
    out.push_back(pool.output[i]);
  }
  options.checkShapes({in, out});
  PIPESCOPE_TRY(options.status());
  IrAssembler plan;
  const auto input = plan.kept("prevAct", pool.type, in), output = plan.kept("nextAct", pool.type, out);
  plan.add(Pass::forward, "fwd", "Pool", {{pool, 1, ""}}, {input}, {output});
  if (phases.backward) {
    const auto deltas = plan.kept("zDeltas", pool.type, out),
               gradient = plan.kept("prevDeltas", pool.type, in);
    pool.backward = true;
    plan.add(Pass::backward, "bwd", "PoolGradient", {{pool, 1, ""}}, {input, output, deltas}, {gradient});
  }
  return LayerPlan{plan.finish(), 0};
}

base::Result<LayerPlan> planReduction(LayerOptions& options) {
  for (const char* extent : {"shape", "dims"}) options.require(extent);
  const ElementType type = typeOf(options, "type", ElementType::float32);
  const auto shape = options.list("shape"), dims = options.list("dims", 0);
  const std::string operation = options.choice(
      "operation", {"ADD", "SQUARE_ADD", "MUL", "MIN", "MAX", "LOGICAL_AND", "LOGICAL_OR"}, "ADD");
  const double scale = options.real("scale", 1);
  const bool update = options.flag("update", false);
  options.checkShapes({shape});
  PIPESCOPE_TRY(options.status());
  for (const std::int64_t dim : dims) {
    if (dim >= static_cast<std::int64_t>(shape.size()))
      return base::badInput("option --dims names axis " + std::to_string(dim) + ", but the shape has " +
                            std::to_string(shape.size()));
  }
  ops::Reduce reduce;
  reduce.function = operation == "SQUARE_ADD" ? ops::ReduceFunction::squareSum
                    : operation == "ADD"      ? ops::ReduceFunction::sum
                                              : ops::ReduceFunction::max;
  reduce.type = type;
  graph::Shape kept;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end();
    (reduced ? reduce.depth : reduce.outputs) *= shape[i];
    if (!reduced) kept.push_back(shape[i]);
  }
  reduce.contiguous = !dims.empty() && *std::max_element(dims.begin(), dims.end()) ==
                                           static_cast<std::int64_t>(shape.size()) - 1;
  // Counts from the innermost axis on: axes that are all reduced or all kept, then axes that are not.
  reduce.run = reduce.rows = 1;
  bool inner = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end();
    if (!inner && reduced == reduce.contiguous) break;
    inner = inner && reduced == reduce.contiguous;
    (inner ? reduce.run : reduce.rows) *= shape[i];
  }
  IrAssembler plan;
  const auto input = plan.kept("input", type, shape), output = plan.temporary("output", type, kept);
  std::vector<ops::Work> work{{reduce, 1, ""}};
  if (scale != 1 || update)
    work.push_back({ops::Map{ops::MapFunction::scaledAdd, reduce.outputs, 2, type, true}, 1, "Update"});
  plan.add(Pass::forward, "reduce", "Reduce", work, {input}, {output});
  return LayerPlan{plan.finish(), 0};
}

base::Result<LayerPlan> planEmbedding(LayerOptions& options) {
  for (const char* extent : {"shape", "num-indices"}) options.require(extent);
  const ElementType type = typeOf(options, "data-type", ElementType::float16);
  const auto shape = options.list("shape"), counts = options.list("num-indices");
  const std::string pass = options.choice("pass", {"both", "fwd", "wu"}, "both");
  if (shape.size() == 2) {
    options.checkShapes({shape});
    for (const std::int64_t count : counts) options.checkShapes({{count, shape[1]}});
  }
  PIPESCOPE_TRY(options.status());
  if (shape.size() != 2) return base::badInput("option --shape must have two numbers");
  IrAssembler plan;
  const auto table = plan.kept("embedding", type, shape);
  for (const bool update : {false, true}) {
    if (pass == (update ? "fwd" : "wu")) continue;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::string number = "_" + std::to_string(i);
      const auto indices = plan.kept("indices" + number, ElementType::int32, {counts[i]});
      const auto rows = plan.kept((update ? "deltas" : "extracted") + number, type, {counts[i], shape[1]});
      if (update) {
        plan.add(Pass::backward, "update" + number, "MultiUpdateAdd",
                 {{ops::Scatter{counts[i], shape[1], shape[0], true, type}, 1, ""}}, {table, indices, rows},
                 {table});
      } else {
        plan.add(Pass::forward, "gather" + number, "MultiSlice",
                 {{ops::Gather{counts[i], shape[1], shape[0], type}, 1, ""}}, {table, indices}, {rows});
      }
    }
  }
  return LayerPlan{plan.finish(), 0};
}

}  // namespace pipescope::conformance

// MaxPool with its optional Indices, GlobalMaxPool, and GradMaxPool.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/pooling/pool_kernels.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<PoolSetup> maxPoolSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  PoolSetup setup;
  std::vector<std::int64_t> kernel = graph::intsAttribute(call.node, "kernel_shape", {});
  if (call.node.op == "GlobalMaxPool" && x.size() > 2) kernel.assign(x.begin() + 2, x.end());
  if (kernel.empty()) return badInput(fmt::format("{}: attribute kernel_shape is missing", call.title()));
  PIPESCOPE_ASSIGN(setup.window, windowOf(call, x, kernel));
  const Window& w = setup.window;
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::int64_t reach = (w.kernel[a] - 1) * w.dilation[a] + 1;
    const bool padded = w.padBegin[a] > 0 || w.padEnd[a] > 0;
    // Padding of the kernel's reach, or a dilation beyond the input, would let a window cover padding only.
    if (w.padBegin[a] < reach && w.padEnd[a] < reach && (!padded || w.dilation[a] <= w.input[a])) continue;
    return badInput(fmt::format(
        "{}: on spatial axis {} a window may cover padding only (padding {} + {}, kernel reaching over {}, "
        "dilation {}, input {}); give less padding",
        call.title(), a, w.padBegin[a], w.padEnd[a], reach, w.dilation[a], w.input[a]));
  }
  setup.planes = x[0] * x[1];
  return setup;
}

Work poolingWork(const OperatorCall& call, const PoolSetup& setup, bool backward) {
  Pool pool = poolOf(call.input(0), setup.window, PoolFunction::max);
  pool.backward = backward;
  return {pool, 1, ""};
}

// --- MaxPool: x → y, [Indices] ---------------------------------------------------------

Result<std::vector<TensorType>> inferMaxPool(const OperatorCall& call) {
  const std::int64_t order = graph::intAttribute(call.node, "storage_order", 0);
  if (order != 0 && order != 1) {
    return badInput(fmt::format("{}: storage_order is {}; it must be 0 (row-major) or 1 (column-major)",
                                call.title(), order));
  }
  PIPESCOPE_ASSIGN(const PoolSetup setup, maxPoolSetupOf(call));
  const Shape shape = pooledShape(call, setup.window);
  return std::vector<TensorType>{{call.input(0).element, shape}, {ElementType::int64, shape}};
}

Result<Kernel> maxPoolKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PoolSetup setup, maxPoolSetupOf(call));
  const bool columnMajor = graph::intAttribute(call.node, "storage_order", 0) == 1;
  const auto make = [&]<class T>(T) {
    return Kernel{[setup, columnMajor](const KernelArguments& a) -> Status {
                    maxPool(a, setup, a.input<T>(0), a.output<T>(0), a.scratchAs<T>());
                    if (std::int64_t* indices = a.output<std::int64_t>(1)) {
                      maxPoolIndices<T>(setup, a.input<T>(0), a.output<T>(0), indices, columnMajor);
                    }
                    return {};
                  },
                  poolRanges(setup) * setup.window.input.back() * static_cast<std::int64_t>(sizeof(T))};
  };
  if (call.input(0).element == ElementType::int8) return make(std::int8_t{});
  if (call.input(0).element == ElementType::uint8) return make(std::uint8_t{});
  return kernelForFloats(call, call.input(0).element, make);
}

std::vector<Work> maxPoolWork(const OperatorCall& call) {
  return {poolingWork(call, *maxPoolSetupOf(call), false)};
}

Status maxPoolGradient(GradientBuilder& builder) {
  return addPoolGradient(builder, "GradMaxPool", "storage_order");
}

// --- GradMaxPool: x, y, dy → dx --------------------------------------------------------

Result<std::vector<TensorType>> inferGradMaxPool(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PoolSetup setup, maxPoolSetupOf(call));
  return inferPoolGradient(call, setup.window);
}

Result<Kernel> gradMaxPoolKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PoolSetup setup, maxPoolSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    maxPoolGradient(a, setup, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0));
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradMaxPoolWork(const OperatorCall& call) {
  return {poolingWork(call, *maxPoolSetupOf(call), true)};
}

std::vector<AttributeRule> maxPoolAttributes() {
  return {{"auto_pad", AttributeKind::text},      {"ceil_mode", AttributeKind::integer},
          {"dilations", AttributeKind::integers}, {"kernel_shape", AttributeKind::integers},
          {"pads", AttributeKind::integers},      {"strides", AttributeKind::integers}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(max_pool) {
  std::vector<AttributeRule> attributes = maxPoolAttributes();
  attributes.push_back({"storage_order", AttributeKind::integer});
  registry.add({.type = "MaxPool",
                .attributes = attributes,
                .maxOutputs = 2,
                .infer = inferMaxPool,
                .kernel = maxPoolKernel,
                .work = maxPoolWork,
                .gradient = maxPoolGradient});
  registry.add({.type = "GlobalMaxPool",
                .infer = inferMaxPool,
                .kernel = maxPoolKernel,
                .work = maxPoolWork,
                .gradient = maxPoolGradient});
  registry.add({.type = "GradMaxPool",
                .attributes = maxPoolAttributes(),
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferGradMaxPool,
                .kernel = gradMaxPoolKernel,
                .work = gradMaxPoolWork});
}

}  // namespace pipescope::ops

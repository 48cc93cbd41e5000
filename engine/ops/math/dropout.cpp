// Dropout: x, [ratio], [training_mode] → y, [mask]; GradDropout: dy, [ratio], [training_mode] → dx. Without
// training_mode it is the identity. The choice of the elements that stay is a function of the run's identity,
// of the attribute `sequence` (the node's name if there is none) and of `seed`. So the gradient and a
// recomputation draw the same mask again instead of keeping it.
#include <fmt/format.h>

#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/random.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct DropoutSetup {
  std::string title, sequence;
  std::int64_t count = 0;
  ElementType ratioType = ElementType::float32;
};

Status check(const OperatorCall& call) {
  if (call.has(1) && (!isFloat(call.input(1).element) || call.input(1).elements() != 1)) {
    return badInput(fmt::format("{}: its ratio is {}; it must be one floating-point number", call.title(),
                                graph::toString(call.input(1))));
  }
  if (call.has(2) && (call.input(2).element != ElementType::boolean || call.input(2).elements() != 1)) {
    return badInput(fmt::format("{}: its training mode is {}; it must be one bool", call.title(),
                                graph::toString(call.input(2))));
  }
  return {};
}

DropoutSetup dropoutSetupOf(const OperatorCall& call) {
  DropoutSetup setup;
  setup.title = call.title();
  setup.sequence = graph::stringAttribute(call.node, "sequence", originOf(call.node.name)) + "/mask";
  if (call.node.attributes.contains("seed"))
    setup.sequence += std::to_string(graph::intAttribute(call.node, "seed", 0));
  setup.count = call.input(0).elements();
  if (call.has(1)) setup.ratioType = call.input(1).element;
  return setup;
}

/// Elements stay whose number is not below the ratio, in 24 bits.
struct Mask {
  std::uint32_t dropped = 0;  ///< elements with a number below this are dropped
  double scale = 1;
  bool active = false;
};

/// The ratio. A half-precision ratio arrives as float32 if x has the same type, otherwise as it is.
template <class T>
double ratioOf(const DropoutSetup& setup, const KernelArguments& a) {
  const std::span<const std::byte> bytes = a.inputs.size() > 1 ? a.inputs[1] : std::span<const std::byte>();
  if (bytes.empty()) return 0.5;
  if (bytes.size() == sizeof(double)) return *a.input<double>(1);
  if (bytes.size() == sizeof(float)) return static_cast<double>(*a.input<float>(1));
  if (setup.ratioType == ElementType::float16) return static_cast<double>(widened(*a.input<Float16>(1)));
  return static_cast<double>(widened(*a.input<BFloat16>(1)));
}

template <class T>
Result<Mask> maskOf(const DropoutSetup& setup, const KernelArguments& a) {
  const auto* training = a.input<std::uint8_t>(2);
  const double ratio = ratioOf<T>(setup, a);
  Mask mask;
  if (!training || *training == 0) return mask;
  if (!(ratio >= 0 && ratio < 1))
    return badInput(
        fmt::format("{}: its ratio is {}; it must be 0 or more and less than 1", setup.title, ratio));
  mask.active = ratio > 0;
  mask.dropped = static_cast<std::uint32_t>(ratio * 0x1p24);
  mask.scale = 1 / (1 - ratio);
  return mask;
}

/// y is the scaled x if the element stays, otherwise 0.
template <class T>
void drop(const DropoutSetup& setup, const Mask& mask, const RunIdentity& identity, const T* x, T* y,
          std::uint8_t* kept) {
  const RandomSequence random(identity, setup.sequence);
  const T scale = static_cast<T>(mask.scale);
  constexpr std::int64_t kBlock = 256;
  for (std::int64_t start = 0; start < setup.count; start += kBlock) {
    const std::int64_t count = std::min(kBlock, setup.count - start);
    std::uint32_t words[kBlock];
    for (std::int64_t i = 0; i < count; i += 4) {
      const auto four = random.block(static_cast<std::uint64_t>((start + i) / 4));
      std::memcpy(words + i, four.data(), sizeof(four));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const bool stays = (words[i] >> 8) >= mask.dropped;
      y[start + i] = stays ? x[start + i] * scale : T(0);
      if (kept) kept[start + i] = stays ? 1 : 0;
    }
  }
}

template <bool kForward>
Result<std::vector<TensorType>> inferDropout(const OperatorCall& call) {
  PIPESCOPE_TRY(check(call));
  std::vector<TensorType> types{call.input(0)};
  if (kForward) types.push_back({ElementType::boolean, call.input(0).shape});
  return types;
}

Result<Kernel> dropoutKernel(const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [setup = dropoutSetupOf(call)]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    PIPESCOPE_ASSIGN(const Mask mask, maskOf<T>(setup, a));
                    const T* x = a.input<T>(0);
                    T* y = a.output<T>(0);
                    auto* kept = a.output<std::uint8_t>(1);
                    if (mask.active) {
                      drop(setup, mask, a.identity, x, y, kept);
                    } else {
                      if (x != y) std::copy_n(x, setup.count, y);
                      if (kept) std::fill_n(kept, setup.count, std::uint8_t{1});
                    }
                    return {};
                  },
                  0};
  });
}

std::vector<Work> dropoutWork(const OperatorCall& call) {
  // Without training, nothing is done. If the graph does not know the mode, training is assumed.
  const bool identity = !call.has(2) || (call.constants.size() > 2 && call.constants[2] &&
                                         call.constants[2]->front() == std::byte{0});
  if (identity) return {};
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  return {{Random{all, type}, 1, "Mask"}, {Map{MapFunction::multiply, all, 2, type, true}, 1, "Apply"}};
}

Status dropoutGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  graph::Attributes attributes = node.attributes;
  if (!attributes.contains("sequence")) attributes["sequence"] = node.name;
  std::vector<graph::TensorId> inputs{builder.outputGradient(0)};
  inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
  return builder.addFor(0, "GradDropout", "grad_input", std::move(inputs), std::move(attributes));
}

const std::vector<AttributeRule>& attributes() {
  static const std::vector<AttributeRule> rules{{"seed", AttributeKind::integer},
                                                {"sequence", AttributeKind::text}};
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(dropout) {
  registry.add({.type = "Dropout",
                .attributes = attributes(),
                .maxInputs = 3,
                .maxOutputs = 2,
                .infer = inferDropout<true>,
                .kernel = dropoutKernel,
                .work = dropoutWork,
                .gradient = dropoutGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradDropout",
                .attributes = attributes(),
                .maxInputs = 3,
                .infer = inferDropout<false>,
                .kernel = dropoutKernel,
                .work = dropoutWork,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops

#include "app/run/interface/host_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/cast_elements.h"

namespace pipescope::run {
namespace {

using base::badInput;

bool isRealType(graph::ElementType type) {
  using enum graph::ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

/// The shape without extents of 1.
graph::Shape withoutOnes(const graph::Shape& shape) {
  graph::Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](std::int64_t extent) { return extent != 1; });
  return rest;
}

/// Some models take the labels of all samples in one axis; callers may then give them sample by sample.
bool isFlattened(const ExecutableInfo& info, const TensorInfo& input, const HostTensor& tensor) {
  const std::int64_t rows = info.rowsPerCall();
  return input.type.shape.front() != info.microBatchSize && tensor.type.shape.front() == rows &&
         tensor.type.elements() == input.type.elements() * info.blocksPerIteration() * info.iterations;
}

base::Status checkTensor(const ExecutableInfo& info, const TensorInfo& input, const HostTensor& tensor) {
  const std::int64_t blocks = info.blocksPerIteration() * info.iterations;
  graph::TensorType wanted = input.type;
  wanted.shape.front() *= blocks;
  const auto refuse = [&](const std::string& why) {
    return badInput(fmt::format("Input {} is {}, but the call takes {}{}.", input.name,
                                graph::toString(tensor.type), graph::toString(wanted), why));
  };
  const bool fits =
      !tensor.type.shape.empty() &&
      (withoutOnes(tensor.type.shape) == withoutOnes(wanted.shape) || isFlattened(info, input, tensor));
  if (!fits) return refuse(fmt::format(" ({} micro-batches of {})", blocks, graph::toString(input.type)));
  if (isRealType(tensor.type.element) && !isRealType(wanted.element)) return refuse(": give whole numbers");
  if (static_cast<std::int64_t>(tensor.bytes.size()) != tensor.type.bytes().count)
    return badInput(fmt::format("Input {} is {}, but has {} bytes.", input.name, graph::toString(tensor.type),
                                tensor.bytes.size()));
  return {};
}

}  // namespace

base::Status HostInputs::check(const std::vector<HostTensor>& tensors) const {
  if (tensors.size() != info_.inputs.size())
    return badInput(fmt::format("The executable {} takes {} inputs, but {} were given.", info_.name,
                                info_.inputs.size(), tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    PIPESCOPE_TRY(checkTensor(info_, info_.inputs[i], tensors[i]));
  return {};
}

const numerics::Rows& HostInputs::rows(const std::vector<HostTensor>& tensors, std::int64_t iteration) {
  converted_.resize(tensors.size());
  rows_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const graph::TensorType& wanted = info_.inputs[i].type;
    const std::int64_t elements = wanted.elements() * info_.blocksPerIteration();
    const graph::ElementType element = tensors[i].type.element;
    const auto width = static_cast<std::size_t>(elements * graph::sizeOf(element));
    const std::span<const std::byte> part =
        tensors[i].bytes.subspan(static_cast<std::size_t>(iteration) * width, width);
    rows_[i] = part;
    if (element == wanted.element) continue;
    converted_[i].resize(static_cast<std::size_t>(elements * graph::sizeOf(wanted.element)));
    ops::castElements(element, part.data(), wanted.element, converted_[i].data(), elements);
    rows_[i] = converted_[i];
  }
  return rows_;
}

}  // namespace pipescope::run

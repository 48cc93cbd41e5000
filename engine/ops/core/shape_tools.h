#pragma once
// Helpers of operators that move and index tensors: axes, strides, and values that are known before the run.
#include <optional>
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

using Ints = std::vector<std::int64_t>;

/// The distance of neighbours along each axis of a dense row-major tensor, in elements.
Ints stridesOf(const Shape& shape);

/// The product of the extents of axes [begin, end).
std::int64_t extentsWithin(const Shape& shape, std::size_t begin, std::size_t end);

/// An axis counted from the front; fails with a sentence if it is outside [−rank, rank). `what` names it in
/// the sentence: "axis", "axes (input 1)".
Result<std::size_t> axisWithin(const OperatorCall& call, std::int64_t axis, std::size_t rank,
                               const std::string& what);
/// The same for several axes, of which none may repeat.
Result<std::vector<std::size_t>> axesWithin(const OperatorCall& call, const Ints& axes, std::size_t rank,
                                            const std::string& what);
/// The attribute `axis`, or the fallback.
Result<std::size_t> axisAttribute(const OperatorCall& call, std::int64_t fallback, std::size_t rank);

/// A single output of this type; fails with a sentence if an extent is negative or no memory could hold the
/// elements.
Result<std::vector<TensorType>> inferredAs(const OperatorCall& call, ElementType element, Shape shape);
Status requireSize(const OperatorCall& call, const Shape& shape);

/// The numbers of an input or, in older opsets and gradients, of an attribute; nothing if neither is present.
/// Fails with a sentence if both are present, or if the value of the input is not known before the run. A
/// scalar counts as one number.
Result<std::optional<Ints>> intsFrom(const OperatorCall& call, std::size_t input,
                                     const std::string& attribute);

/// The bytes of an input whose data decide the output's shape; fails with a sentence if they are not known.
Result<const std::vector<std::byte>*> shapingValue(const OperatorCall& call, std::size_t index,
                                                   const std::string& what);
/// The number of a scalar input as a double. Refuses half precision and bool.
Result<double> scalarNumber(const OperatorCall& call, std::size_t index, const std::string& what);

/// The element type with ONNX's number (TensorProto.DataType) in an attribute.
Result<ElementType> elementTypeAttribute(const OperatorCall& call, const std::string& name,
                                         ElementType fallback);

/// "2x3", or "a scalar" for no axes.
std::string extentsText(const Shape& shape);

}  // namespace pipescope::ops

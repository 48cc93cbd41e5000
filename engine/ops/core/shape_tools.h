#pragma once
// What operators that move and index tensors share: axes, strides, values known before the run.
#include <optional>
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

using Ints = std::vector<std::int64_t>;

/// Distance of neighbours along each axis of a dense row-major tensor, in elements.
Ints stridesOf(const Shape& shape);

/// Extents in [begin, end) multiplied.
std::int64_t extentsWithin(const Shape& shape, std::size_t begin, std::size_t end);

/// An axis counted from the front; a sentence where it is outside [−rank, rank). `what` names it in the
/// sentence: "axis", "axes (input 1)".
Result<std::size_t> axisWithin(const OperatorCall& call, std::int64_t axis, std::size_t rank,
                               const std::string& what);
/// Likewise for several, none named twice.
Result<std::vector<std::size_t>> axesWithin(const OperatorCall& call, const Ints& axes, std::size_t rank,
                                            const std::string& what);
/// The attribute `axis`, or the fallback.
Result<std::size_t> axisAttribute(const OperatorCall& call, std::int64_t fallback, std::size_t rank);

/// One output of this type; a sentence where an extent is negative or the elements are beyond any memory.
Result<std::vector<TensorType>> inferredAs(const OperatorCall& call, ElementType element, Shape shape);
Status requireSize(const OperatorCall& call, const Shape& shape);

/// The numbers of an input or, as older opsets and gradients give them, of an attribute; nothing where
/// neither is there; a sentence where both are or the input's value is not known before the run. A scalar
/// counts as one number.
Result<std::optional<Ints>> intsFrom(const OperatorCall& call, std::size_t input,
                                     const std::string& attribute);

/// The bytes of an input whose data decide the output's shape; a sentence where they are not known.
Result<const std::vector<std::byte>*> shapingValue(const OperatorCall& call, std::size_t index,
                                                   const std::string& what);
/// The one number of a scalar input as a double; half precision and bool are refused.
Result<double> scalarNumber(const OperatorCall& call, std::size_t index, const std::string& what);

/// The element type that an attribute names by ONNX's number (TensorProto.DataType).
Result<ElementType> elementTypeAttribute(const OperatorCall& call, const std::string& name,
                                         ElementType fallback);

/// "2x3"; "a scalar" for none.
std::string extentsText(const Shape& shape);

}  // namespace pipescope::ops

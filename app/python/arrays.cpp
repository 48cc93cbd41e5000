#include "app/python/arrays.h"

#include <cstring>
#include <memory>

#include "engine/ops/core/cast_elements.h"

namespace pipescope::python {
namespace {

namespace py = pybind11;
using graph::ElementType;

constexpr ElementType kNumpyTypes[] = {ElementType::float32, ElementType::float16, ElementType::float64,
                                       ElementType::int8,    ElementType::int16,   ElementType::int32,
                                       ElementType::int64,   ElementType::uint8,   ElementType::uint16,
                                       ElementType::uint32,  ElementType::uint64,  ElementType::boolean};

const char* numpyName(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float16:
      return "float16";
    case ElementType::float64:
      return "float64";
    case ElementType::int8:
      return "int8";
    case ElementType::int16:
      return "int16";
    case ElementType::int32:
      return "int32";
    case ElementType::int64:
      return "int64";
    case ElementType::uint8:
      return "uint8";
    case ElementType::uint16:
      return "uint16";
    case ElementType::uint32:
      return "uint32";
    case ElementType::uint64:
      return "uint64";
    case ElementType::boolean:
      return "bool";
    default:  // bfloat16 and types of eight bits
      return nullptr;
  }
}

std::vector<py::ssize_t> extentsOf(const graph::Shape& shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace

py::dtype dtypeOf(ElementType type) {
  const char* name = numpyName(type);
  if (name == nullptr)
    throw py::value_error(std::string("NumPy has no type for ") + toString(type) + ": use float32.");
  return py::dtype(name);
}

run::HostTensor viewOf(const std::string& name, const py::array& array) {
  if ((array.flags() & py::array::c_style) == 0)
    throw py::value_error(name + " is not C-contiguous: pass numpy.ascontiguousarray(…) of it.");
  graph::TensorType type;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) type.shape.push_back(array.shape(axis));
  for (const ElementType element : kNumpyTypes) {
    if (!array.dtype().is(dtypeOf(element)) && !array.dtype().equal(dtypeOf(element))) continue;
    type.element = element;
    return {type, {static_cast<const std::byte*>(array.data()), static_cast<std::size_t>(array.nbytes())}};
  }
  throw py::value_error(name + " has elements of type " + std::string(py::str(array.dtype())) +
                        ", which no tensor can have.");
}

py::array arrayOf(run::OutputTensor&& tensor) {
  if (tensor.type.element == ElementType::bfloat16) return copyOf(tensor.view());
  auto kept = std::make_unique<run::OutputTensor>(std::move(tensor));
  const run::OutputTensor* owned = kept.get();
  const py::capsule owner(kept.release(),
                          [](void* memory) { delete static_cast<run::OutputTensor*>(memory); });
  return py::array(dtypeOf(owned->type.element), extentsOf(owned->type.shape), owned->bytes.data(), owner);
}

py::array copyOf(const run::HostTensor& tensor) {
  const bool wide = tensor.type.element == ElementType::bfloat16;
  const ElementType element = wide ? ElementType::float32 : tensor.type.element;
  py::array copy(dtypeOf(element), extentsOf(tensor.type.shape));
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  if (wide) {
    ops::castElements(tensor.type.element, tensor.bytes.data(), element, to, tensor.type.elements());
  } else if (!tensor.bytes.empty()) {
    std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
  }
  return copy;
}

}  // namespace pipescope::python

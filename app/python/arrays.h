#pragma once
// Tensors as NumPy arrays, without copying where the memory can be shared.
#include <pybind11/numpy.h>

#include "app/run/interface/host_tensor.h"

namespace pipescope::python {

/// NumPy's name of an element type: "float32". NumPy has no bfloat16: ValueError.
pybind11::dtype dtypeOf(graph::ElementType type);
/// A view of an array, which must outlive it. ValueError for elements that no tensor has, and for arrays that
/// are not C-contiguous.
run::HostTensor viewOf(const std::string& name, const pybind11::array& array);
/// An array that takes over the memory of a returned tensor.
pybind11::array arrayOf(run::OutputTensor&& tensor);
/// A copy. bfloat16 becomes float32.
pybind11::array copyOf(const run::HostTensor& tensor);

}  // namespace pipescope::python

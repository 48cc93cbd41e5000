#pragma once
#include <pybind11/pybind11.h>

namespace pipescope::python {

/// Defines what pipescope/trace.py is written on.
void defineHost(pybind11::module_& m);

}  // namespace pipescope::python

#pragma once
#include <pybind11/pybind11.h>

namespace pipescope::python {

/// Defines Program, Device and Executable, which wrap app/run/interface.
void defineInterface(pybind11::module_& m);

}  // namespace pipescope::python

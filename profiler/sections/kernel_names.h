#pragma once
#include <string>

namespace pipescope::sections {

/// The name of a kernel without arguments of functions and templates, of bearable length for people.
std::string shortKernel(const std::string& name);

}  // namespace pipescope::sections

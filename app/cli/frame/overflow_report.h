#pragma once
#include <string>
#include <vector>

namespace pipescope::cli {

/// Prints on standard error what does not fit in memory: a table of the devices, and then advice in short
/// lines, as `report --section memory` shows them. `sentences` say the same; they are printed if the profile
/// cannot be read.
void sayWhatDoesNotFit(const std::vector<std::string>& sentences, const std::string& profile);

}  // namespace pipescope::cli

#pragma once
// The versions and options that differ between two profiles.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct ChangedOption {
  std::string path, before, after;  ///< empty: the profile does not have it
};

std::vector<ChangedOption> changedVersions(const Catalog& before, const Catalog& after);
/// Returns the options whose values differ in meaning. Two spellings of one value are no change:
/// ["layer4..5"] is
/// ["layer4", "layer5"], and the blocks of a stage are those that both profiles have recorded for it. Changes
/// of a what-if that no option can express are listed first, as "what-if stages.1.forward".
std::vector<ChangedOption> changedOptions(const Catalog& before, const Catalog& after);

}  // namespace pipescope::analysis

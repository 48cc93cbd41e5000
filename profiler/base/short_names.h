#pragma once
// Shortens names of devices if there is little room.
#include <string>
#include <vector>

namespace pipescope::base {

/// Names that consist of parts, such as "DP rank [0], PP rank 2, TP rank 0", without what they have in
/// common: a part that is the same in all of them, and words within a part but for the first one, as in "DP
/// [0], PP 2". Names with another number of parts than most stay as they are, and so does everything if fewer
/// than two names have parts. In "rank 0 → rank 1", both sides are names.
std::vector<std::string> shortNames(const std::vector<std::string>& names);

/// The name without the parts at its beginning that `whole` has, too. Lanes of recorded traces repeat the
/// name of their device: in "DP rank 1, PP rank 0", the lane "PP rank 0, pp-comm" becomes "pp-comm".
std::string withoutPartsOf(const std::string& whole, const std::string& name);

}  // namespace pipescope::base

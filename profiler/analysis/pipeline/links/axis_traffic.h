#pragma once
// Bytes that an emulated run moves along each axis of the mesh, within boxes and between them.
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

enum class LinkReach : std::uint8_t {
  withinBox,
  betweenBoxes,
  notKnown,  ///< the profile does not say how many chips a box has
};

/// Bytes per iteration along one axis over one kind of link.
struct AxisTraffic {
  model::MeshAxis axis = model::MeshAxis::data;
  LinkReach reach = LinkReach::notKnown;
  std::int64_t chips = 0;    ///< of the largest group that communicates
  std::int64_t senders = 0;  ///< chips that send over such links
  double mean = 0;           ///< bytes of one of them, the mean over all
  double all = 0;            ///< bytes of all of them
};

/// Sorted by axis and reach. Empty: nothing moves between chips, or the run was recorded on real devices.
///
/// Bytes are divided over links by the algorithms of `reference/parallelism.md` §2: sums, gathers and
/// scatters run inside boxes and then between ranks of equal number, so that of what a chip of g in b boxes
/// sends, the part (b − 1) ÷ (g − 1) leaves its box; in an exchange of all with all each part goes straight
/// to its receiver; on a ring the chips send to the next one. The axis `pipe` has the tensors between stages.
Result<std::vector<AxisTraffic>> axisTraffic(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable);

/// Part of what the chips of a group send in a collective of the kind that leaves boxes of so many chips; see
/// axisTraffic. `chips` ascends and has at least two.
double partBetweenBoxes(const std::string& kind, const std::vector<model::DeviceId>& chips,
                        std::int64_t chipsOfBox);

}  // namespace pipescope::analysis

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
/// Collectives divide their bytes over links by their algorithm. Sums, gathers and scatters are hierarchical:
/// they run inside each box first, and then between the ranks of equal number in all boxes. A group of g
/// chips in b boxes then sends the part (b − 1) ÷ (g − 1) of its bytes between boxes. In an all-to-all, each
/// part goes straight to its receiver. On a ring, each chip sends to the next one. The axis `pipe` has the
/// tensors between stages.
Result<std::vector<AxisTraffic>> axisTraffic(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable);

/// Returns the part of the bytes of a collective that the chips of a group send between boxes of
/// `chipsOfBox` chips; see axisTraffic. `chips` ascends and has at least two.
double partBetweenBoxes(const std::string& kind, const std::vector<model::DeviceId>& chips,
                        std::int64_t chipsOfBox);

}  // namespace pipescope::analysis

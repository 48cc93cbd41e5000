#pragma once
#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// True if the transfer joins a launch on a host thread with the kernel that it starts. Nothing moves then,
/// so reports on exchange and pictures of transfers leave it out.
inline bool isLaunch(const Catalog& catalog, const model::Transfer& transfer) {
  return transfer.kind == model::TransferKind::hostIn &&
         catalog.roleOf(transfer.fromLane) == model::LaneRole::hostThread &&
         catalog.roleOf(transfer.toLane) != model::LaneRole::hostThread;
}

}  // namespace pipescope::analysis

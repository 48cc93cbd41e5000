#pragma once
#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// True if the transfer joins a launch on a host thread with the kernel that it starts. Profiles that were
/// imported before there were arrows hold launches as copies from the host.
inline bool isLaunch(const Catalog& catalog, const model::Transfer& transfer) {
  using enum model::TransferKind;
  return (transfer.kind == arrow || transfer.kind == hostIn) &&
         catalog.roleOf(transfer.fromLane) == model::LaneRole::hostThread &&
         catalog.roleOf(transfer.toLane) != model::LaneRole::hostThread;
}

/// True if nothing moves: the transfer is a launch or another arrow of a recorded trace. Reports on traffic
/// leave it out.
inline bool movesNothing(const Catalog& catalog, const model::Transfer& transfer) {
  return transfer.kind == model::TransferKind::arrow || isLaunch(catalog, transfer);
}

}  // namespace pipescope::analysis

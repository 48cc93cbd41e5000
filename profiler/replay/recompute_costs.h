#pragma once
// Costs of a stage if it computed its forward pass again for the backward pass, or if it kept the results
// instead.
#include <map>
#include <set>

#include "profiler/replay/owned_steps.h"

namespace pipescope::replay {

/// Time that the launch at the beginning of each segment takes. Only devices that launch a program for each
/// pass have such launches.
using Launches = SegmentTicks;
/// Reads the launches of these stages from the recorded steps.
base::Result<Launches> launchesOf(const ChangeContext& context, const Recording& recording,
                                  const std::set<int>& stages);

/// Changes of the segments of some stages, read from the recorded operators and steps.
struct RecomputeCosts {
  Launches launches;
  // Costs if the stage computes again what it keeps now:
  SegmentTicks copies;    ///< copies of such results to and from the stash
  SegmentTicks notAgain;  ///< `copies`, and forward operators whose results no backward pass needs
  // Costs if it keeps what it computes again now; by stage, estimated from the pace of the recorded copies:
  std::map<int, Ticks> stashed, restored;
  // Effect of that on an entry of the stage's stash, in bytes on the whole device; by stage:
  std::map<int, Bytes> added;  ///< memory that it takes more if the stage keeps what it computes again now
  std::map<int, Bytes> saved;  ///< memory that it saves if it computes again what it keeps now; below 0: it
                               ///< then keeps more inputs
  bool hasOperators = false;   ///< false if the recording has none, so that bytes are not known
};
/// Reads the costs of these stages. Fails if the rows of the profile cannot be read.
base::Result<RecomputeCosts> recomputeCosts(const ChangeContext& context, const Recording& recording,
                                            const std::set<int>& stages);

/// Adds or removes what a stage computes again. The launch of the program stays: it then belongs to the
/// backward pass, or to what is computed again before it. `stashes`: the stage then has a stash.
void setRecompute(Recording& recording, int stage, bool on, const RecomputeCosts& costs, bool stashes = true);

}  // namespace pipescope::replay

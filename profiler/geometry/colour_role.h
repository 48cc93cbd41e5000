#pragma once
// What a colour means. Which colour that is, the theme says: by the role's name.
#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/model/enums.h"

namespace pipescope::geometry {

/// Blocks of roles stand in the order of their model enums; the last of a block is for values of newer files.
enum class ColourRole : std::uint8_t {
  // Kinds of step.
  compute,
  exchange,
  sync,
  globalExchange,
  streamCopy,
  control,
  remoteCopy,
  otherKind,
  // Groups of steps, by the kind they spend most time on.
  computeGroup,
  exchangeGroup,
  syncGroup,
  globalExchangeGroup,
  streamCopyGroup,
  controlGroup,
  remoteCopyGroup,
  otherKindGroup,
  // Passes.
  forward,
  recompute,
  backward,
  weightGradient,
  update,
  hostIn,
  hostOut,
  syncPass,
  collectivePass,
  remotePass,
  otherPass,
  // Causes of waiting.
  waitFill,
  waitDrain,
  waitSlowerStage,
  waitExchange,
  waitCollective,
  waitHost,
  waitUpdate,
  otherWait,
  // Kinds of transfer.
  activation,
  gradient,
  hostInTransfer,
  hostOutTransfer,
  collectiveTransfer,
  remoteTransfer,
  otherTransfer,
  // Micro-batches, by their number modulo kMicroBatchHues: forward tones, then backward tones.
  microBatch,
  microBatchEnd = microBatch + 19,
  // Parts of a stack that have no meaning of their own: categories of memory …
  series,
  seriesEnd = series + 11,
  alwaysLive,
  notAlwaysLive,
  gaps,
  free,
  lostUseful,
  lostFill,
  lostImbalance,
  lostExchange,
  idle,
  // One micro-batch's path through the pipeline, the critical path, what is not in question.
  pathForward,
  pathBackward,
  critical,
  dimmed,
  counter,
  count
};

inline constexpr std::size_t kColourRoles = static_cast<std::size_t>(ColourRole::count);
inline constexpr int kMicroBatchHues = 10;
inline constexpr int kSeriesColours = 12;

ColourRole roleOf(model::StepKind kind, bool group = false);
ColourRole roleOf(model::Pass pass);
ColourRole roleOf(model::WaitCause cause);
ColourRole roleOf(model::TransferKind kind);
ColourRole microBatchRole(int microBatch, bool backward);
ColourRole seriesRole(int index);

/// Key of the role in a theme: "step.compute", "pass.forward", "wait.fill", "micro_batch.3" …
std::string roleKey(ColourRole role);

}  // namespace pipescope::geometry

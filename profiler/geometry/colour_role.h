#pragma once
// Meanings of colours. The theme assigns the colour to the name of the role.
#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/model/enums.h"

namespace pipescope::geometry {

/// Each block has the order of an enumeration of profiler/model. The last role of a block is for values that
/// newer files may have.
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
  // Groups of steps, by the kind that takes most of their time.
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
  // Micro-batches, by their number modulo kMicroBatchHues: first the tones of forward passes, then those of
  // backward passes.
  microBatch,
  microBatchEnd = microBatch + 59,
  // Parts of a stack without a meaning of their own, such as categories of memory.
  series,
  seriesEnd = series + 23,
  alwaysLive,
  notAlwaysLive,
  gaps,
  free,
  lostUseful,
  lostFill,
  lostImbalance,
  lostExchange,
  idle,
  // The path of one micro-batch through the pipeline, the critical path, and everything else while one of
  // them is shown.
  pathForward,
  pathBackward,
  critical,
  dimmed,
  counter,
  programFlow,  ///< sequences, loops and calls
  count
};

inline constexpr std::size_t kColourRoles = static_cast<std::size_t>(ColourRole::count);
inline constexpr int kMicroBatchHues = 30;
inline constexpr int kSeriesColours = 24;

ColourRole roleOf(model::StepKind kind, bool group = false);
ColourRole roleOf(model::Pass pass);
ColourRole roleOf(model::WaitCause cause);
ColourRole roleOf(model::TransferKind kind);
ColourRole microBatchRole(int microBatch, bool backward);
ColourRole seriesRole(int index);

/// The role's key in a theme, such as "step.compute", "pass.forward", "wait.fill" or "micro_batch.3".
std::string roleKey(ColourRole role);

}  // namespace pipescope::geometry

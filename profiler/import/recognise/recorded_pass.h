#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profiler/model/rows.h"

namespace pipescope::importing {

/// Traces state times in microseconds, so an end and the start behind it may be a microsecond apart.
inline constexpr base::Ticks kTimeResolution(1'000'000);

/// The rank of a device within its place, by axis: any text, one for each rank. Empty: nothing states it.
struct PlaceRank {
  std::string tensor, context, expert;

  bool isStated() const { return !tensor.empty() || !context.empty() || !expert.empty(); }
  auto operator<=>(const PlaceRank&) const = default;
};

/// A pass of a stage, or one side of a message, as a trace recorded it.
struct RecordedPass {
  model::DeviceId device;
  model::LaneId lane;
  base::Ticks start, end;
  model::Pass pass = model::Pass::forward;
  std::int32_t stage = -1, microBatch = -1;
  /// Index of the model's chunk on its rank; −1: not stated. The stage is the rank's place in the pipeline
  /// then, until inferEvents() numbers the stages of all chunks.
  std::int32_t chunk = -1;
  std::optional<std::int64_t> step;
  std::string replica, name;
  PlaceRank rankOfPlace = {};
  std::string group = {};         ///< group of a collective: the same for all its members
  std::string processGroup = {};  ///< process group, as a collective states it that no rule gives a group
  /// Number of collectives of this group and name in the trace, if not all of them are kept.
  std::int64_t alike = 0;
  std::int64_t slice = -1;        ///< number of the slice in its trace, until program is known
  model::ProgramId program = {};  ///< name of the pass; none: it gets no step
  model::StepKind kind = model::StepKind::compute;
  bool countsMicroBatch = false;  ///< the micro-batch is the pass's number within its step
  bool statesPass = true;  ///< false for a message of which it is not known whether it is forward or backward
  /// False for a receive that starts with the transfer. It is not known then since when the device waits.
  bool statesPosting = true;
  bool several = false;  ///< true: several slices describe the message
  /// An event can be several passes, one after the other, such as a forward and a backward pass that a
  /// runtime starts together. Each has the whole time until inferEvents() divides it.
  std::int32_t part = 0, parts = 1;
  std::int64_t queue = -1;  ///< thread of the trace with an accelerator's work; −1: a thread of the host
  std::int64_t rank = -1;   ///< rank of the process; −1: not stated
  std::int64_t peer = -1;   ///< rank of the other side of a message; −1: not stated
  base::Bytes bytes;        ///< bytes of a message
};

/// A training step of a process.
struct RecordedStep {
  model::DeviceId device;
  base::Ticks start, end;
  std::int64_t step = 0;
};

/// A stretch of time on a device.
struct RecordedStretch {
  model::DeviceId device;
  base::Ticks start, end;
};

/// Events that the rules recognised in one or more traces.
struct RecordedEvents {
  std::vector<RecordedPass> passes;
  /// Sides of messages: pass forward for activations, backward for gradients; the stage is the worker's.
  std::vector<RecordedPass> sends, receives;
  std::vector<RecordedStep> steps;
  /// Operators that belong to a backward pass, as long as no pass is recognised.
  std::vector<RecordedStretch> backwardOperators;
  void addPass(RecordedPass pass) {
    if (model::isComputePass(pass.pass)) {
      computes_ = true;
      backwardOperators = {};
    }
    passes.push_back(std::move(pass));
  }
  /// True if any computation of a stage was added.
  bool recognised() const { return computes_; }
  /// Passes are proposed from these if none is recognised.
  void addBackwardOperator(const RecordedStretch& stretch) {
    if (!computes_) backwardOperators.push_back(stretch);
  }
  static constexpr std::int64_t kMostMessages = 400'000;  ///< sides
  /// Adds one side of a message. A trace may be larger than memory: if there are very many, none are kept,
  /// because some of them would tell of wrong passes.
  void addMessage(RecordedPass side, bool isSend) {
    if (messages >= kMostMessages) return leaveOutMessages(1);
    ++messages;
    (isSend ? sends : receives).push_back(std::move(side));
  }
  std::int64_t messages = 0;  ///< sides that were added
  bool leavesOutMessages() const { return messages > 0 && sends.empty() && receives.empty(); }
  /// Adds what another trace holds. `translate` puts devices, lanes and times of its passes, sides, steps and
  /// stretches into the terms of these events.
  template <class Translate>
  void append(RecordedEvents&& other, const Translate& translate) {
    for (RecordedStep& step : other.steps) {
      translate(step);
      steps.push_back(step);
    }
    for (RecordedPass& pass : other.passes) {
      translate(pass);
      addPass(std::move(pass));
    }
    for (RecordedStretch& stretch : other.backwardOperators) {
      translate(stretch);
      addBackwardOperator(stretch);
    }
    if (other.leavesOutMessages()) leaveOutMessages(other.messages);
    for (const bool isSend : {true, false})
      for (RecordedPass& side : isSend ? other.sends : other.receives) {
        translate(side);
        addMessage(std::move(side), isSend);
      }
    other = RecordedEvents();
  }
  /// Messages to ranks whose traces are missing tell that there are at least so many stages.
  std::int32_t stages = 0;

 private:
  void leaveOutMessages(std::int64_t more) {
    messages += more;
    std::vector<RecordedPass>().swap(sends);
    std::vector<RecordedPass>().swap(receives);
  }

  bool computes_ = false;
};

}  // namespace pipescope::importing

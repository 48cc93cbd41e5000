#include "profiler/record/recorder.h"

namespace pipescope::record {

base::Status Recorder::commit() {
  lastCommit_ = std::chrono::steady_clock::now();
  if (pendingRows_ == 0) return {};
  PIPESCOPE_TRY(sink_.commit(pending_));
  pending_.clear();
  pendingRows_ = 0;
  return {};
}

base::Status Recorder::commitIfDue() {
  if (sink_.buffers()) {
    if (pendingRows_ == 0) return {};
    pendingRows_ = 0;
    return sink_.take(pending_);
  }
  constexpr std::size_t kMostPendingRows = 1'000'000;
  constexpr auto kLongestDelay = std::chrono::milliseconds(900);  // the file is at most a second behind
  const bool late = std::chrono::steady_clock::now() - lastCommit_ > kLongestDelay;
  return late || pendingRows_ > kMostPendingRows ? commit() : base::Status();
}

base::Status Recorder::finish(model::ProfileState state, const std::string& reason) {
  PIPESCOPE_TRY(commit());
  return sink_.finish(state, reason);
}

}  // namespace pipescope::record

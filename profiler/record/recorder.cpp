#include "profiler/record/recorder.h"

namespace pipescope::record {

base::Status Recorder::commit() {
  lastCommit_ = std::chrono::steady_clock::now();
  if (sink_.buffers()) {
    // It may still hold rows that were handed over before. Rows that it takes need not be copied.
    PIPESCOPE_TRY(sink_.take(pending_));
    pendingRows_ = 0;
    return sink_.commit({});
  }
  if (pendingRows_ == 0) return {};
  PIPESCOPE_TRY(sink_.commit(pending_));
  pending_.clear();
  pendingRows_ = 0;
  return {};
}

base::Status Recorder::commitIfDue(bool nextFollows) {
  const auto since = std::chrono::steady_clock::now() - lastCommit_;
  if (sink_.buffers()) {
    constexpr std::size_t kRowsWorthHanding = 32'768;
    constexpr auto kSoon = std::chrono::milliseconds(50);
    if (pendingRows_ == 0 || (nextFollows && pendingRows_ < kRowsWorthHanding && since < kSoon)) return {};
    pendingRows_ = 0;
    lastCommit_ += since;
    return sink_.take(pending_);
  }
  constexpr std::size_t kMostPendingRows = 1'000'000;
  constexpr auto kLongestDelay = std::chrono::milliseconds(900);  // readers see rows at most a second late
  const bool late = since > kLongestDelay;
  return late || pendingRows_ > kMostPendingRows ? commit() : base::Status();
}

void Recorder::handOver() {
  if (!sink_.buffers()) return;
  sink_.gather(pending_);
  pendingRows_ = pending_.size();
}

base::Status Recorder::finish(model::ProfileState state, const std::string& reason) {
  // A sink that buffers writes its remaining rows in finish(), so there is no need to wait for them here.
  PIPESCOPE_TRY(sink_.buffers() ? sink_.take(pending_) : commit());
  pendingRows_ = 0;
  return sink_.finish(state, reason);
}

}  // namespace pipescope::record

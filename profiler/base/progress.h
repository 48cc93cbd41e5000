#pragma once
#include <string_view>

namespace pipescope::base {

/// Receives the progress of long work. One thread at a time calls it, and implementations return quickly.
class Progress {
 public:
  virtual ~Progress() = default;
  /// `fraction` is the finished share of the whole work, from 0 to 1. `what` is a short present participle,
  /// such as "training epoch 2 of 3".
  virtual void report(double fraction, std::string_view what) = 0;
  /// True once the user has asked to stop. Long work checks it at least ten times a second.
  virtual bool cancelled() const { return false; }
};

/// Drops the reports and never cancels.
class SilentProgress : public Progress {
 public:
  void report(double, std::string_view) override {}
};

}  // namespace pipescope::base

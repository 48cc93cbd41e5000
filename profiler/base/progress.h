#pragma once
#include <string_view>

namespace pipescope::base {

/// Where long work reports to. Implementations are called from one thread at a time and return quickly.
class Progress {
 public:
  virtual ~Progress() = default;
  /// `fraction` 0…1 of the whole work, `what` a short present participle ("training epoch 2 of 3").
  virtual void report(double fraction, std::string_view what) = 0;
  /// True once the user asked to stop; long work looks at least ten times a second.
  virtual bool cancelled() const { return false; }
};

/// For callers that want neither reports nor cancellation.
class SilentProgress : public Progress {
 public:
  void report(double, std::string_view) override {}
};

}  // namespace pipescope::base

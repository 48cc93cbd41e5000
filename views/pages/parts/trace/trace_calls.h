#pragma once
#include <QtGlobal>
#include <optional>

#include "profiler/analysis/timeline/trace.h"
#include "views/pages/parts/layout/run_toolbar.h"

namespace pipescope::pages {

/// Calls of the executable that the trace shows. The first is the last call, which then stays until users
/// choose another, or follow a run to the newest one.
class TraceCalls {
 public:
  explicit TraceCalls(const shell::PageContext& context) : context_(context) {}

  /// A RunId, or RunToolbar::kAllCalls.
  void choose(qlonglong call) { chosen_ = call; }
  /// While a run is followed, the newest call is wanted whatever was chosen.
  void setFollowing(bool following) { following_ = following; }
  qlonglong chosen() const { return chosen_; }
  /// Another executable has its own calls, so the choice is dropped.
  void forget();

  /// Returns the calls that the page has to read.
  analysis::TraceRequest wanted();
  void setLoaded(const analysis::TraceRequest& request) { loaded_ = request; }
  /// True if the calls of this request are loaded already.
  bool isLoaded(const analysis::TraceRequest& request) const;
  /// True if the request asks for the loaded calls and for those that have come since.
  bool isMore(const analysis::TraceRequest& request) const;
  /// True if the call is loaded.
  bool shows(model::RunId call) const;
  /// The call before (−1) or after (+1) the loaded one; none for the first and last.
  std::optional<model::RunId> beside(int direction) const;

 private:
  static constexpr qlonglong kLastCall = -1;

  const shell::PageContext& context_;
  qlonglong chosen_ = kLastCall;
  bool following_ = false;
  std::optional<analysis::TraceRequest> loaded_;
};

}  // namespace pipescope::pages

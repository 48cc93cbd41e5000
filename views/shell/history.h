#pragma once
// The places of a window that the user has left, for Back and Forward.
#include <QString>
#include <optional>
#include <vector>

#include "profiler/geometry/timeline/time_view.h"
#include "views/shell/selection.h"

namespace pipescope::shell {

/// A page with the time that it shows and what is selected.
struct Visit {
  QString page;
  std::optional<geometry::TimeView> view;  ///< none: no trace has been shown
  Selected selected;
};

class History {
 public:
  /// Remembers the place that is left for another one. What lay ahead is forgotten.
  void leave(const Visit& present);
  /// The place before or after the present one, which is remembered; none: there is no such place.
  std::optional<Visit> back(const Visit& present);
  std::optional<Visit> forward(const Visit& present);
  bool canGoBack() const { return !past_.empty(); }
  bool canGoForward() const { return !future_.empty(); }
  void clear();

 private:
  static constexpr std::size_t kRemembered = 100;
  std::vector<Visit> past_, future_;
};

}  // namespace pipescope::shell

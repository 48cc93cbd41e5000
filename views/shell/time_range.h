#pragma once
#include <QObject>
#include <vector>

#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::shell {

/// The part of the time axis that the window shows, and the parts that it showed before. There is one for
/// each window.
class TimeRange : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  const geometry::TimeView& view() const { return view_; }
  base::Ticks start() const { return view_.start(); }
  base::Ticks end() const { return view_.end(); }
  /// False until a page has shown a trace of the profile.
  bool isSet() const { return set_; }
  /// Another profile has been opened.
  void forget() { set_ = false; }
  /// The beginning of the view that reset() showed.
  base::Ticks origin() const { return origin_; }

  /// Changes the view without remembering the present one. Drags and the wheel call it many times.
  void show(const geometry::TimeView& view);
  /// Remembers the present view, so that undo() returns to it. Call it once before a gesture or jump.
  void remember();
  void undo();
  /// Shows another trace and forgets all earlier views.
  void reset(const geometry::TimeView& view);

 Q_SIGNALS:
  void changed();
  void remembered();  ///< before a gesture or jump

 private:
  static constexpr std::size_t kRemembered = 100;
  geometry::TimeView view_;
  base::Ticks origin_;
  bool set_ = false;
  std::vector<geometry::TimeView> past_;
};

}  // namespace pipescope::shell

#pragma once
#include <QObject>
#include <vector>

#include "profiler/geometry/time_view.h"

namespace pipescope::shell {

/// The stretch of time that the window looks at, with what was looked at before. One per window.
class TimeRange : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  const geometry::TimeView& view() const { return view_; }
  base::Ticks start() const { return view_.start(); }
  base::Ticks end() const { return view_.end(); }

  /// Moves without a trace: what a drag or wheel does many times.
  void show(const geometry::TimeView& view);
  /// Remembers the present view, so that undo() comes back to it. Called once before a gesture or jump.
  void remember();
  bool canUndo() const { return !past_.empty(); }
  void undo();
  /// Another trace: what was looked at before has no meaning.
  void reset(const geometry::TimeView& view);

 Q_SIGNALS:
  void changed();

 private:
  static constexpr std::size_t kRemembered = 100;
  geometry::TimeView view_;
  std::vector<geometry::TimeView> past_;
};

}  // namespace pipescope::shell

#pragma once
#include <array>
#include <memory>

#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/trace/trace_loading.h"
#include "views/shell/page.h"

class QTimer;

namespace pipescope::timeline {
class TimelineCanvas;
}

namespace pipescope::pages {

/// The traces of two profiles' last calls, the source above the target. Zooming or moving one does the same
/// to the other: both show the same stretch of time, counted from the beginning of their calls.
class TwoTraces : public Panel {
  Q_OBJECT

 public:
  struct Side {
    shell::ProfileSnapshot profile;
    model::ExecutableId executable;
  };

  TwoTraces(shell::Page& page, const shell::Palette& palette, QWidget* parent = nullptr);
  /// Reads both traces on a worker and shows them. A side without a call leaves the panel hidden.
  void setSides(const Side& source, const Side& target);
  timeline::TimelineCanvas* source() const { return halves_[0].canvas; }
  timeline::TimelineCanvas* target() const { return halves_[1].canvas; }

 private:
  struct Half {
    Side side;
    shell::TimeRange* range = nullptr;
    timeline::TimelineCanvas* canvas = nullptr;
    analysis::TraceRequest request;
    TimelineModelPointer model, near;
    geometry::TimeScale scale;
    std::shared_ptr<shell::SharedProgress> progress;
  };

  void addHalf(std::size_t index, const QString& name);
  void apply(std::array<TimelineModelPointer, 2> models);
  void follow(std::size_t moved);
  void readNear(Half& half);

  shell::Page& page_;
  const shell::Palette& palette_;
  std::array<Half, 2> halves_;
  QTimer* quiet_;  ///< reads details when the view has stopped moving
  bool following_ = false;
  int generation_ = 0;
};

}  // namespace pipescope::pages

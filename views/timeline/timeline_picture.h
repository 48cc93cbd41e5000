#pragma once
#include <QPainter>
#include <QPixmap>

#include "profiler/geometry/timeline/timeline_scene.h"
#include "views/timeline/painters/timeline_look.h"

namespace pipescope::timeline {

/// The rows, names and header of a timeline as a picture that is kept until one of them changes. The pointer,
/// the selection and the annotations are painted over it, so that they cost no drawing of rows.
class TimelinePicture {
 public:
  struct Content {
    TimelineLook look;
    const geometry::TimelineScene& scene;
    geometry::TimelineWindow window;
    int groupGap;     ///< pixels between two groups
    int litDevice;    ///< −1: none
    bool unitIsLink;  ///< a click on the axis' unit changes it
  };

  /// Paints the content; draws it anew where something changed since the last call.
  void paint(QPainter& painter, const Content& content, double devicePixelRatio);
  /// Other rows are visible. Those that stay are moved, and their names are drawn again.
  void forgetNames() { namesStale_ = true; }
  /// The rows have changed.
  void forgetRows() { rowsStale_ = true; }
  /// The rows and their names have changed.
  void forgetAll() { rowsStale_ = namesStale_ = true; }
  /// Time that drawing the rows took last, in milliseconds.
  double lastDrawMs() const { return lastDrawMs_; }

 private:
  void draw(const Content& content, double ratio);
  bool scroll(const Content& content, double ratio);
  void drawNames(const Content& content, double ratio);
  void paintNames(QPainter& painter, const Content& content) const;
  void paintAll(QPainter& painter, const Content& content) const;

  QPixmap rows_, names_;
  bool rowsStale_ = true, namesStale_ = true;
  int drawnTop_ = 0;  ///< y of the layout at the upper border of the picture's rows
  double lastDrawMs_ = 0;
};

}  // namespace pipescope::timeline

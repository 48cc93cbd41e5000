#pragma once
#include <QPixmap>
#include <QWidget>
#include <memory>

#include "profiler/geometry/timeline/timeline_model.h"
#include "views/shell/look/palette.h"
#include "views/shell/time_range.h"

namespace pipescope::timeline {

/// A strip with the whole trace and two handles around the visible part. Dragging a handle moves that end,
/// dragging the part between them pans, and a click elsewhere goes there.
class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  OverviewStrip(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent = nullptr);
  void setModel(std::shared_ptr<const geometry::TimelineModel> model);
  void setByMicroBatch(bool byMicroBatch);
  /// The positions of the two handles in pixels.
  std::pair<int, int> handles() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  enum class Part { none, left, middle, right };
  geometry::TimeView whole() const;
  Part partAt(int x) const;
  void drawPicture();
  void showRange(base::Ticks start, base::Ticks end);

  const shell::Palette& palette_;
  shell::TimeRange& range_;
  std::shared_ptr<const geometry::TimelineModel> model_;
  bool byMicroBatch_ = false, pictureStale_ = true;
  QPixmap picture_;
  Part drag_ = Part::none;
  int pressed_ = 0;
  base::Ticks pressedStart_, pressedEnd_;
};

}  // namespace pipescope::timeline

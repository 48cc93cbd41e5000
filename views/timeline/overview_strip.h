#pragma once
#include <QPixmap>
#include <QWidget>
#include <memory>

#include "profiler/geometry/timeline_model.h"
#include "views/shell/palette.h"
#include "views/shell/time_range.h"

namespace pipescope::timeline {

/// The whole trace on a strip, with the visible stretch between two handles: drag a handle to move an end,
/// the middle to pan; a click elsewhere goes there.
class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  OverviewStrip(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent = nullptr);
  void setModel(std::shared_ptr<const geometry::TimelineModel> model);
  void setByMicroBatch(bool byMicroBatch);
  /// Pixels of the two ends of the visible stretch.
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

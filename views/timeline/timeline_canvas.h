#pragma once
#include <QAbstractScrollArea>
#include <functional>
#include <memory>

#include "views/shell/look/palette.h"
#include "views/shell/time_range.h"
#include "views/timeline/annotations.h"
#include "views/timeline/group_changes.h"
#include "views/timeline/timeline_picture.h"
#include "views/timeline/timeline_pointer.h"
#include "views/timeline/timeline_scenes.h"
#include "views/timeline/timeline_selection.h"
#include "views/timeline/view_control.h"

class QMenu;

namespace pipescope::timeline {

/// A timeline: names on the left, time above, rows below. It draws what profiler/geometry makes of a trace
/// and knows nothing of files. The parts do the work: TimelineScenes choose what to show, TimelinePicture
/// draws the rows, TimelinePointer and timeline_keys.h answer the mouse and the keyboard.
class TimelineCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = TimelineLook::kGutter, kStepBand = TimelineLook::kStepBand,
                       kAxis = TimelineLook::kAxis, kTop = TimelineLook::kTop;

  TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent = nullptr);

  /// Another trace, or null. Keeps the options of rows, forgets the selection.
  void setModel(std::shared_ptr<const geometry::TimelineModel> model);
  /// A part of the same, large trace in full detail, or null. It is drawn wherever it covers the view.
  void setNear(std::shared_ptr<const geometry::TimelineModel> model);
  /// The view shows single passes and steps, or nothing finer can be read.
  bool isNear() const { return scenes_.isFine(window().view); }
  void setOptions(const geometry::TimelineOptions& options);
  const geometry::TimelineOptions& options() const { return options_; }
  /// `clickable`: the name of the unit is a link, and a click on it emits timeUnitClicked().
  void setTimeScale(const geometry::TimeScale& scale, bool clickable = false);
  /// The axis counts from this time on, instead of from the beginning of the run.
  void setAxisOrigin(base::Ticks origin);
  base::Ticks axisOrigin() const { return origin_; }
  bool isUnitClickable() const { return unitClickable_; }
  /// Sets the text of the callout for an item: a heading, then lines.
  void setDescriber(std::function<QStringList(const geometry::TimelineItem&)> describe) {
    describe_ = std::move(describe);
  }

  /// Adds entries for the item under the pointer to the context menu.
  void setMenuMaker(std::function<void(QMenu&, const geometry::TimelineItem&)> make) {
    makeMenu_ = std::move(make);
  }
  /// The context menu of a position.
  QMenu* makeMenu(const QPoint& position);

  /// Returns the scene that is drawn now.
  const geometry::TimelineScene& scene() const { return scenes_.shown(); }
  /// Returns the part of the trace that the rows show. Positions on it are relative to (kGutter, kTop) of the
  /// viewport.
  geometry::TimelineWindow window() const;
  ViewControl& control() { return control_; }
  Annotations& annotations() { return annotations_; }

  // Finds what lies at a position of the viewport.
  geometry::TimelineItem itemAt(const QPoint& position) const;
  /// The device whose group is there; −1: none.
  int deviceAt(const QPoint& position) const;
  /// The device iteration at an x of the rows, as an index into Trace::iterations; −1: none.
  int stepAt(int x) const;
  /// The time there, or that of an edge nearby.
  base::Ticks snap(const QPoint& position) const;

  const geometry::TimelineItem& selected() const { return selection_.item(); }
  /// False if the selected item belongs to a part of the trace that is not shown now. scene() cannot describe
  /// it then.
  bool isSelectionShown() const { return selection_.isIn(scene()); }
  void select(const geometry::TimelineItem& item);
  /// Scrolls and pans, as little as needed, until the item is visible.
  void reveal(const geometry::TimelineItem& item);
  /// Shows [start, end), and `room` of its length on both sides.
  void zoomTo(base::Ticks start, base::Ticks end, double room = 0.04) { control_.zoomTo(start, end, room); }
  void zoomToSelection();
  void zoomToAll() { control_.zoomToAll(); }
  /// Makes the canvas show the whole time and all rows by enlarging `frame`, which contains it. Returns what
  /// undoes it.
  std::function<void()> showWhole(QWidget& frame);
  /// Zooms about the pointer if it is over the rows, else about the middle.
  void zoomBy(double factor);
  void panBy(double fraction) { control_.pan(fraction); }
  /// Makes the rows of steps higher (+1) or lower (−1); 0: as high as lets all devices be seen.
  void changeRowHeight(int direction);
  /// Selects and shows what the selected wait waited for. False if there is nothing.
  bool followWait();
  void selectNeighbour(int direction);
  /// Selects the next item of the same kind or name in the row.
  void selectLike(int direction);
  /// Spans that users measured with Shift and a drag, or with R.
  const std::vector<Annotations::Span>& spans() const { return annotations_.spans(); }
  /// Ends a measurement with the mouse. False if it is empty.
  bool finishMeasuring();
  /// Removes spans and marks.
  void clearAnnotations();
  /// Keeps the span of the selected item.
  void measureSelection();
  /// Times that users marked.
  const std::vector<base::Ticks>& markers() const { return annotations_.markers(); }
  /// Marks the edge next to the pointer, or else the start of the selection. A second call removes the mark.
  void toggleMarker();
  /// Notes of the profile.
  void setFlags(std::vector<Annotations::Flag> flags);
  void setWheelZooms(bool zooms) { pointer_.setWheelZooms(zooms); }
  /// Shows in a corner how long the last frame took.
  void setFrameTimeShown(bool shown);
  void changeGroup(GroupChange change, int device);
  /// The device that keys for groups apply to: that of the selection, else the one under the pointer; −1:
  /// none.
  int currentDevice() const;
  /// Selects the pass that a placement belongs to, and shows it. False if this trace does not have it.
  bool selectPlacement(model::PlacementId id);
  /// Selects the first step of a program on a device, from the middle of the view on. False if there is none.
  bool selectProgram(model::ProgramId program, int device);
  /// Gives a device that another page has selected a coloured edge; −1: none.
  void lightDevice(int device);
  /// Scrolls to the rows of a device unless all of them are visible. They stay visible when rows are added,
  /// until the user scrolls.
  void revealDevice(int device);
  /// Time that drawing the rows took last, in milliseconds.
  double lastDrawMs() const { return picture_.lastDrawMs(); }

 Q_SIGNALS:
  void selectionChanged();
  void spansChanged();             ///< the user measured a span, or removed the spans
  void stepChosen(int iteration);  ///< index into Trace::iterations
  void timeUnitClicked();
  void optionsChanged();  ///< the user folded, pinned, hid or moved rows

 protected:
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  /// The window whose rows are drawn at a y below the header: pinned rows do not scroll.
  geometry::TimelineWindow windowAt(int y) const;
  geometry::TimelineWindow windowOf(const geometry::TimelineItem& item) const;
  geometry::RowMetrics rowMetrics() const;
  void layOut();
  void chooseScene();
  void refresh();      ///< names and rows are out of date
  void refreshRows();  ///< rows are out of date
  bool goTo(const geometry::TimelineItem& item);
  TimelineLook look() const;
  void paintOverlay(QPainter& painter) const;
  void paintFrameTime(QPainter& painter) const;

  const shell::Palette& palette_;
  ViewControl control_;
  TimelineScenes scenes_;
  TimelineSelection selection_;
  TimelinePicture picture_;
  TimelinePointer pointer_;
  Annotations annotations_;
  geometry::TimelineOptions options_;
  geometry::RowMetrics metrics_;
  geometry::TimeScale scale_;
  base::Ticks origin_;  ///< origin of the axis
  std::function<QStringList(const geometry::TimelineItem&)> describe_;
  std::function<void(QMenu&, const geometry::TimelineItem&)> makeMenu_;
  LabelFont labels_;
  int stepHeight_ = 0;  ///< chosen height of a row of steps; 0: what fits
  int litDevice_ = -1;
  int revealed_ = -1, revealedTop_ = -1;  ///< device that was scrolled to, and the position of the scroll bar
  bool unitClickable_ = false, frameTimeShown_ = false;
};

}  // namespace pipescope::timeline

#pragma once
#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QPixmap>
#include <functional>
#include <memory>

#include "profiler/geometry/time_axis.h"
#include "profiler/geometry/timeline_scene.h"
#include "views/shell/palette.h"
#include "views/shell/time_range.h"
#include "views/timeline/shapes_painter.h"

namespace pipescope::timeline {

/// A timeline: names on the left, time above, rows below. Draws what profiler/geometry makes of a trace;
/// knows nothing of files. What lies under pointer, selection and arrows is painted from a picture that only
/// changes with the view.
class TimelineCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = 150, kStepBand = 18, kAxis = 22, kTop = kStepBand + kAxis;

  TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent = nullptr);

  /// Another trace, or null. Keeps rows' options, forgets the selection.
  void setModel(std::shared_ptr<const geometry::TimelineModel> model);
  /// A window of the same, large trace in full detail, or null: drawn wherever the view lies within it, the
  /// whole from afar elsewhere.
  void setNear(std::shared_ptr<const geometry::TimelineModel> model);
  /// The view lies in what was read one by one, as finely as that is possible.
  bool isNear() const;
  void setOptions(const geometry::TimelineOptions& options);
  const geometry::TimelineOptions& options() const { return options_; }
  /// `clickable`: the unit's name is a link that says so by timeUnitClicked().
  void setTimeScale(const geometry::TimeScale& scale, bool clickable = false);
  /// What to say about an item next to the pointer: a heading, then lines.
  void setDescriber(std::function<QStringList(const geometry::TimelineItem&)> describe) {
    describe_ = std::move(describe);
  }

  /// What is drawn now.
  const geometry::TimelineScene& scene() const { return useNear_ ? near_ : base_; }
  /// What the rows show; x and y of its answers are relative to (kGutter, kTop) of the viewport.
  geometry::TimelineWindow window() const;

  const geometry::TimelineItem& selected() const { return selected_; }
  void select(const geometry::TimelineItem& item);
  /// Scrolls and pans, as little as needed, until the item is in sight.
  void reveal(const geometry::TimelineItem& item);
  /// Shows [start, end), with some room at both sides.
  void zoomTo(base::Ticks start, base::Ticks end, double room = 0.04);
  void zoomToSelection();
  void zoomToAll();
  /// About the middle, or about the pointer if it is over the rows.
  void zoomBy(double factor);
  void panBy(double fraction);
  /// Higher (+1) or lower (−1) rows of steps; 0: as high as lets all devices be seen.
  void changeRowHeight(int direction);
  /// Selects what the selected wait waited for, and shows it. False where there is nothing.
  bool followWait();
  void selectNeighbour(int direction);
  /// The next item of the same kind or name on the row.
  void selectLike(int direction);
  /// Spans that were measured (Shift+drag, snapping to edges); Esc forgets them.
  struct Span {
    base::Ticks from, to;
  };
  const std::vector<Span>& spans() const { return spans_; }
  /// Keeps the selected item's span.
  void measureSelection();
  /// Times that were marked (K); each says how long after the one before it lies. Esc forgets them with the
  /// spans.
  const std::vector<base::Ticks>& markers() const { return markers_; }
  /// Marks the edge next to the pointer, or the selection's start, or takes the mark there away.
  void toggleMarker();
  /// Notes at times, drawn as flags.
  struct Flag {
    base::Ticks time;
    QString text;
  };
  void setFlags(std::vector<Flag> flags);
  /// Plain wheel zooms, Ctrl+wheel scrolls rows: as users of PopVision know it.
  void setWheelZooms(bool zooms) { wheelZooms_ = zooms; }
  /// Says how long the last frame took, in a corner.
  void setFrameTimeShown(bool shown);
  /// What can be done with the device of a group, or with all.
  enum class GroupChange { fold, pin, hide, up, down, showAll, byStage, foldAll };
  void changeGroup(GroupChange change, int device);
  /// The device that keys of groups mean: of the selection, else under the pointer; −1: none.
  int currentDevice() const;
  /// Selects what is at a placement, and shows it. False where this trace does not have it.
  bool selectPlacement(model::PlacementId id);
  /// Selects the first step of a program on a device, from the middle of the view on. False where there is
  /// none.
  bool selectProgram(model::ProgramId program, int device);
  /// A device that another page has selected; −1: none.
  void lightDevice(int device);
  /// How long the last drawing of the rows took.
  double lastDrawMs() const { return lastDrawMs_; }

 Q_SIGNALS:
  void selectionChanged();
  void stepChosen(int iteration);  ///< index into Trace::iterations
  void timeUnitClicked();
  void optionsChanged();  ///< rows were folded, pinned, hidden or moved by the user

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
  enum class Drag { none, pressed, pan, range, measure };
  /// Edges within this many pixels are caught when measuring.
  static constexpr int kSnap = 6;
  static constexpr std::size_t kMostSpans = 20;  ///< and marks
  /// A window whose rows are where they are drawn: pinned ones do not scroll.
  geometry::TimelineWindow windowAt(int y) const;
  geometry::TimelineWindow windowOf(const geometry::TimelineItem& item) const;
  geometry::TimelineItem itemUnder(const QPoint& position) const;
  void showGroupMenu(const QPoint& position, int device);
  void paintSpans(QPainter& painter) const;
  void paintFlags(QPainter& painter) const;
  void paintMarkers(QPainter& painter) const;
  void paintSpan(QPainter& painter, base::Ticks from, base::Ticks to) const;

  void layOut();
  void chooseScene();
  void findSelectionAgain();
  geometry::RowMetrics rowMetrics() const;
  void refresh();      ///< names and rows are out of date
  void refreshRows();  ///< the rows' picture is out of date
  void apply(geometry::TimeView view);
  void rememberGesture();
  void drawPicture();
  void drawGutter(double ratio);
  void paintPicture(QPainter& painter) const;
  void paintGutter(QPainter& painter) const;
  void paintGroup(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintLaneNames(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintCounterNames(QPainter& painter, const geometry::TimelineGroup& group, int indent) const;
  void paintAxis(QPainter& painter) const;
  void paintSteps(QPainter& painter) const;
  void paintOverlay(QPainter& painter) const;
  void paintCallout(QPainter& painter) const;
  void paintRange(QPainter& painter) const;
  void setHovered(const QPoint& position);
  void clickAt(const QPoint& position);
  bool handleKey(int key, Qt::KeyboardModifiers modifiers);
  int stepAt(int x) const;
  int rowsWidth() const;

  const shell::Palette& palette_;
  shell::TimeRange& range_;
  geometry::TimelineScene base_, near_;
  bool useNear_ = false;
  std::shared_ptr<const geometry::TimelineModel> model_, nearModel_;
  /// What is selected, by ids: traces of other windows have other indices.
  const geometry::TimelineModel* selectedIn_ = nullptr;
  model::PlacementId selectedPlacement_;
  model::TransferId selectedTransfer_;
  geometry::TimelineOptions options_;
  geometry::TimeScale scale_;
  std::function<QStringList(const geometry::TimelineItem&)> describe_;
  LabelFont labels_;
  geometry::TimelineItem selected_, hovered_;
  QPixmap picture_, gutter_;
  bool pictureStale_ = true, gutterStale_ = true;
  double lastDrawMs_ = 0;
  Drag drag_ = Drag::none;
  QPoint pressed_, pointer_{-1, -1};
  geometry::TimeView pressedView_;
  int pressedScroll_ = 0;
  int stepHeight_ = 0;  ///< 0: what fits
  geometry::RowMetrics metrics_;
  bool unitClickable_ = false, wheelZooms_ = false, frameTimeShown_ = false;
  int lit_ = -1;
  std::vector<Span> spans_;
  std::vector<base::Ticks> markers_;  ///< ascending
  std::vector<Flag> flags_;
  base::Ticks measureFrom_, measureTo_;
  QElapsedTimer gesture_;
};

}  // namespace pipescope::timeline

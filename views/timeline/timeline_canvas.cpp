#include "views/timeline/timeline_canvas.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QLayout>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>

#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/timeline_links.h"
#include "profiler/geometry/timeline/timeline_search.h"
#include "views/timeline/page_wheel.h"
#include "views/timeline/painters/callout.h"
#include "views/timeline/timeline_keys.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimelineWindow;
using geometry::TimeView;
using shell::Ui;

namespace {

/// Marks and measured spans catch edges within this many pixels.
constexpr int kSnap = 6;

QRect rectOf(const geometry::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

}  // namespace

TimelineCanvas::TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), control_(range), pointer_(*this), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  viewport()->setAutoFillBackground(false);
  setMinimumHeight(160);
  setAccessibleName(tr("Timeline"));
  verticalScrollBar()->setSingleStep(18);
  connect(&palette, &shell::Palette::changed, this, &TimelineCanvas::refresh);
  connect(&range, &shell::TimeRange::changed, this, &TimelineCanvas::refreshRows);
}

// --- Model and options ---

void TimelineCanvas::setModel(std::shared_ptr<const geometry::TimelineModel> model) {
  control_.setTrace(model ? model->trace : nullptr);
  scenes_.setWhole(std::move(model));
  selection_.clear();
  pointer_.forgetItem();
  layOut();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setNear(std::shared_ptr<const geometry::TimelineModel> model) {
  scenes_.setDetail(std::move(model));
  pointer_.forgetItem();
  layOut();
}

void TimelineCanvas::setOptions(const geometry::TimelineOptions& options) {
  if (options == options_) return;
  geometry::TimelineOptions sameRows = options;
  sameRows.find = options_.find;
  const bool rowsStay = sameRows == options_;
  options_ = options;
  layOut();
  if (rowsStay) return;
  selection_.findRow(scene());
  pointer_.forgetItem();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setTimeScale(const geometry::TimeScale& scale, bool clickable) {
  scale_ = scale;
  unitClickable_ = clickable;
  refresh();
}

void TimelineCanvas::setAxisOrigin(base::Ticks origin) {
  if (origin == origin_) return;
  origin_ = origin;
  refresh();
}

geometry::RowMetrics TimelineCanvas::rowMetrics() const {
  geometry::RowMetrics metrics;
  metrics.counter = options_.counterHeight;
  metrics.tiles = options_.tilesHeight;
  if (stepHeight_ > 0) {
    metrics.step = stepHeight_;
    return metrics;
  }
  const geometry::TimelineModel* model = scenes_.whole();
  return model != nullptr ? geometry::fitRows(*model, options_, viewport()->height() - kTop, metrics)
                          : metrics;
}

void TimelineCanvas::layOut() {
  control_.setWidth(std::max(1, viewport()->width() - kGutter));
  metrics_ = rowMetrics();
  scenes_.layOut(options_, metrics_);
  const int visible = std::max(1, viewport()->height() - kTop);
  // Counters that are read later move the rows, which the user has not scrolled yet.
  const bool isRevealed = verticalScrollBar()->value() == revealedTop_;
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setRange(0, std::max(0, scene().layout().height - visible));
  chooseScene();
  selection_.findByIds(scene());
  if (isRevealed) revealDevice(revealed_);
  refresh();
}

void TimelineCanvas::chooseScene() {
  if (!scenes_.choose(window().view)) return;
  pointer_.forgetItem();
  selection_.findByIds(scene());
}

void TimelineCanvas::changeRowHeight(int direction) {
  constexpr int kHighest = 30, kBy = 3;
  stepHeight_ =
      direction == 0 ? 0 : std::clamp(metrics_.step + direction * kBy, geometry::kLowestStep, kHighest);
  layOut();
}

void TimelineCanvas::refresh() {
  picture_.forgetAll();
  refreshRows();
}

void TimelineCanvas::refreshRows() {
  chooseScene();
  picture_.forgetRows();
  viewport()->update();
}

void TimelineCanvas::setFrameTimeShown(bool shown) {
  frameTimeShown_ = shown;
  viewport()->update();
}

void TimelineCanvas::lightDevice(int device) {
  if (device == litDevice_) return;
  litDevice_ = device;
  refresh();
}

void TimelineCanvas::revealDevice(int device) {
  constexpr int kAbove = 4;  // pixels of room above the group
  revealed_ = device;
  const geometry::TimelineLayout& layout = scene().layout();
  const auto group = std::ranges::find(layout.groups, device, &geometry::TimelineGroup::device);
  if (device < 0 || group == layout.groups.end() || group->y < layout.pinned) return;
  const int top = verticalScrollBar()->value() + layout.pinned,
            bottom = verticalScrollBar()->value() + viewport()->height() - kTop;
  if (group->y < top || group->y + group->height > bottom)
    verticalScrollBar()->setValue(std::max(0, group->y - layout.pinned - kAbove));
  revealedTop_ = verticalScrollBar()->value();
}

// --- Positions ---

TimelineWindow TimelineCanvas::window() const {
  return {control_.view(), verticalScrollBar()->value(), std::max(0, viewport()->height() - kTop)};
}

TimelineWindow TimelineCanvas::windowAt(int y) const {
  TimelineWindow shown = window();
  if (y >= 0 && y < scene().layout().pinned) shown.top = 0;
  return shown;
}

TimelineWindow TimelineCanvas::windowOf(const TimelineItem& item) const {
  TimelineWindow shown = window();
  if (item && item.row >= 0 && at(scene().layout().rows, item.row).y < scene().layout().pinned) shown.top = 0;
  return shown;
}

TimelineItem TimelineCanvas::itemAt(const QPoint& position) const {
  const int x = position.x() - kGutter, y = position.y() - kTop;
  if (x < 0 || y < 0) return {};
  return scene().itemAt(windowAt(y), x, y);
}

int TimelineCanvas::deviceAt(const QPoint& position) const {
  const int y = position.y() - kTop;
  if (y < 0) return -1;
  const int group = scene().layout().groupAt(y + windowAt(y).top);
  return group < 0 ? -1 : at(scene().layout().groups, group).device;
}

int TimelineCanvas::stepAt(int x) const {
  if (scene().empty() || x < 0) return -1;
  const base::Ticks time = window().view.time(x);
  const auto& steps = scene().model()->trace->iterations;
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const analysis::IterationSpan& step) {
    return step.start <= time && time < step.end;
  });
  return found == steps.end() ? -1 : static_cast<int>(found - steps.begin());
}

base::Ticks TimelineCanvas::snap(const QPoint& position) const {
  const int x = position.x() - kGutter, y = position.y() - kTop;
  return scene().snap(windowAt(y), x, y, kSnap);
}

int TimelineCanvas::currentDevice() const {
  return selected() ? selected().device : deviceAt(pointer_.position());
}

// --- Selecting ---

void TimelineCanvas::select(const TimelineItem& item) {
  if (item == selected()) return;
  selection_.set(item, scene());
  viewport()->update();
  Q_EMIT selectionChanged();
}

bool TimelineCanvas::goTo(const TimelineItem& item) {
  if (!item) return false;
  select(item);
  reveal(item);
  return true;
}

bool TimelineCanvas::followWait() {
  return selection_.isIn(scene()) && goTo(geometry::waitedFor(scene(), selected()));
}

void TimelineCanvas::selectNeighbour(int direction) {
  if (selection_.isIn(scene())) goTo(scene().neighbour(selected(), direction));
}

void TimelineCanvas::selectLike(int direction) {
  if (selection_.isIn(scene())) goTo(geometry::TimelineSearch(scene()).nextLike(selected(), direction));
}

bool TimelineCanvas::selectPlacement(model::PlacementId id) {
  if (scene().empty() || !id.valid()) return false;
  const auto place = scene().model()->trace->find(id);
  return place && goTo(scene().passItem(*place));
}

bool TimelineCanvas::selectProgram(model::ProgramId program, int device) {
  if (scene().empty()) return false;
  const TimeView view = window().view;
  return goTo(geometry::TimelineSearch(scene()).stepOf(program, device, view.time(view.width() / 2.0)));
}

// --- Moving ---

void TimelineCanvas::reveal(const TimelineItem& item) {
  if (!item) return;
  if (item.row >= 0) {
    constexpr int kRoom = 8;
    const geometry::TimelineRow& row = at(scene().layout().rows, item.row);
    const int top = verticalScrollBar()->value(), visible = viewport()->height() - kTop;
    const int pinned = scene().layout().pinned;
    if (row.y >= pinned && row.y < top + pinned) verticalScrollBar()->setValue(row.y - pinned - kRoom);
    if (row.y >= pinned && row.y + row.height > top + visible)
      verticalScrollBar()->setValue(row.y + row.height - visible + kRoom);
  }
  control_.reveal(item.start, item.end);
}

void TimelineCanvas::zoomToSelection() {
  if (selected()) zoomTo(selected().start, selected().end, 0.1);
}

void TimelineCanvas::zoomBy(double factor) {
  const int x = pointer_.position().x() - kGutter;
  control_.zoomAbout(x >= 0 ? x : window().view.width() / 2.0, factor);
}

std::function<void()> TimelineCanvas::showWhole(QWidget& frame) {
  const QSize size = frame.size();
  const TimeView view = window().view;
  const int top = verticalScrollBar()->value();
  frame.resize(size.width(), size.height() + verticalScrollBar()->maximum());
  frame.layout()->activate();
  if (const geometry::TimelineModel* whole = scenes_.whole())
    control_.show(TimeView(whole->trace->start, whole->trace->end, window().view.width()));
  return [this, &frame, size, view, top] {
    frame.resize(size);
    frame.layout()->activate();
    control_.show(view);
    verticalScrollBar()->setValue(top);
  };
}

// --- Annotations and groups ---

void TimelineCanvas::measureSelection() {
  if (!selected() || selected().end <= selected().start) return;
  annotations_.addSpan(selected().start, selected().end);
  viewport()->update();
  Q_EMIT spansChanged();
}

bool TimelineCanvas::finishMeasuring() {
  if (!annotations_.finishMeasuring()) return false;
  Q_EMIT spansChanged();
  return true;
}

void TimelineCanvas::clearAnnotations() {
  annotations_.clear();
  viewport()->update();
  Q_EMIT spansChanged();
}

void TimelineCanvas::toggleMarker() {
  if (scene().empty()) return;
  if (pointer_.isOverRows()) {
    annotations_.toggleMarker(snap(pointer_.position()));
  } else {
    const TimeView view = window().view;
    annotations_.toggleMarker(selected() ? selected().start : view.time(view.width() / 2.0));
  }
  viewport()->update();
}

void TimelineCanvas::setFlags(std::vector<Annotations::Flag> flags) {
  annotations_.setFlags(std::move(flags));
  viewport()->update();
}

void TimelineCanvas::changeGroup(GroupChange change, int device) {
  if (scene().empty()) return;
  const auto options = changed(options_, change, device, *scenes_.whole()->trace);
  if (!options) return;
  setOptions(*options);
  Q_EMIT optionsChanged();
}

QMenu* TimelineCanvas::makeMenu(const QPoint& position) {
  auto* menu = new QMenu(this);
  const TimelineItem item = itemAt(position);
  if (item && makeMenu_) makeMenu_(*menu, item);
  const int device = deviceAt(position);
  const bool anyAlike = !scene().empty() && foldsDevices(*scenes_.whole()->trace);
  addGroupChanges(*menu, options_, device, anyAlike,
                  [this, device](GroupChange change) { changeGroup(change, device); });
  for (QAction* action : actions()) menu->addAction(action);
  return menu;
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (scene().empty()) return;
  if (const TimelineItem item = itemAt(event->pos())) select(item);
  QMenu* menu = makeMenu(event->pos());
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(event->globalPos());
}

// --- Painting ---

TimelineLook TimelineCanvas::look() const {
  return {.palette = palette_,
          .labels = labels_,
          .scale = scale_,
          .view = control_.view(),
          .size = viewport()->size(),
          .origin = origin_};
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  const TimelinePicture::Content content{.look = look(),
                                         .scene = scene(),
                                         .window = window(),
                                         .groupGap = metrics_.groupGap,
                                         .litDevice = litDevice_,
                                         .unitIsLink = unitClickable_};
  QPainter painter(viewport());
  picture_.paint(painter, content, viewport()->devicePixelRatioF());
  if (scene().empty()) return;
  pointer_.forgetMovedItem();
  paintOverlay(painter);
  annotations_.paint(painter, content.look);
  if (const auto stretch = pointer_.markedStretch()) {
    const TimeView& view = content.look.view;
    Annotations::paintSpan(painter, content.look, {view.time(stretch->first), view.time(stretch->second)});
  }
  if (pointer_.hovered() && describe_ && !pointer_.isDragging())
    paintCallout(painter, describe_(pointer_.hovered()), pointer_.position(), viewport()->rect(),
                 labels_.font(), palette_);
  if (frameTimeShown_) paintFrameTime(painter);
}

/// Arrows of the selection, and outlines around the selected item and the one under the pointer.
void TimelineCanvas::paintOverlay(QPainter& painter) const {
  const TimelineItem &selected = selection_.item(), &hovered = pointer_.hovered();
  painter.save();
  painter.setClipRect(kGutter, kTop, viewport()->width() - kGutter, viewport()->height() - kTop);
  painter.translate(kGutter, kTop);
  if (selection_.isIn(scene())) {
    for (const geometry::Arrow& arrow : arrowsOf(scene(), window(), selected))
      paintArrow(painter, arrow, palette_);
  }
  painter.setBrush(Qt::NoBrush);
  if (const auto box = scene().boxOf(windowOf(hovered), hovered); box && !(hovered == selected)) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(rectOf(*box).adjusted(0, 0, -1, -1));
  }
  if (const auto box = scene().boxOf(windowOf(selected), selected)) {
    painter.setPen(QPen(palette_.ui(Ui::surface), 1));
    painter.drawRect(rectOf(*box).adjusted(1, 1, -2, -2));
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(rectOf(*box));
  }
  painter.restore();
}

void TimelineCanvas::paintFrameTime(QPainter& painter) const {
  painter.setFont(labels_.font());
  const QRect box(viewport()->width() - 70, viewport()->height() - 20, 66, 16);
  painter.fillRect(box, palette_.ui(Ui::raised));
  painter.setPen(palette_.ui(Ui::text));
  painter.drawText(box, Qt::AlignCenter, tr("%1 ms").arg(lastDrawMs(), 0, 'f', 2));
}

// --- Events ---

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) pointer_.leave();
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
  control_.showOnWidth();
}

void TimelineCanvas::scrollContentsBy(int, int) {
  pointer_.findItem();
  picture_.forgetNames();
  viewport()->update();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  if (scrollsPage(*event, *this)) return event->ignore();
  pointer_.turnWheel(*event);
  event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return event->ignore();
  pointer_.press(*event);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_.move(*event);
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  pointer_.release(*event);
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  pointer_.doubleClick(event->pos());
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  if (!pressTimelineKey(*this, event->key(), event->modifiers())) QAbstractScrollArea::keyPressEvent(event);
}

}  // namespace pipescope::timeline

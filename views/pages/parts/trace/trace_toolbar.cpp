#include "views/pages/parts/trace/trace_toolbar.h"
#include "views/pages/parts/data/text.h"

#include <QMenu>
#include <algorithm>

namespace pipescope::pages {

using geometry::StepRows;

namespace {

const auto kStepsKey = QStringLiteral("trace/steps"), kColoursKey = QStringLiteral("trace/colours"),
           kCountersKey = QStringLiteral("trace/counters"), kTransfersKey = QStringLiteral("trace/transfers"),
           kTilesKey = QStringLiteral("trace/tiles"),
           kCounterHeightKey = QStringLiteral("trace/counter_height"),
           kTilesHeightKey = QStringLiteral("trace/tiles_height");
constexpr int kHeightStep = 12, kLeastHeight = 14, kMostHeight = 480;

}  // namespace

TraceToolbar::TraceToolbar(shell::PageContext& context, shell::Page& owner) : RunToolbar(context, owner) {
  addChoices();
  space();
  addCalls();
  addSteps(tr("Timeline"), tr("Next iteration"), tr("Previous iteration"));
  follow_ = new QCheckBox(tr("Follow the run"), this);
  follow_->setToolTip(tr("Shows the last iteration of the newest call as soon as it has ended"));
  follow_->setFocusPolicy(Qt::TabFocus);
  follow_->setVisible(false);
  add(follow_);
  connect(follow_, &QCheckBox::toggled, this, &TraceToolbar::followChanged);
  stretch();
  span_ = new QLabel(this);
  span_->setToolTip(tr("Length of the visible time"));
  add(span_);
  space();
  addRowsMenu();
  addZoom();
  button(QStringLiteral("fit"), tr("Show this iteration (1)"), [this] { Q_EMIT stepWanted(0); });
  button(QStringLiteral("undo"), tr("Undo the last zoom (Backspace)"), [this] { Q_EMIT undoWanted(); });
  addPicture();
}

void TraceToolbar::startFollowing() {
  const QSignalBlocker quiet(follow_);
  follow_->setChecked(true);
}

void TraceToolbar::setRunning(bool running) {
  if (!running) stopFollowing();
  follow_->setVisible(running);
}

void TraceToolbar::addChoices() {
  rows_ = choice({tr("Flame"), tr("Flat"), tr("Passes only")}, tr("Rows"),
                 tr("Shows steps nested by their name paths, steps by lane, or no steps"), kStepsKey);
  colours_ = choice({tr("Colour by kind"), tr("Colour by micro-batch")}, tr("Colours"),
                    tr("Colours passes and transfers by kind or by micro-batch (M)"), kColoursKey);
}

/// Adds the menu that shows, hides and resizes rows.
void TraceToolbar::addRowsMenu() {
  auto* menu = new QMenu(this);
  counters_ = toggle(*menu, tr("Counters"), kCountersKey, true, QStringLiteral("C"));
  transfers_ = toggle(*menu, tr("Transfers"), kTransfersKey, true, QStringLiteral("X"));
  tiles_ = toggle(*menu, tr("Tiles (BSP)"), kTilesKey, false, QStringLiteral("T"));
  menu->addSeparator();
  const geometry::TimelineOptions usual;
  counterActions_ << height(*menu, tr("Higher counters"), kCounterHeightKey, usual.counterHeight, kHeightStep,
                            QStringLiteral("Shift+C"));
  counterActions_ << height(*menu, tr("Lower counters"), kCounterHeightKey, usual.counterHeight, -kHeightStep,
                            QStringLiteral("Shift+V"));
  tileActions_ << height(*menu, tr("Higher tiles"), kTilesHeightKey, usual.tilesHeight, 2 * kHeightStep,
                         QStringLiteral("Shift+T"));
  tileActions_ << height(*menu, tr("Lower tiles"), kTilesHeightKey, usual.tilesHeight, -2 * kHeightStep,
                         QStringLiteral("Shift+G"));
  QToolButton* opener = button(QStringLiteral("rows"), tr("Rows: counters, transfers, tiles"), [] {});
  opener->setMenu(menu);
  opener->setPopupMode(QToolButton::InstantPopup);
  opener->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; }"));
}

QAction* TraceToolbar::toggle(QMenu& menu, const QString& name, const QString& setting, bool first,
                              const QString& key) {
  QAction* action = context_.actions.add(tr("Timeline"), name, {QKeySequence(key)}, [] {});
  action->setCheckable(true);
  action->setChecked(context_.settings.value(setting, first).toBool());
  connect(action, &QAction::toggled, this, [this, setting](bool on) {
    context_.settings.setValue(setting, on);
    followRows();
    Q_EMIT optionsChanged();
  });
  owner_.own(action);
  menu.addAction(action);
  return action;
}

QAction* TraceToolbar::height(QMenu& menu, const QString& name, const QString& setting, int first, int by,
                              const QString& key) {
  QAction* action =
      context_.actions.add(tr("Timeline"), name, {QKeySequence(key)}, [this, setting, first, by] {
        const int now = context_.settings.value(setting, first).toInt();
        context_.settings.setValue(setting, std::clamp(now + by, kLeastHeight, kMostHeight));
        Q_EMIT optionsChanged();
      });
  owner_.own(action);
  menu.addAction(action);
  return action;
}

void TraceToolbar::apply(geometry::TimelineOptions& options) const {
  options.steps = rows_->currentIndex() == 0   ? StepRows::flame
                  : rows_->currentIndex() == 1 ? StepRows::flat
                                               : StepRows::none;
  options.byMicroBatch = byMicroBatch();
  options.counters = counters_->isChecked();
  options.transfers = transfers_->isChecked();
  options.tiles = tiles_->isChecked();
  const geometry::TimelineOptions usual;
  const auto height = [&](const QString& setting, int first) {
    return std::clamp(context_.settings.value(setting, first).toInt(), kLeastHeight, kMostHeight);
  };
  options.counterHeight = height(kCounterHeightKey, usual.counterHeight);
  options.tilesHeight = height(kTilesHeightKey, usual.tilesHeight);
}

bool TraceToolbar::byMicroBatch() const {
  return colours_->currentIndex() == 1;
}

void TraceToolbar::toggleColours() {
  turn(colours_, kColoursKey);
}

void TraceToolbar::setTilesPossible(bool possible, bool recorded) {
  tilesRecorded_ = recorded;
  tilesPossible_ = possible;
  followRows();
}

/// Only rows that are shown can be made higher.
void TraceToolbar::followRows() {
  owner_.setPossible(tiles_, tilesPossible_);
  for (QAction* action : tileActions_) owner_.setPossible(action, tilesRecorded_ && tiles_->isChecked());
  for (QAction* action : counterActions_) owner_.setPossible(action, counters_->isChecked());
}

void TraceToolbar::setSpan(const QString& span) {
  span_->setText(span);
}

void describeTimelineKeys(shell::Actions& actions) {
  const auto tr = [](const char* what) { return QObject::tr(what); };
  const std::vector<std::pair<QString, QString>> keys = {
      {tr("Zoom in or out about the pointer"), tr("W  S  ·  Ctrl+wheel")},
      {tr("Pan"), tr("A  D  ·  ←  →  ·  drag  ·  Shift+wheel")},
      {tr("Scroll rows"), tr("↑  ↓  ·  wheel")},
      {tr("Zoom to a range"), tr("Ctrl+drag")},
      {tr("Zoom to the selection"), tr("F  ·  double click")},
      {tr("Show the whole trace"), tr("0")},
      {tr("Make rows higher or lower; fit them"), tr("Shift+W  Shift+S  ·  Ctrl+Shift+wheel; Shift+R")},
      {tr("Undo zoom"), tr("Backspace  ·  Ctrl+Z")},
      {tr("Select the next or previous item in the row"), tr(".  ,  ·  Alt+→  Alt+←")},
      {tr("Go to what a wait waits for"), tr("Enter")},
      {tr("Select the next or previous item like this one"), tr(">  <  ·  Shift+.  Shift+,")},
      {tr("Measure a span; measure the selection"), tr("Shift+drag; R")},
      {tr("Mark the time at the pointer; remove the mark"), tr("K")},
      {tr("Clear the selection; clear spans and marks"), tr("Esc; Esc again")},
      {tr("Pin, hide or move a device; show all"), tr("P  H  Shift+↑  Shift+↓; Shift+H")},
      {tr("Fold or unfold a device"), tr("click on its name")}};
  for (const auto& [what, key] : keys) actions.describe(tr("Timeline"), what, key);
}

}  // namespace pipescope::pages

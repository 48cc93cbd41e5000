#include "views/shell/page.h"

#include <QAbstractSpinBox>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPointer>
#include <QScrollArea>
#include <QShowEvent>
#include <QSortFilterProxyModel>
#include <QStackedLayout>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/frame/report_cache.h"
#include "views/shell/background.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/searched.h"

namespace pipescope::shell {
namespace {
/// Reading is announced only when it takes longer than this.
constexpr int kPageQuietMs = 150;
/// The heights of the other profile's chart and of the page, as shares.
constexpr int kChartAbove = 2, kPageBelow = 3;
}  // namespace

bool isTyping(const QWidget* focus) {
  if (focus == nullptr || !focus->isVisible()) return false;
  return qobject_cast<const QLineEdit*>(focus) != nullptr ||
         qobject_cast<const QAbstractSpinBox*>(focus) != nullptr ||
         qobject_cast<const QPlainTextEdit*>(focus) != nullptr;
}

Page::Page(PageContext& context) : context_(context) {
  setFocusPolicy(Qt::ClickFocus);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  bar_ = new NoticeBar(context.palette, this);
  layout->addWidget(bar_);
  auto* stacked = new QWidget(this);
  stack_ = new QStackedLayout(stacked);
  pane_ = new NoticePane(context.palette, stacked);
  stack_->addWidget(pane_);
  layout->addWidget(stacked, kPageBelow);
  layout_ = layout;
  connect(&context.session, &ProfileSession::opened, this, [this] {
    hasContent_ = false;
    const QString path = context_.session.path();
    if (path.isEmpty() || path != shownPath_) forgetProfile();
    shownPath_ = path;
    forget();
    reload();
  });
  connect(&context.session, &ProfileSession::grown, this, &Page::reload);
  connect(&context.session, &ProfileSession::executableChanged, this, [this] {
    forget();
    reload();
  });
}

/// Nobody waits for what is still being read.
Page::~Page() {
  if (progress_) progress_->cancel();
}

QString Page::notice() const {
  return stack_->currentWidget() == pane_ ? pane_->sentence() : bar_->sentence();
}

void Page::setContent(QWidget* content) {
  stack_->addWidget(content);
  content_ = content;
  // The keys of a long page scroll it.
  if (keyWidget_ == nullptr) keyWidget_ = qobject_cast<QScrollArea*>(content);
}

Picture Page::picture() {
  auto* scrolled = qobject_cast<QScrollArea*>(content_);
  return {scrolled != nullptr ? scrolled->widget() : this, accessibleName(), {}};
}

void Page::showInstead(const QString& sentence) {
  pane_->setNotice(NoticeKind::info, sentence);
  stack_->setCurrentWidget(pane_);
  enableOwned();
}

void Page::remark(const QString& sentence, NoticeKind kind) {
  bar_->setNotice(kind, sentence);
}

void Page::showContent() {
  stack_->setCurrentIndex(1);
  enableOwned();
}

bool Page::showsContent() const {
  return stack_->currentWidget() != pane_;
}

void Page::own(QAction* action) {
  addAction(action);
  owned_.emplace_back(action, true);
  action->setEnabled(isVisible() && showsContent());
}

void Page::setPossible(QAction* action, bool possible) {
  for (auto& [own, can] : owned_) {
    if (own == action) can = possible;
  }
  enableOwned();
}

void Page::enableOwned() {
  const bool shown = isVisible() && showsContent();
  for (const auto& [action, possible] : owned_) action->setEnabled(shown && possible);
}

void Page::offerKeyboard() {
  if (!isVisible() || isTyping(window()->focusWidget())) return;
  (keyWidget_ != nullptr && showsContent() ? keyWidget_ : this)->setFocus();
}

void Page::takeKey(QKeyEvent* event) {
  QWidget* const to = keyWidget_ != nullptr && showsContent() ? keyWidget_ : this;
  if (to->hasFocus()) return event->ignore();  // it has seen the key already
  QCoreApplication::sendEvent(to, event);
}

void Page::reload() {
  stale_ = true;
  if (isRead()) start();
}

void Page::loadUnseen(bool unseen) {
  unseen_ = unseen;
  if (unseen_ && stale_) start();
}

void Page::setAbove(const QString& sentence, std::function<void()> end) {
  delete std::exchange(above_, nullptr);
  aboveLayout_ = nullptr;
  if (sentence.isEmpty()) return;
  above_ = new QWidget(this);
  aboveLayout_ = new QVBoxLayout(above_);
  aboveLayout_->setContentsMargins(0, 6, 0, 0);
  aboveLayout_->setSpacing(4);
  auto* row = new QHBoxLayout;
  // A chart below the sentence is as wide as that of the page, so that their axes of time lie in line.
  row->setContentsMargins(14, 0, 10, 0);
  auto* label = new ElidedLabel(context_.palette, Qt::AlignLeft | Qt::AlignVCenter, above_, Ui::muted);
  label->setText(sentence);
  row->addWidget(label, 1);
  auto* button = new QToolButton(above_);
  button->setAutoRaise(true);
  button->setToolTip(tr("End the comparison"));
  button->setAccessibleName(button->toolTip());
  button->setIcon(icon(QStringLiteral("close"), context_.palette));
  connect(&context_.palette, &Palette::changed, button,
          [this, button] { button->setIcon(icon(QStringLiteral("close"), context_.palette)); });
  // The button goes with the comparison that it ends.
  connect(
      button, &QToolButton::clicked, this, [end = std::move(end)] { end(); }, Qt::QueuedConnection);
  row->addWidget(button);
  aboveLayout_->addLayout(row);
  layout_->insertWidget(1, above_);
}

void Page::setChartAbove(QWidget* chart) {
  if (aboveLayout_ == nullptr) return;
  aboveLayout_->addWidget(chart, 1);
  layout_->setStretchFactor(above_, kChartAbove);
  chart->show();
}

void Page::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  enableOwned();
  offerKeyboard();
  if (stale_) start();
}

void Page::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  enableOwned();
}

/// Only one load runs at a time. A newer request cancels the present one and starts after it.
void Page::start() {
  const ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  if (loading_) {
    progress_->cancel();
    return;
  }
  loading_ = true;
  stale_ = false;
  progress_ = std::make_shared<SharedProgress>();
  if (!hasContent_) {
    pane_->setNotice(NoticeKind::info, tr("Reading…"));
    stack_->setCurrentWidget(pane_);
    enableOwned();
  }
  QTimer::singleShot(kPageQuietMs, this, [this, progress = progress_] {
    if (loading_ && progress == progress_ && hasContent_) bar_->setNotice(NoticeKind::info, tr("Reading…"));
  });
  inBackground(
      this,
      [load = load(), held = *snapshot, executable = context_.session.executable(), progress = progress_,
       reports = context_.session.reports(), begin = firstPart()] {
        auto read = load({*held.source, *held.catalog, executable, *progress, reports, begin});
        sections::forgetLargeReports(*reports);
        return read;
      },
      [this](base::Result<Apply>&& result) { finish(std::move(result)); });
}

/// Returns the function that Job::begin calls on the worker. The page may be destroyed before the window's
/// thread gets to it.
std::function<void(Page::Apply)> Page::firstPart() {
  // The worker may be the last to let go of the relay, whose thread is the window's.
  const std::shared_ptr<QObject> relay(new QObject, [](QObject* object) { object->deleteLater(); });
  return [relay, page = QPointer<Page>(this), progress = progress_](Apply apply) {
    const auto show = [page, progress, apply = std::move(apply)] {
      if (!page || !page->loading_ || page->progress_ != progress || progress->cancelled()) return;
      const bool first = !page->hasContent_;
      page->showContent();
      page->hasContent_ = true;
      apply();
      page->bar_->setNotice(NoticeKind::info, tr("Reading…"));
      if (first) page->offerKeyboard();
    };
    QMetaObject::invokeMethod(relay.get(), show, Qt::QueuedConnection);
  };
}

void Page::finish(base::Result<Apply>&& result) {
  loading_ = false;
  if (stale_ && isRead()) return start();
  bar_->clear();
  if (result.ok()) {
    const bool first = !hasContent_;
    showContent();
    hasContent_ = true;
    (*result)();
    if (first) offerKeyboard();
  } else if (hasContent_ && showsContent()) {
    bar_->setNotice(NoticeKind::error, QString::fromStdString(result.error().message));
  } else {
    pane_->setNotice(NoticeKind::error, QString::fromStdString(result.error().message));
    stack_->setCurrentWidget(pane_);
  }
  Q_EMIT settled();
}

namespace {

/// Marks the words in a sentence that can be selected with the mouse, and returns whether it holds them.
bool markSentence(QLabel& label, const QString& words) {
  if (!label.textInteractionFlags().testFlag(Qt::TextSelectableByMouse) || label.textFormat() == Qt::RichText)
    return false;
  const int at = words.isEmpty() ? -1 : label.text().indexOf(words, 0, Qt::CaseInsensitive);
  if (at >= 0)
    label.setSelection(at, words.size());
  else if (label.hasSelectedText())
    label.setSelection(0, 0);
  return at >= 0;
}

/// The first row that a filter of a table left, if the table shows it and nothing is selected.
QPersistentModelIndex foundRow(const QTableView& table) {
  const auto* shown = qobject_cast<const QSortFilterProxyModel*>(table.model());
  if (shown == nullptr || !table.isVisible() || shown->rowCount() == 0 ||
      shown->rowCount() == shown->sourceModel()->rowCount() || table.selectionModel()->hasSelection())
    return {};
  return QPersistentModelIndex(shown->mapToSource(shown->index(0, 0)));
}

}  // namespace

int Page::markTexts(const QString& words, int direction) {
  const auto isSeen = [this](const QWidget& part) {
    return part.isVisibleTo(this) && part.width() > 0 && part.height() > 0;
  };
  int parts = 0;
  std::vector<QWidget*> found;
  for (QWidget* part : findChildren<QWidget*>()) {
    int here = 0;
    if (auto* searched = dynamic_cast<Searched*>(part))
      here = searched->markWords(words);
    else if (auto* label = qobject_cast<QLabel*>(part))
      here = markSentence(*label, words) ? 1 : 0;
    if (here == 0 || !isSeen(*part)) continue;
    parts += here;
    found.push_back(part);
  }
  if (found.empty()) return parts;
  const auto count = static_cast<int>(found.size());
  shownPart_ = direction == 0 ? 0 : (shownPart_ + direction + count) % count;
  QWidget* const part = found[static_cast<std::size_t>(shownPart_)];
  for (QWidget* around = part->parentWidget(); around != nullptr && around != this;
       around = around->parentWidget()) {
    if (auto* area = qobject_cast<QScrollArea*>(around)) area->ensureWidgetVisible(part);
  }
  return parts;
}

QString Page::find(const QString& text, int direction) {
  constexpr const char* kShownByFind = "shown_by_find";
  int rows = 0, tables = 0, all = 0;
  // Tables in tabs that are not shown are searched too.
  for (QLineEdit* filter : findChildren<QLineEdit*>(QStringLiteral("table_filter"))) {
    if (!text.isEmpty() && filter->isHidden()) {
      filter->setProperty(kShownByFind, true);
      filter->setVisible(true);
    }
    filter->setText(text);
    if (text.isEmpty() && filter->property(kShownByFind).toBool()) {
      filter->setProperty(kShownByFind, false);
      filter->setVisible(false);
    }
    const int here = filter->property("rows").toInt();
    rows += here;
    tables += here > 0 ? 1 : 0;
    ++all;
  }
  const int texts = markTexts(text, direction);
  if (text.isEmpty()) return {};
  QStringList parts;
  if (rows > 0)
    parts << (rows == 1     ? tr("1 row")
              : tables == 1 ? tr("%1 rows").arg(rows)
                            : tr("%1 rows in %2 tables").arg(rows).arg(tables));
  if (texts > 0) parts << (texts == 1 ? tr("1 name or sentence") : tr("%1 names and sentences").arg(texts));
  if (!parts.isEmpty()) return parts.join(QStringLiteral(", "));
  return all == 0 ? tr("there is no table on this page") : tr("nothing found");
}

void Page::endFind() {
  QTableView* table = nullptr;
  QPersistentModelIndex row;
  for (QTableView* each : findChildren<QTableView*>()) {
    if (row = foundRow(*each); !row.isValid()) continue;
    table = each;
    break;
  }
  find({}, 0);
  if (table == nullptr || !row.isValid()) return;
  const QModelIndex shown = qobject_cast<QSortFilterProxyModel*>(table->model())->mapFromSource(row);
  table->setCurrentIndex(shown);
  table->scrollTo(shown, QAbstractItemView::PositionAtCenter);
}

geometry::TimeScale Page::timeScale() const {
  geometry::TimeScale scale;
  const ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return scale;
  const analysis::Catalog& catalog = *snapshot->catalog;
  if (!catalog.devices.empty())
    scale.ticksPerSecond = std::max<std::int64_t>(1, catalog.devices.front().ticksPerSecond);
  if (catalog.target.tickMeaning == model::TickMeaning::cost) {
    scale.unit = geometry::TimeUnit::costUnits;
  } else if (catalog.target.tickMeaning == model::TickMeaning::time ||
             context_.settings.value(QStringLiteral("time_unit")).toString() == QLatin1String("time")) {
    scale.unit = geometry::TimeUnit::time;
  }
  return scale;
}

QKeySequence pageKey(std::size_t position) {
  constexpr std::size_t kKeys = 10;
  return position < kKeys ? QKeySequence(QStringLiteral("Ctrl+%1").arg((position + 1) % kKeys))
                          : QKeySequence();
}

void PageRegistry::add(PageDefinition definition) {
  const auto before = [](const PageDefinition& a, const PageDefinition& b) {
    return std::pair(a.group, a.order) < std::pair(b.group, b.order);
  };
  const auto place = std::upper_bound(definitions_.begin(), definitions_.end(), definition, before);
  definitions_.insert(place, std::move(definition));
}

}  // namespace pipescope::shell

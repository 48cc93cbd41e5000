#include "views/shell/page.h"

#include <QLineEdit>
#include <QShowEvent>
#include <QStackedLayout>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "views/shell/background.h"
#include "views/shell/notice.h"

namespace pipescope::shell {
namespace {
/// Reading is announced only when it takes longer than this.
constexpr int kPageQuietMs = 150;
}  // namespace

Page::Page(PageContext& context) : context_(context) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  bar_ = new NoticeBar(context.palette, this);
  layout->addWidget(bar_);
  auto* stacked = new QWidget(this);
  stack_ = new QStackedLayout(stacked);
  pane_ = new NoticePane(context.palette, stacked);
  stack_->addWidget(pane_);
  layout->addWidget(stacked, 1);
  connect(&context.session, &ProfileSession::opened, this, [this] {
    hasContent_ = false;
    forget();
    reload();
  });
  connect(&context.session, &ProfileSession::grown, this, &Page::reload);
  connect(&context.session, &ProfileSession::executableChanged, this, [this] {
    forget();
    reload();
  });
}

QString Page::notice() const {
  return stack_->currentWidget() == pane_ ? pane_->sentence() : bar_->sentence();
}

void Page::setContent(QWidget* content) {
  stack_->addWidget(content);
}

void Page::showInstead(const QString& sentence) {
  pane_->setNotice(NoticeKind::info, sentence);
  stack_->setCurrentWidget(pane_);
}

void Page::remark(const QString& sentence, NoticeKind kind) {
  bar_->setNotice(kind, sentence);
}

void Page::showContent() {
  stack_->setCurrentIndex(1);
}

void Page::reload() {
  stale_ = true;
  if (isVisible()) start();
}

void Page::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) start();
}

/// Only one load runs at a time. A newer request cancels the present one and starts after it.
void Page::start() {
  const Snapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  if (loading_) {
    progress_->cancel();
    return;
  }
  loading_ = true;
  stale_ = false;
  progress_ = std::make_shared<SharedProgress>();
  if (!hasContent_) pane_->setNotice(NoticeKind::info, tr("Reading…")), stack_->setCurrentWidget(pane_);
  QTimer::singleShot(kPageQuietMs, this, [this, progress = progress_] {
    if (loading_ && progress == progress_ && hasContent_) bar_->setNotice(NoticeKind::info, tr("Reading…"));
  });
  inBackground(
      this,
      [load = load(), held = *snapshot, executable = context_.session.executable(), progress = progress_] {
        return load({*held.source, *held.catalog, executable, *progress});
      },
      [this](base::Result<Apply>&& result) { finish(std::move(result)); });
}

void Page::finish(base::Result<Apply>&& result) {
  loading_ = false;
  if (stale_ && isVisible()) return start();
  bar_->clear();
  if (result.ok()) {
    showContent();
    hasContent_ = true;
    (*result)();
  } else if (hasContent_) {
    bar_->setNotice(NoticeKind::error, QString::fromStdString(result.error().message));
  } else {
    pane_->setNotice(NoticeKind::error, QString::fromStdString(result.error().message));
    stack_->setCurrentWidget(pane_);
  }
  Q_EMIT settled();
}

QString Page::find(const QString& text, int direction) {
  Q_UNUSED(direction)
  int rows = 0, tables = 0;
  for (QLineEdit* filter : findChildren<QLineEdit*>(QStringLiteral("table_filter"))) {
    if (filter->parentWidget() == nullptr || !filter->parentWidget()->isVisible()) continue;
    filter->setVisible(true);
    filter->setText(text);
    rows += filter->property("rows").toInt();
    ++tables;
  }
  if (text.isEmpty()) return {};
  if (tables == 0) return tr("there is no table on this page");
  return rows == 0 ? tr("nothing found") : tr("%1 rows").arg(rows);
}

geometry::TimeScale Page::timeScale() const {
  geometry::TimeScale scale;
  const Snapshot* snapshot = context_.session.snapshot();
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

void PageRegistry::add(PageDefinition definition) {
  const auto place =
      std::upper_bound(definitions_.begin(), definitions_.end(), definition.order,
                       [](int order, const PageDefinition& other) { return order < other.order; });
  definitions_.insert(place, std::move(definition));
}

}  // namespace pipescope::shell

#include "views/shell/home.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/shell/dialogs/notice.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"
#include "views/shell/recent_list.h"
#include "views/shell/window_settings.h"

namespace pipescope::shell {
namespace {
constexpr int kColumn = 620, kMarkSize = 64, kProfilesHeight = 220, kComparisonsHeight = 110;
constexpr int kSourceRole = Qt::UserRole + 1;
}  // namespace

Home::Home(const Palette& palette, WindowSettings& settings, QWidget* parent)
    : QWidget(parent),
      palette_(palette),
      settings_(settings),
      notice_(new NoticeBar(palette, this)),
      mark_(new QLabel(this)),
      title_(new QLabel(QStringLiteral("Pipescope"), this)),
      hint_(new QLabel(tr("Opens the profile.pop that “pipescope run” writes, also while it is still being "
                          "written. Drop a file here, or choose one."),
                       this)),
      recentTitle_(new QLabel(tr("Recent profiles"), this)),
      comparisonsTitle_(new QLabel(tr("Recent comparisons"), this)),
      recent_(new RecentList(this)),
      comparisons_(new QListWidget(this)) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(notice_);
  auto* column = new QWidget(this);
  column->setFixedWidth(kColumn);
  auto* layout = new QVBoxLayout(column);
  layout->setSpacing(10);
  layout->addStretch(2);
  layout->addWidget(mark_);
  layout->addWidget(title_);
  hint_->setWordWrap(true);
  layout->addWidget(hint_);
  auto* open = new QPushButton(tr("Open a profile…"), column);
  open->setDefault(true);
  open->setMinimumSize(160, 34);
  layout->addSpacing(6);
  demo_ = new QPushButton(tr("Open the demo profile"), column);
  demo_->setMinimumSize(160, 34);
  demo_->setVisible(false);
  demo_->setToolTip(tr("Trains a small model on four emulated IPUs and opens the profile of that run"));
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(open);
  buttons->addWidget(demo_);
  auto* run = new QPushButton(tr("New run…"), column);
  run->setMinimumSize(110, 34);
  run->setToolTip(tr("Edit a configuration and run it on emulated devices"));
  connect(run, &QPushButton::clicked, this, &Home::newRunRequested);
  buttons->addWidget(run);
  buttons->addStretch();
  layout->addLayout(buttons);
  connect(demo_, &QPushButton::clicked, this, &Home::demoRequested);
  layout->addSpacing(18);
  layout->addWidget(recentTitle_);
  recent_->setFrameShape(QFrame::NoFrame);
  recent_->setAccessibleName(tr("Recent profiles"));
  recent_->setFixedHeight(kProfilesHeight);
  recent_->setToolTip(tr("Drag one profile onto another to compare them"));
  layout->addWidget(recent_);
  layout->addWidget(comparisonsTitle_);
  comparisons_->setFrameShape(QFrame::NoFrame);
  comparisons_->setAccessibleName(tr("Recent comparisons"));
  comparisons_->setFixedHeight(kComparisonsHeight);
  layout->addWidget(comparisons_);
  connect(recent_, &RecentList::comparisonWanted, this, &Home::comparisonChosen);
  connect(comparisons_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    Q_EMIT comparisonChosen(item->data(kSourceRole).toString(), item->data(Qt::UserRole).toString());
  });
  layout->addStretch(3);
  outer->addWidget(column, 1, Qt::AlignHCenter);
  connect(open, &QPushButton::clicked, this, &Home::openRequested);
  connect(recent_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { Q_EMIT fileChosen(item->data(Qt::UserRole).toString()); });
  connect(&palette_, &Palette::changed, this, &Home::follow);
  follow();
  refresh();
}

void Home::refresh() {
  recent_->clear();
  for (const QString& path : settings_.recentFiles()) {
    const QFileInfo name(path);
    recent_->add(QStringLiteral("%1   —   %2").arg(name.fileName(), name.path()), path, path);
  }
  const bool any = recent_->count() > 0;
  recent_->setVisible(any);
  recentTitle_->setVisible(any);
  comparisons_->clear();
  for (const auto& [source, target] : settings_.recentComparisons()) {
    auto* item = new QListWidgetItem(
        tr("%1 → %2").arg(QFileInfo(source).fileName(), QFileInfo(target).fileName()), comparisons_);
    item->setData(Qt::UserRole, target);
    item->setData(kSourceRole, source);
    item->setToolTip(tr("source %1\ntarget %2").arg(source, target));
  }
  comparisons_->setVisible(comparisons_->count() > 0);
  comparisonsTitle_->setVisible(comparisons_->count() > 0);
}

void Home::setReading(const QString& file) {
  notice_->setNotice(NoticeKind::info, tr("Reading %1…").arg(file));
}

void Home::setDemoVisible(bool visible) {
  demo_->setVisible(visible);
}

void Home::setError(const QString& sentence) {
  if (sentence.isEmpty()) return notice_->clear();
  notice_->setNotice(NoticeKind::error, sentence);
}

QString Home::notice() const {
  return notice_->sentence();
}

void Home::follow() {
  mark_->setPixmap(
      iconPixmap(QStringLiteral("pipescope"), palette_.ui(Ui::accent), kMarkSize, devicePixelRatioF()));
  QFont large = font();
  large.setPointSizeF(font().pointSizeF() * 2.2);
  large.setBold(true);
  title_->setFont(large);
  QFont bold = font();
  bold.setBold(true);
  recentTitle_->setFont(bold);
  comparisonsTitle_->setFont(bold);
  Palette::makeQuiet(*hint_);
  QPalette list = palette_.widgets();
  list.setColor(QPalette::Base, palette_.ui(Ui::window));
  recent_->setPalette(list);
  comparisons_->setPalette(list);
}

}  // namespace pipescope::shell

#include "views/shell/home.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "views/shell/background.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"
#include "views/shell/recent_list.h"
#include "views/shell/sample_list.h"
#include "views/shell/window_settings.h"

namespace pipescope::shell {
namespace {
constexpr int kMostCards = 7, kMarkSize = 56, kButtonHeight = 46, kButtonColumns = 3, kButtonIcon = 22,
              kComparisonRow = 24, kMostComparisons = 5;
constexpr int kSourceRole = Qt::UserRole + 1;
}  // namespace

Home::Home(const Palette& palette, WindowSettings& settings, QWidget* parent)
    : QWidget(parent),
      palette_(palette),
      settings_(settings),
      notice_(new NoticeBar(palette, this)),
      mark_(new QLabel(this)),
      title_(new QLabel(QStringLiteral("Pipescope"), this)),
      hint_(new QLabel(tr("Shows how a model runs across accelerators. Open the profile.pop that “pipescope "
                          "run” writes, also while it is still being written, or a trace of another tool; or "
                          "drop files here."),
                       this)),
      recentTitle_(new QLabel(tr("Recent profiles"), this)),
      comparisonsTitle_(new QLabel(tr("Recent comparisons"), this)),
      samplesTitle_(new QLabel(tr("Samples to run"), this)),
      recent_(new RecentList(palette, this)),
      comparisons_(new QListWidget(this)),
      samples_(new SampleList(palette, this)) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(notice_);
  auto* scrolled = new QScrollArea(this);
  scrolled->setFrameShape(QFrame::NoFrame);
  scrolled->setWidgetResizable(true);
  scrolled->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  outer->addWidget(scrolled, 1);
  auto* page = new QWidget(scrolled);
  auto* sides = new QHBoxLayout(page);
  sides->setContentsMargins(24, 20, 24, 24);
  column_ = new QWidget(page);
  sides->addStretch(1);
  sides->addWidget(column_, 100);
  sides->addStretch(1);
  layout_ = new QVBoxLayout(column_);
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(8);
  layout_->addWidget(makeHead());
  layout_->addSpacing(8);
  makeButtons();
  layout_->addSpacing(14);
  makeLists();
  layout_->addStretch(1);
  scrolled->setWidget(page);
  connect(&palette_, &Palette::changed, this, &Home::follow);
  follow();
  refresh();
}

QWidget* Home::makeHead() {
  auto* head = new QWidget(column_);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(14);
  row->addWidget(mark_);
  auto* texts = new QVBoxLayout;
  texts->setSpacing(2);
  texts->addWidget(title_);
  hint_->setWordWrap(true);
  texts->addWidget(hint_);
  row->addLayout(texts, 1);
  return head;
}

QPushButton* Home::offer(const QString& text, const QString& icon, const QString& doc,
                         const std::function<void()>& run) {
  auto* button = new QPushButton(text, column_);
  button->setMinimumHeight(kButtonHeight);
  button->setIconSize({kButtonIcon, kButtonIcon});
  button->setToolTip(doc);
  button->setAccessibleDescription(doc);
  button->setIcon(shell::icon(icon, palette_));
  const int place = static_cast<int>(icons_.size());
  buttons_->addWidget(button, place / kButtonColumns, place % kButtonColumns);
  icons_.emplace_back(button, icon);
  connect(button, &QPushButton::clicked, this, run);
  return button;
}

void Home::makeButtons() {
  buttons_ = new QGridLayout;
  buttons_->setSpacing(10);
  // Cards have their gap at the right, so that this is where the last one ends.
  buttons_->setContentsMargins(0, 0, CardList::kTrailing, 0);
  layout_->addLayout(buttons_);
  offer(tr("Open a profile…"), QStringLiteral("open"), tr("A profile, or a trace of another tool"), [this] {
    Q_EMIT openRequested();
  })->setDefault(true);
  offer(tr("Compare two profiles…"), QStringLiteral("compare"), tr("What changed from one run to another"),
        [this] { Q_EMIT compareRequested(); });
  offer(tr("New run…"), QStringLiteral("pipeline"), tr("Edit a configuration and run it on emulated devices"),
        [this] { Q_EMIT newRunRequested(); });
  offer(tr("Import a folder of traces…"), QStringLiteral("recorded"),
        tr("The traces of all ranks of a run become one profile"), [this] { Q_EMIT folderRequested(); });
  demo_ = offer(tr("Open the demo profile"), QStringLiteral("trace"),
                tr("Trains a small model on four emulated IPUs and opens the profile of that run"),
                [this] { Q_EMIT demoRequested(); });
  demo_->setVisible(false);
}

void Home::makeLists() {
  layout_->addWidget(recentTitle_);
  recent_->setAccessibleName(tr("Recent profiles"));
  recent_->setAccessibleDescription(tr("Drag one profile onto another to compare them"));
  layout_->addWidget(recent_);
  layout_->addWidget(comparisonsTitle_);
  comparisons_->setFrameShape(QFrame::NoFrame);
  comparisons_->setAccessibleName(tr("Recent comparisons"));
  comparisons_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  layout_->addWidget(comparisons_);
  layout_->addWidget(samplesTitle_);
  samples_->setAccessibleName(tr("Samples to run"));
  layout_->addWidget(samples_);
  samplesTitle_->setVisible(false);
  connect(recent_, &RecentList::comparisonWanted, this, &Home::comparisonChosen);
  connect(recent_, &RecentList::openWanted, this, &Home::fileChosen);
  const auto run = [this](const QString& path) {
    const auto chosen = sampleTitles_.find(path);
    if (chosen != sampleTitles_.end()) Q_EMIT sampleChosen(chosen->second);
  };
  connect(samples_, &SampleList::openWanted, this, run);
  connect(samples_, &QListWidget::itemActivated, this,
          [run](QListWidgetItem* item) { run(SampleList::pathOf(*item)); });
  connect(samples_, &SampleList::editWanted, this, &Home::sampleEditWanted);
  connect(recent_, &RecentList::removeWanted, this, [this](const QString& path) {
    settings_.removeRecentFile(path);
    refresh();
    Q_EMIT recentChanged();
  });
  connect(recent_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { Q_EMIT fileChosen(RecentList::pathOf(*item)); });
  connect(comparisons_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    Q_EMIT comparisonChosen(item->data(kSourceRole).toString(), item->data(Qt::UserRole).toString());
  });
}

void Home::refresh() {
  recent_->clear();
  for (const QString& path : settings_.recentFiles()) {
    recent_->add(QFileInfo(path).fileName(), path, path);
    if (const auto known = cards_.find(path); known != cards_.end()) recent_->setCard(path, known->second);
  }
  const bool any = recent_->count() > 0;
  recent_->setVisible(any);
  recentTitle_->setVisible(any);
  comparisons_->clear();
  for (const auto& [source, target] : settings_.recentComparisons()) {
    if (comparisons_->count() == kMostComparisons) break;
    auto* item = new QListWidgetItem(
        tr("%1 → %2").arg(QFileInfo(source).fileName(), QFileInfo(target).fileName()), comparisons_);
    item->setData(Qt::UserRole, target);
    item->setData(kSourceRole, source);
    item->setToolTip(tr("source %1\ntarget %2").arg(source, target));
    item->setSizeHint({0, kComparisonRow});
  }
  comparisons_->setFixedHeight(comparisons_->count() * kComparisonRow + 4);
  comparisons_->setVisible(comparisons_->count() > 0);
  comparisonsTitle_->setVisible(comparisons_->count() > 0);
  fitCards();
  if (isVisible()) readCards();
}

void Home::setCardOpener(Opener opener) {
  opener_ = std::move(opener);
  if (isVisible()) readCards();
}

/// Reads one card after the other, so that a profile that the user opens meanwhile need not wait.
void Home::readCards() {
  const int asked = ++reads_;
  inBackground(
      this,
      [files = settings_.recentFiles(), opener = opener_] {
        std::map<QString, ProfileCard> cards;
        for (const QString& path : files) cards[path] = readCard(path, opener);
        return cards;
      },
      [this, asked](std::map<QString, ProfileCard>&& cards) {
        if (asked != reads_) return;
        cards_ = std::move(cards);
        for (const auto& [path, card] : cards_) recent_->setCard(path, card);
      });
}

void Home::setSamples(const std::vector<Sample>& samples) {
  samples_->clear();
  sampleTitles_.clear();
  for (const Sample& sample : samples) {
    samples_->add(sample.title, sample.path, sample.doc);
    sampleTitles_[sample.path] = sample.title;
    ProfileCard card;
    card.sentence = sample.doc;
    samples_->setCard(sample.path, card);
  }
  samplesTitle_->setVisible(!samples.empty());
  fitCards();
}

void Home::setSampleCard(const QString& path, const ProfileCard& card) {
  samples_->setCard(path, card);
}

void Home::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitCards();
}

void Home::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  readCards();
  Q_EMIT shown();
}

/// The column is as wide as the cards that have room side by side.
void Home::fitCards() {
  constexpr int kSides = 48;
  const int room = std::min(CardList::widthOf(kMostCards), width() - kSides);
  const int wide = CardList::widthOf(CardList::columnsIn(room));
  column_->setFixedWidth(wide);
  recent_->setFixedHeight(recent_->heightFor(wide));
  samples_->setFixedHeight(samples_->heightFor(wide));
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
  for (const auto& [button, name] : icons_) button->setIcon(shell::icon(name, palette_));
  QFont large = font();
  large.setPointSizeF(font().pointSizeF() * 2.2);
  large.setBold(true);
  title_->setFont(large);
  QFont bold = font();
  bold.setBold(true);
  for (QLabel* title : {recentTitle_, comparisonsTitle_, samplesTitle_}) title->setFont(bold);
  Palette::makeQuiet(*hint_);
  QPalette list = palette_.widgets();
  list.setColor(QPalette::Base, palette_.ui(Ui::window));
  recent_->setPalette(list);
  samples_->setPalette(list);
  comparisons_->setPalette(list);
}

}  // namespace pipescope::shell

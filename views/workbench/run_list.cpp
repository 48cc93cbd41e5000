#include "views/workbench/run_list.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QTabWidget>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/figures/figure.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/shell/background.h"
#include "views/shell/look/palette.h"

namespace pipescope::workbench {
namespace {

const auto kRuns = QStringLiteral("workbench/runs"), kFormers = QStringLiteral("workbench/formers");
constexpr int kMostRuns = 40, kNameColumn = 0, kStateColumn = 1;

}  // namespace

RunList::RunList(shell::Opener open, QWidget* parent)
    : QWidget(parent),
      open_(std::move(open)),
      tabs_(new QTabWidget(this)),
      hint_(new QLabel(tr("No run yet. “Start run” emulates the settings on the left and adds its profile to "
                          "this list, where it can be opened, compared and changed again."),
                       this)),
      table_(new QTreeWidget(this)),
      log_(new QPlainTextEdit(this)),
      progress_(new QProgressBar(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  QStringList headings = {tr("Run"), tr("State")};
  for (const char* key : {"step_cycles", "samples_per_second", "bubble_fraction", "imbalance", "fits"})
    headings << QString::fromUtf8(figures::figure(key).columnHeading());
  table_->setHeaderLabels(headings << tr("Loss"));
  table_->setRootIsDecorated(false);
  table_->setAllColumnsShowFocus(true);
  table_->setUniformRowHeights(true);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setAccessibleName(tr("Runs"));
  table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  // The header's own stretching would give the last column a little more than its room.
  table_->header()->setStretchLastSection(false);
  table_->header()->setSectionResizeMode(table_->columnCount() - 1, QHeaderView::Stretch);
  log_->setReadOnly(true);
  log_->setFrameShape(QFrame::NoFrame);
  log_->setAccessibleName(tr("Log"));
  log_->setTabChangesFocus(true);
  tabs_->setDocumentMode(true);
  tabs_->addTab(table_, tr("Runs"));
  tabs_->addTab(log_, tr("Log"));
  hint_->setWordWrap(true);
  hint_->setMargin(8);
  shell::Palette::makeQuiet(*hint_);
  column->addWidget(hint_);
  column->addWidget(tabs_, 1);
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  openButton_ = button(tr("Open"), tr("Open the profile in a window of its own"), &RunList::openSelected);
  compareButton_ = button(tr("Compare"), {}, &RunList::compareSelected);
  editButton_ = button(tr("Edit and run again"), tr("Take the settings of this run"), &RunList::editSelected);
  stopButton_ = button(tr("Stop"),
                       tr("End the run after the current call. Press again to end it at once. The "
                          "profile so far is kept."),
                       &RunList::stopSelected);
  removeButton_ =
      button(tr("Remove"), tr("Remove the run from this list; its files stay"), &RunList::removeSelected);
  for (QPushButton* each : {openButton_, compareButton_, editButton_, stopButton_, removeButton_})
    row->addWidget(each);
  progress_->setRange(0, 1000);
  progress_->setAccessibleName(tr("Progress"));
  progress_->setTextVisible(true);
  row->addStretch(1);
  column->addWidget(progress_);
  column->addLayout(row);
  connect(table_, &QTreeWidget::currentItemChanged, this, &RunList::followSelection);
  connect(table_, &QTreeWidget::itemActivated, this, &RunList::openSelected);
  const QStringList runs = settings_.value(kRuns).toStringList(),
                    formers = settings_.value(kFormers).toStringList();
  for (int i = 0; i < runs.size(); ++i) {
    entries_.push_back(std::make_unique<Entry>());
    Entry& entry = *entries_.back();
    entry.profile = runs[i];
    entry.former = formers.value(i);
    entry.item = new QTreeWidgetItem(table_);
    show(entry);
    readProfile(entry.profile);
  }
  if (!entries_.empty()) table_->setCurrentItem(entries_.front()->item);
  followSelection();
}

QPushButton* RunList::button(const QString& text, const QString& tip, void (RunList::*act)()) {
  auto* made = new QPushButton(text, this);
  made->setToolTip(tip);
  connect(made, &QPushButton::clicked, this, act);
  return made;
}

const ChildRun* RunList::add(RunRequest request) {
  entries_.insert(entries_.begin(), std::make_unique<Entry>());
  Entry& entry = *entries_.front();
  entry.former = request.former;
  entry.run = new ChildRun(std::move(request), this);
  entry.item = new QTreeWidgetItem;
  table_->insertTopLevelItem(0, entry.item);
  follow(entry);
  show(entry);
  table_->setCurrentItem(entry.item);
  tabs_->setCurrentIndex(0);
  entry.run->start();
  Q_EMIT activeChanged();
  return entry.run;
}

void RunList::follow(Entry& entry) {
  ChildRun* run = entry.run;
  connect(run, &ChildRun::changed, this, [this, run, &entry] {
    if (entry.profile.isEmpty() && !run->profile().isEmpty()) {
      entry.profile = run->profile();
      keep();
    }
    show(entry);
    if (selected() == &entry) followSelection();
  });
  connect(run, &ChildRun::logged, this, [this, &entry] {
    if (selected() == &entry) followSelection();
  });
  connect(run, &ChildRun::profileStarted, this, [this, run, &entry] {
    Q_EMIT profileStarted(run->profile());
    if (isOver(run->state())) readProfile(entry.profile);
    if (selected() == &entry) followSelection();
  });
  connect(run, &ChildRun::ended, this, [this, run, &entry] {
    if (run->hasProfile()) readProfile(entry.profile);
    Q_EMIT activeChanged();
  });
}

void RunList::show(Entry& entry) {
  const QString name =
      entry.profile.isEmpty() ? entry.run->request().name : QFileInfo(entry.profile).fileName();
  entry.item->setText(kNameColumn, name);
  entry.item->setToolTip(kNameColumn, entry.profile);
  const ChildRun* run = entry.run;
  QString state = entry.error.isEmpty() ? entry.figures.state : tr("cannot be read"), tip = entry.error;
  if (run != nullptr) {
    state = nameOf(run->state());
    if (run->state() == RunState::running)
      state = tr("%1 % · %2").arg(static_cast<int>(100 * run->fraction())).arg(run->activity());
    if (!run->sentence().isEmpty()) tip = run->sentence();
  }
  entry.item->setText(kStateColumn, state);
  entry.item->setToolTip(kStateColumn, tip);
  const RunFigures& f = entry.figures;
  const QStringList figures = {pages::withInterval(f.stepTime, f.stepInterval),
                               f.samplesPerSecond,
                               f.bubble,
                               f.imbalance,
                               f.fits,
                               f.loss};
  for (int i = 0; i < figures.size(); ++i) {
    entry.item->setText(kStateColumn + 1 + i, figures[i].isEmpty() ? QStringLiteral("–") : figures[i]);
    entry.item->setTextAlignment(kStateColumn + 1 + i, Qt::AlignRight | Qt::AlignVCenter);
  }
}

void RunList::readProfile(const QString& profile) {
  shell::inBackground(
      this, [open = open_, profile] { return readFigures(open, profile); },
      [this, profile](const base::Result<RunFigures>& figures) {
        for (const auto& entry : entries_) {
          if (entry->profile != profile) continue;
          entry->read = figures.ok();
          if (figures.ok()) entry->figures = *figures;
          entry->error = figures.ok() ? QString() : QString::fromStdString(figures.error().message);
          show(*entry);
        }
        followSelection();
      });
}

RunList::Entry* RunList::entryOf(const QTreeWidgetItem* item) const {
  const auto found = std::ranges::find(entries_, item, [](const auto& entry) { return entry->item; });
  return found == entries_.end() ? nullptr : found->get();
}

RunList::Entry* RunList::selected() const {
  return entryOf(table_->currentItem());
}

const ChildRun* RunList::selectedRun() const {
  const Entry* entry = selected();
  return entry == nullptr ? nullptr : entry->run;
}

void RunList::followSelection() {
  hint_->setVisible(table_->topLevelItemCount() == 0);
  const Entry* entry = selected();
  const ChildRun* run = entry == nullptr ? nullptr : entry->run;
  const bool goesOn = run != nullptr && !isOver(run->state());
  const bool opens = entry != nullptr && (run != nullptr ? run->hasProfile() : entry->error.isEmpty());
  openButton_->setEnabled(opens);
  compareButton_->setEnabled(opens && !goesOn && !entry->former.isEmpty());
  const QString former = entry == nullptr ? QString() : entry->former;
  compareButton_->setToolTip(
      former.isEmpty() ? tr("There is no earlier run to compare with. “Edit and run again” starts a run "
                            "that has one.")
                       : tr("Show what has changed from %1").arg(former));
  editButton_->setEnabled(entry != nullptr && entry->read);
  stopButton_->setEnabled(goesOn);
  stopButton_->setText(goesOn && run->state() == RunState::stopping ? tr("End at once") : tr("Stop"));
  removeButton_->setEnabled(entry != nullptr && !goesOn);
  progress_->setVisible(run != nullptr);
  progress_->setValue(run == nullptr ? 0 : static_cast<int>(1000 * run->fraction()));
  progress_->setFormat(run == nullptr ? QString() : tr("%p % · %1").arg(run->activity()));
  const QString said = run != nullptr ? run->log() : entry != nullptr ? entry->error : QString();
  if (log_->toPlainText() == said) return;
  log_->setPlainText(said);
  log_->verticalScrollBar()->setValue(log_->verticalScrollBar()->maximum());
}

int RunList::active() const {
  return static_cast<int>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry->run != nullptr && !isOver(entry->run->state()); }));
}

void RunList::stopAll() {
  for (const auto& entry : entries_) {
    if (entry->run != nullptr && !isOver(entry->run->state())) entry->run->stop();
  }
}

void RunList::keep() {
  QStringList runs, formers;
  for (const auto& entry : entries_) {
    if (entry->profile.isEmpty() || runs.size() >= kMostRuns) continue;
    runs << entry->profile;
    formers << entry->former;
  }
  settings_.setValue(kRuns, runs);
  settings_.setValue(kFormers, formers);
}

void RunList::removeSelected() {
  const auto found =
      std::ranges::find(entries_, table_->currentItem(), [](const auto& entry) { return entry->item; });
  if (found == entries_.end()) return;
  const std::unique_ptr<Entry> gone = std::move(*found);
  entries_.erase(found);
  delete gone->item;
  if (gone->run != nullptr) delete gone->run;
  keep();
  followSelection();
}

void RunList::openSelected() {
  if (const Entry* entry = selected(); entry != nullptr && openButton_->isEnabled())
    Q_EMIT openWanted(entry->profile);
}

void RunList::compareSelected() {
  if (const Entry* entry = selected()) Q_EMIT compareWanted(entry->former, entry->profile);
}

void RunList::editSelected() {
  if (const Entry* entry = selected()) Q_EMIT editWanted(entry->profile, entry->figures.options);
}

void RunList::stopSelected() {
  if (const Entry* entry = selected(); entry != nullptr && entry->run != nullptr) entry->run->stop();
}

}  // namespace pipescope::workbench

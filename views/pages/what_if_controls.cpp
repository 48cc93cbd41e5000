#include "views/pages/what_if_controls.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "profiler/replay/best_move.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/text.h"
#include "views/shell/look/icons.h"

namespace pipescope::pages {
namespace {

/// Keys of one subject each, such as a stage or a link, hold one of these words in place of its name.
enum class Subject { none, stage, link };

Subject subjectOf(const std::string& key) {
  if (key.find(".NAME.") != std::string::npos) return Subject::link;
  return key.find(".N.") != std::string::npos ? Subject::stage : Subject::none;
}

std::string keyFor(const std::string& pattern, const std::string& subject) {
  std::string key = pattern;
  for (const char* word : {".NAME.", ".N."}) {
    const std::size_t at = key.find(word);
    if (at == std::string::npos) continue;
    return key.replace(at + 1, std::char_traits<char>::length(word) - 2, subject);
  }
  return key;
}

}  // namespace

WhatIfOffer offerOf(const replay::ChangeContext& context, const replay::Recording& recording) {
  WhatIfOffer offer;
  for (const replay::ChangeKind& kind : replay::changeKinds()) {
    if (replay::isFor(kind, recording)) offer.keys.push_back(kind.key);
  }
  offer.stages = recording.stageCount();
  if (context.schedules != nullptr) offer.schedules = context.schedules->names;
  std::set<std::string> names;
  for (const replay::ReplicaCosts& replica : recording.replicas) {
    for (const replay::Flow& flow : replica.flows) {
      const model::Link* link = context.catalog.links.find(flow.link);
      if (link != nullptr && names.insert(link->name).second) offer.links.push_back(link->name);
    }
  }
  for (const replay::Change& move : replay::blockMoves(recording)) offer.moves.push_back(move.value);
  return offer;
}

/// A small window has no pixel to spare for the indent of the panels below.
void WhatIfControls::resizeEvent(QResizeEvent* event) {
  constexpr int kRoomy = 1000, kSmallIndent = 8;
  row_->setIndent(width() < kRoomy ? kSmallIndent : kScrolledIndent);
  QWidget::resizeEvent(event);
}

WhatIfControls::WhatIfControls(shell::PageContext& context, QWidget* parent)
    : QWidget(parent), context_(context), row_(new ToolRow(context, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(row_);
  row_->label(tr("Change"));
  kind_ = row_->combo({}, tr("What to change"), tr("What to change"));
  showKinds();
  of_ = row_->label({});
  subject_ = row_->combo({}, tr("Of which"), tr("The stage or link that is changed"));
  row_->label(tr("to"));
  value_ =
      row_->combo({}, tr("New value"),
                  tr("A number in the unit of the reports, a factor (× 0.8), a percentage (+5%) or a word"));
  value_->setEditable(true);
  value_->setInsertPolicy(QComboBox::NoInsert);
  value_->setMinimumContentsLength(8);
  value_->setFocusPolicy(Qt::StrongFocus);
  add_ = new QPushButton(tr("Add"), this);
  add_->setToolTip(tr("Replay the recorded call with this change as well"));
  row_->add(add_);
  row_->space();
  auto* best = new QPushButton(tr("Best move"), this);
  best->setAccessibleName(tr("Best single move"));
  best->setToolTip(
      tr("Try changes of split, micro-batches, schedule and recompute, and add the one that gains most"));
  row_->add(best);
  auto* profile = new QPushButton(tr("Open as profile"), this);
  profile->setToolTip(tr("Show the replayed call as a profile, compared with the recorded one"));
  row_->add(profile);
  row_->stretch();
  list_ = new QWidget(this);
  grid_ = new QGridLayout(list_);
  grid_->setContentsMargins(kScrolledIndent, 0, kScrolledIndent, 6);
  grid_->setSpacing(4);
  column->addWidget(list_);
  connect(kind_, QOverload<int>::of(&QComboBox::currentIndexChanged), this, [this] { followKind(); });
  connect(value_->lineEdit(), &QLineEdit::returnPressed, this, &WhatIfControls::addTyped);
  connect(add_, &QPushButton::clicked, this, &WhatIfControls::addTyped);
  connect(best, &QPushButton::clicked, this, &WhatIfControls::bestMoveWanted);
  connect(profile, &QPushButton::clicked, this, &WhatIfControls::profileWanted);
  followKind();
  showChanges();
}

const replay::ChangeKind& WhatIfControls::kind() const {
  const std::vector<replay::ChangeKind>& all = replay::changeKinds();
  const auto found =
      std::ranges::find(all, kind_->currentData().toString().toStdString(), &replay::ChangeKind::key);
  return found == all.end() ? all.front() : *found;
}

/// Lists the kinds that the recorded call may have; all while it is being read.
void WhatIfControls::showKinds() {
  const QSignalBlocker quiet(kind_);
  const QVariant before = kind_->currentData();
  kind_->clear();
  for (const replay::ChangeKind& kind : replay::changeKinds()) {
    if (!offer_.keys.empty() && std::ranges::find(offer_.keys, kind.key) == offer_.keys.end()) continue;
    kind_->addItem(text(kind.words), text(kind.key));
    kind_->setItemData(kind_->count() - 1, tr("%1\nKey: %2").arg(text(kind.doc), text(kind.key)),
                       Qt::ToolTipRole);
  }
  kind_->setCurrentIndex(std::max(0, kind_->findData(before)));
}

void WhatIfControls::setOffer(const WhatIfOffer& offer) {
  offer_ = offer;
  showKinds();
  followKind();
}

std::vector<std::string> WhatIfControls::valuesOf(const std::string& key) const {
  if (key == replay::kScheduleKey) return offer_.schedules;
  if (key == "move") return offer_.moves;
  if (key == replay::kRecomputeKey) return {"pipeline", "none"};
  if (key == "micro_batch_costs") return {"1,0.5,2"};
  if (key.ends_with(".replication_factor")) return {"1", "2", "4", "8"};
  if (key == replay::kAccumulationKey) return {"*2", "*4"};
  return {"*0.5", "*0.8", "*1.25", "*2"};
}

/// The value that is chosen or typed. People may write "× 0.8" and "−5 %".
std::string WhatIfControls::typedValue() const {
  const QString typed = value_->currentText().trimmed();
  const int chosen = value_->findText(typed);
  if (chosen >= 0) return value_->itemData(chosen).toString().toStdString();
  QString value = typed;
  value.replace(QChar(0xD7), QLatin1Char('*')).replace(QChar(0x2212), QLatin1Char('-'));
  if (value.startsWith(QLatin1Char('*')) || value.endsWith(QLatin1Char('%'))) value.remove(QLatin1Char(' '));
  return value.toStdString();
}

void WhatIfControls::followKind() {
  const std::string& key = kind().key;
  kind_->setToolTip(tr("%1\nKey: %2").arg(text(kind().doc), text(key)));
  const Subject subject = subjectOf(key);
  const QString before = subject_->currentText();
  subject_->clear();
  if (subject == Subject::stage) {
    for (int stage = 0; stage < offer_.stages; ++stage) subject_->addItem(QString::number(stage));
  } else if (subject == Subject::link) {
    for (const std::string& link : offer_.links) subject_->addItem(text(link));
  }
  subject_->setCurrentText(before);
  subject_->setVisible(subject != Subject::none);
  of_->setText(subject == Subject::stage ? tr("of stage") : tr("of link"));
  of_->setVisible(subject != Subject::none);
  value_->clear();
  for (const std::string& value : valuesOf(key)) value_->addItem(changeValueInWords(key, value), text(value));
  add_->setEnabled(subject == Subject::none || subject_->count() > 0);
}

void WhatIfControls::addTyped() {
  const std::string value = typedValue();
  if (value.empty() || !add_->isEnabled()) return;
  addChange({keyFor(kind().key, subject_->currentText().toStdString()), value});
}

/// A second change of a key replaces the first one, unless changes add up.
void WhatIfControls::addChange(replay::Change change) {
  const auto same = std::ranges::find(changes_, change.key, &replay::Change::key);
  if (same != changes_.end() && change.key != "move") {
    *same = std::move(change);
  } else {
    changes_.push_back(std::move(change));
  }
  showChanges();
  Q_EMIT changed();
}

void WhatIfControls::setChanges(std::vector<replay::Change> changes) {
  changes_ = std::move(changes);
  showChanges();
}

void WhatIfControls::showChanges() {
  constexpr int kColumns = 4;
  while (QLayoutItem* item = grid_->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();
      item->widget()->deleteLater();  // it may be the button that was clicked
    }
    delete item;
  }
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const QString what = changeInWords(changes_[i]);
    auto* chip = new QToolButton(list_);
    chip->setText(what);
    chip->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    chip->setIcon(shell::icon(QStringLiteral("close"), context_.palette));
    chip->setToolTip(tr("Take back %1").arg(text(changes_[i].text())));
    chip->setAccessibleName(tr("Take back %1").arg(what));
    chip->setFocusPolicy(Qt::TabFocus);
    connect(&context_.palette, &shell::Palette::changed, chip,
            [this, chip] { chip->setIcon(shell::icon(QStringLiteral("close"), context_.palette)); });
    connect(chip, &QToolButton::clicked, this, [this, i] {
      changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(i));
      showChanges();
      Q_EMIT changed();
    });
    grid_->addWidget(chip, static_cast<int>(i) / kColumns, static_cast<int>(i) % kColumns, Qt::AlignLeft);
  }
  grid_->setColumnStretch(kColumns, 1);
  list_->setVisible(!changes_.empty());
}

}  // namespace pipescope::pages

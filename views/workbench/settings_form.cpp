#include "views/workbench/settings_form.h"

#include <QCompleter>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QStringListModel>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/base/nearest.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"
#include "views/workbench/key_field.h"

namespace pipescope::workbench {
namespace {

constexpr int kLabelWidth = 165, kLabelDrop = 4, kMostEntries = 16;

QString ownName(const QString& path) {
  return path.section(QLatin1Char('.'), -1);
}

/// A label begins with a capital letter; its tool tip has the key as configurations have it.
QString capitalised(QString words) {
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  return words;
}

/// The heading of an entry of an array: "layer 0" for "model.layers[0]".
QString entryInWords(const QString& path) {
  static const QRegularExpression kEntry(QStringLiteral("(\\w+)s\\[(\\d+)\\]$"));
  const QRegularExpressionMatch entry = kEntry.match(path);
  return entry.hasMatch() ? QStringLiteral("%1 %2").arg(entry.captured(1), entry.captured(2)) : path;
}

/// The path of a new entry of an array: "stages[2]" with its keys is added by "stages[]".
QString newEntry(const QString& array) {
  return array + QStringLiteral("[]");
}

}  // namespace

SettingsForm::SettingsForm(const shell::Palette& palette, Draft& draft, QWidget* parent)
    : QWidget(parent),
      palette_(palette),
      draft_(draft),
      search_(new QLineEdit(this)),
      answer_(new QLabel(this)),
      offers_(new QStringListModel(this)),
      area_(new QScrollArea(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  search_->setPlaceholderText(tr("Add a setting: part of its name or meaning"));
  search_->setAccessibleName(tr("Add a setting"));
  search_->setToolTip(tr("Only the settings that were given are shown. Type here to add another one."));
  search_->setClearButtonEnabled(true);
  layout->addWidget(search_);
  answer_->setWordWrap(true);
  answer_->setProperty("colour", QStringLiteral("error"));
  answer_->hide();
  layout->addWidget(answer_);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setWidgetResizable(true);
  area_->viewport()->setAutoFillBackground(false);  // the panel below paints the ground
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  layout->addWidget(area_, 1);
  auto* completer = new QCompleter(offers_, search_);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setMaxVisibleItems(14);
  search_->setCompleter(completer);
  // A choice by Return also arrives as returnPressed(), which leaves nothing to add.
  connect(completer, QOverload<const QString&>::of(&QCompleter::activated), this,
          [this] { QTimer::singleShot(0, this, &SettingsForm::addTyped); });
  connect(search_, &QLineEdit::returnPressed, this, &SettingsForm::addTyped);
  connect(search_, &QLineEdit::textEdited, this, [this] { answer_->hide(); });
  refresh();
}

QStringList SettingsForm::closedArrays() const {
  QStringList closed;
  for (const QString& array : draft_.keys().arrays()) {
    if (isClosed(array)) closed << array;
  }
  return closed;
}

void SettingsForm::refresh() {
  if (!refreshValues()) rebuild();
}

/// Shows other values of the same settings. Returns false if the settings are others.
bool SettingsForm::refreshValues() {
  const QStringList closed = closedArrays();
  if (rows_ == nullptr || !closed.isEmpty() || closed != closed_) return false;
  const auto settings = draft_.settings();
  const bool same = std::ranges::equal(settings, fields_, {}, &FormSetting::path, &KeyField::path);
  if (!same || settings.empty()) return false;
  for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i]->setValue(settings[i].value);
  offers_->setStringList(offers());
  return true;
}

void SettingsForm::rebuild() {
  fields_.clear();
  rows_ = new QWidget;
  column_ = new QVBoxLayout(rows_);
  column_->setContentsMargins(0, 0, 10, 0);
  column_->setSpacing(4);
  closed_ = closedArrays();
  QString heading;
  QGridLayout* grid = nullptr;
  for (const FormSetting& setting : draft_.settings()) {
    const KeyRow* key = draft_.keys().of(setting.path);
    const QString table = setting.path.section(QLatin1Char('.'), 0, -2);
    const int open = table.indexOf(QLatin1Char('['));
    const QString array = table.left(std::max(0, open));
    if (closed_.contains(array)) {
      if (heading != array) addClosed(heading = array);
      grid = nullptr;
      continue;
    }
    if (grid == nullptr || table != heading) {
      heading = table;
      grid = open < 0 ? group(table, {}, -1)
                      : group(table, table.left(open), table.mid(open + 1).chopped(1).toInt());
    }
    addRow(*grid, *key, setting.path);
  }
  if (draft_.settings().empty()) {
    auto* none =
        new QLabel(tr("Every setting has its default. Choose a sample above, open a configuration, or "
                      "add settings."),
                   rows_);
    none->setWordWrap(true);
    shell::Palette::makeQuiet(*none);
    column_->addWidget(none);
  }
  column_->addStretch(1);
  area_->setWidget(rows_);
  rows_->setAutoFillBackground(false);
  offers_->setStringList(offers());
}

bool SettingsForm::isClosed(const QString& array) const {
  return draft_.count(array) > kMostEntries && !opened_.contains(array);
}

/// Hundreds of entries would take long to show, and nobody reads them all.
void SettingsForm::addClosed(const QString& array) {
  auto* opens = new QToolButton(rows_);
  opens->setText(tr("Show the %1 entries of %2").arg(draft_.count(array)).arg(array));
  opens->setToolButtonStyle(Qt::ToolButtonTextOnly);
  connect(opens, &QToolButton::clicked, this, [this, array] {
    opened_.insert(array);
    QTimer::singleShot(0, this, [this] {
      refresh();
      Q_EMIT changed();
    });
  });
  column_->addSpacing(6);
  column_->addWidget(opens, 0, Qt::AlignLeft);
}

QGridLayout* SettingsForm::group(const QString& title, const QString& array, int index) {
  auto* head = new QHBoxLayout;
  auto* label = new QLabel(capitalised(entryInWords(title)), rows_);
  label->setToolTip(title);
  QFont bold = font();
  bold.setBold(true);
  label->setFont(bold);
  head->addWidget(label);
  head->addStretch(1);
  if (!array.isEmpty()) {
    auto* remove = new QToolButton(rows_);
    remove->setAutoRaise(true);
    remove->setIcon(shell::icon(QStringLiteral("close"), palette_));
    remove->setToolTip(tr("Remove %1").arg(title));
    remove->setAccessibleName(tr("Remove %1").arg(title));
    connect(remove, &QToolButton::clicked, this, [this, array, index] {
      draft_.removeEntry(array, index);
      QTimer::singleShot(0, this, &SettingsForm::refresh);  // the button is one of the rows
      Q_EMIT changed();
    });
    head->addWidget(remove);
  }
  column_->addSpacing(6);
  column_->addLayout(head);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(4);
  grid->setColumnStretch(1, 1);
  column_->addLayout(grid);
  return grid;
}

void SettingsForm::addRow(QGridLayout& grid, const KeyRow& key, const QString& path) {
  const int row = grid.rowCount();
  auto* label = new QLabel(capitalised(pages::settingInWords(path)), rows_);
  label->setToolTip(keyTip(key));
  label->setMinimumWidth(kLabelWidth);
  label->setContentsMargins(0, kLabelDrop, 0, 0);  // onto the line of the text in the field
  auto* field = new KeyField(key, path, draft_.value(path), rows_);
  label->setBuddy(field->editor());
  auto* remove = new QToolButton(rows_);
  remove->setAutoRaise(true);
  remove->setIcon(shell::icon(QStringLiteral("undo"), palette_));
  remove->setToolTip(tr("Back to the default"));
  remove->setAccessibleName(tr("Back to the default of %1").arg(path));
  // The next field is one Tab away, and the button stays in reach of the mouse and of screen readers.
  remove->setFocusPolicy(Qt::ClickFocus);
  grid.addWidget(label, row, 0, Qt::AlignTop);
  grid.addWidget(field, row, 1);
  grid.addWidget(remove, row, 2, Qt::AlignTop);
  fields_.push_back(field);
  connect(field, &KeyField::edited, this, [this](const QString& at, const QString& toml) {
    draft_.set(at, toml);
    Q_EMIT changed();
  });
  connect(remove, &QToolButton::clicked, this, [this, path] {
    draft_.remove(path);
    QTimer::singleShot(0, this, &SettingsForm::refresh);
    Q_EMIT changed();
  });
}

KeyField* SettingsForm::field(const QString& path) const {
  const auto found = std::ranges::find(fields_, path, &KeyField::path);
  return found == fields_.end() ? nullptr : *found;
}

QStringList SettingsForm::setProblems(const std::vector<Problem>& problems) {
  QStringList others;
  for (KeyField* each : fields_) {
    const auto own = std::ranges::find(problems, each->path(), &Problem::path);
    each->setProblem(own == problems.end() ? QString() : own->sentence);
  }
  for (const Problem& problem : problems) {
    if (field(problem.path) == nullptr && !others.contains(problem.sentence)) others << problem.sentence;
  }
  return others;
}

QStringList SettingsForm::addable() const {
  QStringList paths;
  for (const KeyRow& key : draft_.keys().all()) {
    const int brackets = key.path.indexOf(QStringLiteral("[]"));
    if (brackets < 0) {
      if (!draft_.given(key.path) && draft_.applies(key)) paths << key.path;
      continue;
    }
    const QString array = key.path.left(brackets);
    const int entries = isClosed(array) ? 0 : draft_.count(array);
    for (int i = 0; i < entries; ++i) {
      const QString path = key.path.left(brackets + 1) + QString::number(i) + key.path.mid(brackets + 1);
      if (!draft_.given(path)) paths << path;
    }
  }
  for (const QString& array : draft_.keys().arrays()) paths << newEntry(array);
  return paths;
}

QStringList SettingsForm::offers() const {
  QStringList lines;
  for (const QString& path : addable()) {
    const KeyRow* key = draft_.keys().of(path);
    const QString about = key == nullptr ? tr("a further entry") : key->help.section(QLatin1Char('.'), 0, 0);
    lines << QStringLiteral("%1 — %2").arg(path, about);
  }
  return lines;
}

/// Adds what was typed: a whole path, or the last part of one.
void SettingsForm::addTyped() {
  const QString typed = search_->text().section(QStringLiteral(" — "), 0, 0).trimmed();
  if (typed.isEmpty()) return;
  const QStringList paths = addable();
  if (paths.contains(typed)) return addSetting(typed);
  QStringList same;
  std::vector<std::string> known;
  for (const QString& path : paths) {
    known.push_back(path.toStdString());
    if (ownName(path) == typed) same << path;
  }
  if (same.size() == 1) return addSetting(same.front());
  const auto said = [&](const QString& sentence) {
    answer_->setText(sentence);
    answer_->show();
  };
  if (KeyField* shown = field(typed)) return shown->editor()->setFocus();
  if (!same.isEmpty()) return said(tr("%1 may be %2.").arg(typed, same.mid(0, 4).join(tr(" or "))));
  const KeyRow* key = draft_.keys().of(typed);
  if (key != nullptr && !draft_.applies(*key))
    return said(tr("%1 has no meaning with %2 = %3.").arg(typed, key->chooser, draft_.value(key->chooser)));
  const QString near = QString::fromStdString(base::nearest(typed.toStdString(), known));
  said(near.isEmpty() ? tr("There is no setting %1.").arg(typed)
                      : tr("There is no setting %1; did you mean %2?").arg(typed, near));
}

void SettingsForm::addSetting(const QString& path) {
  search_->clear();
  answer_->hide();
  QString first = path;
  if (path.endsWith(QStringLiteral("[]"))) {
    const QString array = path.chopped(2),
                  entry = QStringLiteral("%1[%2].").arg(array).arg(draft_.count(array));
    first.clear();
    opened_.insert(array);
    for (const KeyRow& key : draft_.keys().all()) {
      if (!key.path.startsWith(newEntry(array) + QLatin1Char('.'))) continue;
      if (!key.required && !first.isEmpty()) continue;
      const QString own = entry + key.path.mid(array.size() + 3);
      draft_.set(own, key.fallback);
      if (first.isEmpty()) first = own;
    }
  } else {
    draft_.set(path, draft_.value(path));
  }
  refresh();
  Q_EMIT changed();
  KeyField* added = field(first);
  if (added == nullptr) return;
  added->editor()->setFocus();
  if (auto* line = qobject_cast<QLineEdit*>(added->editor())) line->selectAll();
  QTimer::singleShot(0, added, [this, added] { area_->ensureWidgetVisible(added); });
}

}  // namespace pipescope::workbench

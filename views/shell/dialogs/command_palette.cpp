#include "views/shell/dialogs/command_palette.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QPointer>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "views/shell/look/palette.h"

namespace pipescope::shell {

namespace {

constexpr int kTypingRestMs = 120, kLeastLetters = 2;
constexpr int kNameRole = Qt::UserRole + 1, kDetailRole = Qt::UserRole + 2;

/// Paints the name of an entry at the left and its detail, quiet, at the right.
class EntryPainter : public QStyledItemDelegate {
 public:
  /// `quiet` has the colour of less important text in each theme.
  EntryPainter(const QWidget& quiet, QObject* parent) : QStyledItemDelegate(parent), quiet_(quiet) {}

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
    constexpr int kAround = 10;
    return {0, QFontMetrics(option.font).height() + kAround};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    constexpr int kPad = 8, kApart = 16, kLeastDetail = 3;  // the detail has a third of the width, at least
    QStyleOptionViewItem row = option;
    initStyleOption(&row, index);
    row.text.clear();
    const QStyle* style = row.widget->style();
    style->drawControl(QStyle::CE_ItemViewItem, &row, painter, row.widget);
    const bool chosen = row.state & QStyle::State_Selected;
    const QFontMetrics metrics(row.font);
    const QRect room = row.rect.adjusted(kPad, 0, -kPad, 0);
    const QString name = index.data(kNameRole).toString(), detail = index.data(kDetailRole).toString();
    const int named = metrics.horizontalAdvance(name) + kApart;
    const int most = detail.isEmpty() ? 0 : std::max(room.width() / kLeastDetail, room.width() - named);
    const QString shown = metrics.elidedText(detail, Qt::ElideRight, most);
    const int aside = shown.isEmpty() ? 0 : metrics.horizontalAdvance(shown) + kApart;
    painter->save();
    painter->setFont(row.font);
    painter->setPen(row.palette.color(chosen ? QPalette::HighlightedText : QPalette::Text));
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                      metrics.elidedText(name, Qt::ElideMiddle, room.width() - aside + kApart / 2));
    if (!chosen) painter->setPen(quiet_.palette().color(QPalette::WindowText));
    painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, shown);
    painter->restore();
  }

 private:
  const QWidget& quiet_;
};

bool contains(const QString& text, const QStringList& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

/// The ways in which an entry fits a text, best first.
enum class PaletteMatch { same, begins, name, detail, none };

PaletteMatch matchOf(const PaletteEntry& entry, const QString& text, const QStringList& words) {
  if (contains(entry.name, words)) {
    if (entry.name.compare(text, Qt::CaseInsensitive) == 0) return PaletteMatch::same;
    return entry.name.startsWith(text, Qt::CaseInsensitive) ? PaletteMatch::begins : PaletteMatch::name;
  }
  return contains(entry.name + QLatin1Char(' ') + entry.detail, words) ? PaletteMatch::detail
                                                                       : PaletteMatch::none;
}

}  // namespace

CommandPalette::CommandPalette(std::vector<PaletteEntry> commands, QWidget* parent)
    : QDialog(parent),
      commands_(std::move(commands)),
      box_(new QLineEdit(this)),
      list_(new QListWidget(this)),
      answer_(new QLabel(this)) {
  setWindowTitle(tr("Commands"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 10, 10, 10);
  layout->addWidget(box_);
  layout->addWidget(list_);
  layout->addWidget(answer_);
  Palette::makeQuiet(*answer_);
  box_->setPlaceholderText(tr("What to do, or where to go"));
  box_->setAccessibleName(tr("Command"));
  box_->setClearButtonEnabled(true);
  list_->setAccessibleName(tr("Commands"));
  list_->setUniformItemSizes(true);
  list_->setItemDelegate(new EntryPainter(*answer_, list_));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setTextElideMode(Qt::ElideRight);
  resize(680, 420);
  box_->installEventFilter(this);
  rest_.setSingleShot(true);
  rest_.setInterval(kTypingRestMs);
  connect(&rest_, &QTimer::timeout, this, &CommandPalette::startSearch);
  connect(box_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::runCurrent);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::runCurrent);
  narrow({});
  box_->setFocus();
}

void CommandPalette::setFurther(std::vector<PaletteEntry> entries) {
  further_ = std::move(entries);
  narrow(box_->text());
}

QString CommandPalette::answer() const {
  return answer_->text();
}

/// Lists names that are the text first, then those that begin with it, then other names that match, and last
/// those of which only the details do. So the page Compare stands before the command "Compare with…".
void CommandPalette::narrow(const QString& text) {
  list_->clear();
  runs_.clear();
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<const PaletteEntry*> all;
  for (const PaletteEntry& entry : commands_) all.push_back(&entry);
  if (!words.isEmpty())
    for (const PaletteEntry& entry : further_) all.push_back(&entry);
  for (const PaletteMatch match :
       {PaletteMatch::same, PaletteMatch::begins, PaletteMatch::name, PaletteMatch::detail}) {
    for (const PaletteEntry* entry : all)
      if (matchOf(*entry, text.trimmed(), words) == match) add(*entry);
  }
  list_->setCurrentRow(0);
  ++searches_;
  isSearching_ = search_ && text.trimmed().size() >= kLeastLetters;
  isSearching_ ? rest_.start() : rest_.stop();
  say();
}

void CommandPalette::add(const PaletteEntry& entry) {
  const QString words =
      entry.detail.isEmpty() ? entry.name : QStringLiteral("%1   —   %2").arg(entry.name, entry.detail);
  auto* item = new QListWidgetItem(words, list_);
  item->setData(Qt::UserRole, static_cast<int>(runs_.size()));
  item->setData(kNameRole, entry.name);
  item->setData(kDetailRole, entry.detail);
  item->setToolTip(words);
  runs_.push_back(entry.run);
}

void CommandPalette::startSearch() {
  search_(box_->text(),
          [self = QPointer<CommandPalette>(this), asked = searches_](const std::vector<PaletteEntry>& found) {
            if (self.isNull() || asked != self->searches_) return;
            for (const PaletteEntry& entry : found) self->add(entry);
            if (self->list_->currentRow() < 0) self->list_->setCurrentRow(0);
            self->isSearching_ = false;
            self->say();
          });
}

void CommandPalette::say() {
  const QString text = box_->text().trimmed();
  answer_->setText(isSearching_          ? tr("Looking for names of the profile…")
                   : list_->count() == 0 ? tr("Nothing matches “%1”.").arg(text)
                                         : QString());
}

void CommandPalette::runCurrent() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  const std::function<void()> run = runs_[static_cast<std::size_t>(item->data(Qt::UserRole).toInt())];
  accept();
  run();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == box_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const int rows = list_->count();
    if (key->key() == Qt::Key_Down || key->key() == Qt::Key_Up) {
      const int step = key->key() == Qt::Key_Down ? 1 : -1;
      if (rows > 0) list_->setCurrentRow((list_->currentRow() + step + rows) % rows);
      return true;
    }
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) return runCurrent(), true;
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace pipescope::shell

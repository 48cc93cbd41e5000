#include "views/shell/help/help_window.h"

#include <QDesktopServices>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QToolButton>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>
#include <QVariant>
#include <utility>

#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {

constexpr int kTopicRole = Qt::UserRole, kAnchorRole = Qt::UserRole + 1;
constexpr int kListWidth = 300, kHelpMargin = 18;
constexpr const char* kPageProperty = "helpPage";
constexpr double kLineHeight = 130;  // per cent

QTreeWidgetItem* itemOf(const HelpSection& section, const QString& text) {
  auto* item = new QTreeWidgetItem({text});
  item->setData(0, kTopicRole, section.topic);
  item->setData(0, kAnchorRole, section.level == 1 ? QString() : section.anchor);
  item->setToolTip(0, text);
  return item;
}

/// Draws a hit: the place in the help, and below it the words around what was found, which are quiet.
class HitDelegate : public QStyledItemDelegate {
 public:
  HitDelegate(const Palette& palette, QObject* parent) : QStyledItemDelegate(parent), palette_(palette) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QString text = index.data().toString(), context = text.section(QLatin1Char('\n'), 1);
    if (context.isEmpty()) return QStyledItemDelegate::paint(painter, option, index);
    QStyleOptionViewItem first = option;
    initStyleOption(&first, index);
    const QWidget* widget = option.widget;
    first.text.clear();
    widget->style()->drawControl(QStyle::CE_ItemViewItem, &first, painter, widget);
    const QRect box = option.rect.adjusted(4, kGap, -4, -kGap);
    const bool selected = option.state & QStyle::State_Selected;
    const QColor title = selected ? option.palette.color(QPalette::HighlightedText) : palette_.ui(Ui::text);
    painter->save();
    painter->setFont(option.font);
    painter->setPen(title);
    const QFontMetrics metrics(option.font);
    painter->drawText(
        box, Qt::AlignLeft | Qt::AlignTop,
        metrics.elidedText(text.section(QLatin1Char('\n'), 0, 0), Qt::ElideMiddle, box.width()));
    painter->setPen(selected ? title : palette_.ui(Ui::muted));
    const QFont small = smaller(option.font);
    painter->setFont(small);
    painter->drawText(box, Qt::AlignLeft | Qt::AlignBottom,
                      QFontMetrics(small).elidedText(context, Qt::ElideRight, box.width()));
    painter->restore();
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QSize own = QStyledItemDelegate::sizeHint(option, index);
    if (!index.data().toString().contains(QLatin1Char('\n'))) return own;
    return {own.width(),
            QFontMetrics(option.font).height() + QFontMetrics(smaller(option.font)).height() + 2 * kGap};
  }

 private:
  static constexpr int kGap = 4;
  static QFont smaller(QFont font) {
    font.setPointSizeF(font.pointSizeF() > 0 ? font.pointSizeF() * 0.9 : -1);
    return font;
  }
  const Palette& palette_;
};

}  // namespace

HelpWindow::HelpWindow(const Palette& palette, QWidget* parent)
    : QDialog(parent),
      palette_(palette),
      book_(HelpBook::builtIn()),
      box_(new QLineEdit(this)),
      list_(new QTreeWidget(this)),
      browser_(new QTextBrowser(this)) {
  setWindowTitle(tr("Help — Pipescope"));
  setWindowFlag(Qt::WindowMinMaxButtonsHint);
  resize(1040, 720);
  box_->setPlaceholderText(tr("Search the help"));
  box_->setClearButtonEnabled(true);
  box_->setAccessibleName(tr("Search the help"));
  list_->setHeaderHidden(true);
  list_->setWordWrap(true);
  list_->setAccessibleName(tr("Contents"));
  list_->setFrameShape(QFrame::NoFrame);
  browser_->setOpenLinks(false);
  browser_->setFrameShape(QFrame::NoFrame);
  browser_->setAccessibleName(tr("Text of the help"));
  auto* splitter = new QSplitter(this);
  auto* left = new QWidget(splitter);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(10, 10, 4, 10);
  auto* head = new QHBoxLayout;
  back_ = arrow(QStringLiteral("previous"), tr("Back"), QKeySequence(QStringLiteral("Alt+Left")),
                &HelpWindow::goBack);
  forward_ = arrow(QStringLiteral("next"), tr("Forward"), QKeySequence(QStringLiteral("Alt+Right")),
                   &HelpWindow::goForward);
  head->setSpacing(2);
  head->addWidget(back_);
  head->addWidget(forward_);
  head->addWidget(box_, 1);
  column->addLayout(head);
  column->addWidget(list_, 1);
  box_->installEventFilter(this);
  list_->setItemDelegate(new HitDelegate(palette, list_));
  splitter->addWidget(left);
  splitter->addWidget(browser_);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({kListWidth, width() - kListWidth});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter);
  connect(box_, &QLineEdit::textChanged, this, &HelpWindow::fill);
  connect(box_, &QLineEdit::returnPressed, this, [this] { step(1); });
  connect(list_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) { activate(item); });
  connect(browser_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& url) { followLink(url.toString()); });
  connect(&palette_, &Palette::changed, this, &HelpWindow::follow);
  fill();
}

QToolButton* HelpWindow::arrow(const QString& name, const QString& tip, const QKeySequence& key,
                               void (HelpWindow::*go)()) {
  auto* button = new QToolButton(this);
  button->setAutoRaise(true);
  button->setIcon(icon(name, palette_));
  button->setAccessibleName(tip);
  button->setToolTip(tr("%1 (%2)").arg(tip, key.toString(QKeySequence::NativeText)));
  button->setShortcut(key);
  button->setEnabled(false);
  connect(button, &QToolButton::clicked, this, go);
  connect(&palette_, &Palette::changed, button,
          [this, button, name] { button->setIcon(icon(name, palette_)); });
  return button;
}

bool HelpWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched == box_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up) return step(key == Qt::Key_Down ? 1 : -1), true;
  }
  return QDialog::eventFilter(watched, event);
}

/// Selects the next or the previous hit; after the last one, the first.
void HelpWindow::step(int by) {
  const int count = list_->topLevelItemCount();
  if (count == 0 || box_->text().trimmed().isEmpty()) return;
  const int now = list_->currentItem() == nullptr ? -1 : list_->indexOfTopLevelItem(list_->currentItem());
  list_->setCurrentItem(list_->topLevelItem(now < 0 && by < 0 ? count - 1 : (now + by + count) % count));
}

void HelpWindow::goTo(int at) {
  if (at < 0 || at >= static_cast<int>(visited_.size())) return;
  at_ = at;
  isReturning_ = true;
  const HelpSection& section = *visited_[static_cast<std::size_t>(at)];
  showSection(section.topic, section.level == 1 ? QString() : section.anchor);
  isReturning_ = false;
}

/// Adds the part that is shown to those that Back returns to.
void HelpWindow::remember() {
  if (!isReturning_ && (at_ < 0 || visited_[static_cast<std::size_t>(at_)] != shown_)) {
    visited_.resize(static_cast<std::size_t>(at_ + 1));
    visited_.push_back(shown_);
    ++at_;
  }
  back_->setEnabled(at_ > 0);
  forward_->setEnabled(at_ + 1 < static_cast<int>(visited_.size()));
}

HelpWindow* HelpWindow::showFor(const QWidget& widget, const Palette& palette, const QString& topic,
                                const QString& anchor) {
  QWidget* window = widget.window();
  auto* help = window->findChild<HelpWindow*>(QString(), Qt::FindDirectChildrenOnly);
  if (help == nullptr) help = new HelpWindow(palette, window);
  help->showSection(topic, anchor);
  help->show();
  help->raise();
  help->activateWindow();
  return help;
}

void HelpWindow::markAsPage(QWidget& widget, const QString& page) {
  widget.setProperty(kPageProperty, page);
}

const HelpSection* HelpWindow::sectionOn(const QWidget& widget, const QString& title) {
  for (const QWidget* above = &widget; above != nullptr; above = above->parentWidget()) {
    const QString page = above->property(kPageProperty).toString();
    if (!page.isEmpty()) return HelpBook::builtIn().panel(page, title);
  }
  return nullptr;
}

/// The text has its width, and its headings their places, only when the window is laid out.
void HelpWindow::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  scrollLater();
}

void HelpWindow::scrollLater() {
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (shown_ != nullptr) scrollTo(*shown_);
      },
      Qt::QueuedConnection);
}

void HelpWindow::follow() {
  const QString topic = topic_;
  topic_.clear();
  const auto old = std::exchange(documents_, {});  // in the colours of the other theme
  if (shown_ != nullptr) showSection(topic, shown_->level == 1 ? QString() : shown_->anchor);
  for (QTextDocument* document : old) document->deleteLater();
}

void HelpWindow::fill() {
  const QSignalBlocker quiet(list_);
  list_->clear();
  const QString words = box_->text().trimmed();
  words.isEmpty() ? addContents() : addHits(words);
  mark();
}

void HelpWindow::addContents() {
  QTreeWidgetItem *topic = nullptr, *part = nullptr;
  for (const HelpSection& section : book_.sections()) {
    QTreeWidgetItem* item = itemOf(section, section.title);
    if (section.level == 1) {
      list_->addTopLevelItem(topic = item);
    } else if (section.level == 2) {
      topic->addChild(part = item);
    } else {
      part->addChild(item);
    }
    if (&section != shown_) continue;
    for (QTreeWidgetItem* above = item->parent(); above != nullptr; above = above->parent())
      above->setExpanded(true);
    list_->setCurrentItem(item);
  }
}

void HelpWindow::addHits(const QString& words) {
  for (const HelpHit& hit : book_.find(words)) {
    const HelpTopic* topic = book_.topic(hit.section->topic);
    const QString where =
        hit.section->level == 1 ? topic->title : tr("%1 › %2").arg(topic->title, hit.section->title);
    list_->addTopLevelItem(itemOf(*hit.section, where + QLatin1Char('\n') + hit.context));
  }
  if (list_->topLevelItemCount() > 0) return;
  auto* none = new QTreeWidgetItem({tr("Nothing in the help has “%1”.").arg(words)});
  none->setFlags(Qt::NoItemFlags);
  list_->addTopLevelItem(none);
}

void HelpWindow::activate(QTreeWidgetItem* item) {
  if (item == nullptr || item->data(0, kTopicRole).isNull()) return;
  showSection(item->data(0, kTopicRole).toString(), item->data(0, kAnchorRole).toString());
}

/// The text of a topic. It is made before the browser sees it: the browser would lay a long one out anew for
/// each of its paragraphs, which takes minutes.
QTextDocument* HelpWindow::documentOf(const QString& topic) {
  QTextDocument*& document = documents_[topic];
  if (document != nullptr) return document;
  document = new QTextDocument(this);
  document->setUndoRedoEnabled(false);
  document->setDefaultFont(browser_->font());
  document->setDocumentMargin(kHelpMargin);
  document->setMarkdown(book_.topic(topic)->markdown);
  QTextCursor all(document);
  all.select(QTextCursor::Document);
  QTextBlockFormat lines;
  lines.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
  all.mergeBlockFormat(lines);
  for (QTextFrame* frame : document->rootFrame()->childFrames()) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (table == nullptr) continue;
    QTextTableFormat format = table->format();
    format.setBorder(1);
    format.setBorderCollapse(true);
    format.setBorderBrush(palette_.ui(Ui::border));
    format.setCellPadding(4);
    table->setFormat(format);
  }
  return document;
}

void HelpWindow::showSection(const QString& topic, const QString& anchor) {
  const HelpSection* section = book_.section(topic, anchor);
  if (section == nullptr) return;
  shown_ = section;
  if (topic != topic_) {
    topic_ = topic;
    browser_->setDocument(documentOf(topic));
    // A new text knows its places only when the event loop has laid it out.
    scrollLater();
  }
  scrollTo(*section);
  remember();
  if (box_->text().isEmpty()) fill();
  mark();
}

/// Scrolls to the heading of a part. The headings of the document stand in the order of the book's parts.
void HelpWindow::scrollTo(const HelpSection& section) {
  std::ptrdiff_t wanted = 0;
  for (const HelpSection& other : book_.sections()) {
    if (&other == &section) break;
    wanted += other.topic == section.topic ? 1 : 0;
  }
  for (QTextBlock block = browser_->document()->begin(); block.isValid(); block = block.next()) {
    const int level = block.blockFormat().headingLevel();
    if (level < 1 || level > 3 || wanted-- > 0) continue;
    const QTextCursor cursor(block);
    browser_->setTextCursor(cursor);
    browser_->verticalScrollBar()->setValue(browser_->verticalScrollBar()->value() +
                                            browser_->cursorRect(cursor).top() - kHelpMargin / 2);
    return;
  }
}

/// Marks the words of the search in the text.
void HelpWindow::mark() {
  QList<QTextEdit::ExtraSelection> marked;
  for (const QString& word : box_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    for (QTextCursor at = browser_->document()->find(word); !at.isNull();
         at = browser_->document()->find(word, at)) {
      QTextEdit::ExtraSelection selection;
      selection.cursor = at;
      selection.format.setBackground(palette_.ui(Ui::selection));
      marked << selection;
    }
  }
  browser_->setExtraSelections(marked);
}

/// Follows a link of a text: to another part of the help, or to the world, which the desktop opens.
void HelpWindow::followLink(const QString& link) {
  const QUrl url(link);
  if (!url.scheme().isEmpty()) {
    QDesktopServices::openUrl(url);
    return;
  }
  const QString file = link.section(QLatin1Char('#'), 0, 0), anchor = link.section(QLatin1Char('#'), 1);
  showSection(file.isEmpty() ? topic_ : file.section(QLatin1Char('/'), -1).section(QLatin1Char('.'), 0, 0),
              anchor);
}

}  // namespace pipescope::shell

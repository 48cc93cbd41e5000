#include "views/shell/card_list.h"

#include <QFileInfo>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {

constexpr int kCardWidth = 258, kCardHeight = 146, kCardGap = CardList::kTrailing - CardList::kListMargin,
              kCardPad = 10, kPictureHeight = 46;
constexpr int kCardRole = Qt::UserRole + 2, kStateWidth = 90;

/// Paints a card: a small picture of the pipeline, the name, and what is known of the profile.
class CardPainter : public QStyledItemDelegate {
 public:
  CardPainter(const Palette& palette, QObject* parent) : QStyledItemDelegate(parent), palette_(palette) {}

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {kCardWidth + kCardGap, kCardHeight + kCardGap};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto card = index.data(kCardRole).value<ProfileCard>();
    const QRect box = option.rect.adjusted(0, 0, -kCardGap, -kCardGap);
    const bool lit = option.state & (QStyle::State_MouseOver | QStyle::State_Selected);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(palette_.ui(lit ? Ui::accent : Ui::border), 1));
    painter->setBrush(palette_.ui(Ui::surface));
    painter->drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter->setRenderHint(QPainter::Antialiasing, false);
    constexpr double kGrey = 0.45;
    if (card.isMissing) painter->setOpacity(kGrey);
    const QRect inner = box.adjusted(kCardPad, kCardPad, -kCardPad, -kCardPad);
    paintPicture(*painter, card, QRect(inner.topLeft(), QSize(inner.width(), kPictureHeight)));
    paintTexts(*painter, card, index, inner.adjusted(0, kPictureHeight + 6, 0, 0), option.font);
    painter->restore();
  }

 private:
  void paintPicture(QPainter& painter, const ProfileCard& card, const QRect& box) const {
    painter.fillRect(box, palette_.ui(Ui::raised));
    if (card.boxes.empty()) {
      constexpr int kIcon = 28;
      const QPixmap mark = iconPixmap(QStringLiteral("trace"), palette_.ui(Ui::muted), kIcon,
                                      painter.device()->devicePixelRatioF());
      painter.drawPixmap(box.center() - QPoint(kIcon / 2, kIcon / 2), mark);
      return;
    }
    const double pitch = static_cast<double>(box.height() - 4) / card.rows;
    const double gap = pitch >= 4 ? 1 : 0;
    for (const ProfileCard::Box& pass : card.boxes) {
      const auto from = static_cast<double>(pass.from), to = static_cast<double>(pass.to);
      const double left = box.left() + from * box.width(),
                   wide = std::max(1.0, (to - from) * box.width() - 0.4);
      painter.fillRect(QRectF(left, box.top() + 2 + pass.row * pitch, wide, std::max(1.0, pitch - gap)),
                       palette_.colour(pass.role));
    }
  }

  void paintTexts(QPainter& painter, const ProfileCard& card, const QModelIndex& index, const QRect& box,
                  const QFont& font) const {
    const QFontMetrics metrics(font);
    const int line = metrics.lineSpacing() + 1;
    const auto write = [&](int row, const QString& text, const QColor& colour, Qt::Alignment side,
                           int room = -1) {
      const QRect place(box.left(), box.top() + row * line, box.width(), line);
      painter.setPen(colour);
      painter.drawText(
          place, side | Qt::AlignVCenter,
          QFontMetrics(painter.font()).elidedText(text, Qt::ElideMiddle, room < 0 ? box.width() : room));
    };
    QFont bold = font;
    bold.setBold(true);
    painter.setFont(bold);
    write(0, index.data(Qt::DisplayRole).toString(), palette_.ui(Ui::text), Qt::AlignLeft);
    painter.setFont(font);
    if (!card.sentence.isEmpty()) {
      constexpr int kSentenceLines = 2;
      painter.setPen(palette_.ui(Ui::muted));
      painter.drawText(QRect(box.left(), box.top() + line, box.width(), kSentenceLines * line),
                       Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                       fitLines(card.sentence, metrics, box.width()));
      write(1 + kSentenceLines, card.rate, palette_.ui(Ui::text), Qt::AlignLeft, box.width() - kStateWidth);
      write(1 + kSentenceLines, card.system, palette_.ui(Ui::muted), Qt::AlignRight);
      return;
    }
    const QString second = card.isMissing ? QObject::tr("the file is missing")
                           : card.isRead  ? card.work
                                          : QFileInfo(index.data(Qt::UserRole).toString()).path();
    write(1, second, palette_.ui(Ui::muted), Qt::AlignLeft);
    const int fitWidth = metrics.horizontalAdvance(card.fit);
    write(2, card.rate, palette_.ui(Ui::text), Qt::AlignLeft, box.width() - fitWidth - 8);
    write(2, card.fit, palette_.ui(card.fits ? Ui::good : Ui::error), Qt::AlignRight);
    QString date = QLocale(QLocale::English).toString(card.changed, QStringLiteral("d MMM yyyy, HH:mm"));
    // The state of a run, such as cancelled, says more than the time of day.
    if (metrics.horizontalAdvance(card.system + date) + 8 > box.width())
      date = date.section(QLatin1Char(','), 0, 0);
    const int dateWidth = card.isMissing ? 0 : metrics.horizontalAdvance(date);
    write(3, card.system, palette_.ui(Ui::muted), Qt::AlignLeft, box.width() - dateWidth - 8);
    if (!card.isMissing) write(3, date, palette_.ui(Ui::muted), Qt::AlignRight);
  }

  /// The beginning of a sentence that two lines have room for.
  static QString fitLines(const QString& text, const QFontMetrics& metrics, int width) {
    const auto fits = [&](const QString& part) {
      return metrics.boundingRect(QRect(0, 0, width, 1'000), Qt::TextWordWrap, part).height() <=
             5 * metrics.lineSpacing() / 2;
    };
    if (fits(text)) return text;
    QString part = text;
    while (!part.isEmpty() && !fits(part + QStringLiteral("…")))
      part.truncate(std::max(0, part.lastIndexOf(QLatin1Char(' '))));
    return part + QStringLiteral("…");
  }

  const Palette& palette_;
};

}  // namespace

CardList::CardList(const Palette& palette, QWidget* parent) : QListWidget(parent) {
  setViewMode(QListView::IconMode);
  setResizeMode(QListView::Adjust);
  setMovement(QListView::Static);
  setUniformItemSizes(true);
  setSpacing(0);
  setFrameShape(QFrame::NoFrame);
  setItemDelegate(new CardPainter(palette, this));
  setMouseTracking(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setContextMenuPolicy(Qt::CustomContextMenu);
  connect(this, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    const QListWidgetItem* item = itemAt(at);
    if (item == nullptr) return;
    QMenu* menu = makeMenu(*item);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(viewport()->mapToGlobal(at));
  });
  connect(this, &QListWidget::itemClicked, this,
          [this](QListWidgetItem* item) { Q_EMIT openWanted(pathOf(*item)); });
  connect(&palette, &Palette::changed, viewport(), QOverload<>::of(&QWidget::update));
}

void CardList::add(const QString& text, const QString& path, const QString& tip) {
  auto* item = new QListWidgetItem(text, this);
  item->setData(Qt::UserRole, path);
  item->setToolTip(tip);
}

void CardList::setCard(const QString& path, const ProfileCard& card) {
  for (int i = 0; i < count(); ++i) {
    if (pathOf(*item(i)) == path) item(i)->setData(kCardRole, QVariant::fromValue(card));
  }
}

QString CardList::pathOf(const QListWidgetItem& item) {
  return item.data(Qt::UserRole).toString();
}

ProfileCard CardList::cardOf(const QListWidgetItem& item) {
  return item.data(kCardRole).value<ProfileCard>();
}

int CardList::columnsIn(int width) {
  return std::max(1, (width - kListMargin) / (kCardWidth + kCardGap));
}

int CardList::widthOf(int columns) {
  return columns * (kCardWidth + kCardGap) + kListMargin;
}

int CardList::heightFor(int width) const {
  const int columns = columnsIn(width), rows = (count() + columns - 1) / columns;
  return rows * (kCardHeight + kCardGap) + 4;
}

/// The start page scrolls, and not the list within it.
void CardList::wheelEvent(QWheelEvent* event) {
  event->ignore();
}

}  // namespace pipescope::shell

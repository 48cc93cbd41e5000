#include "views/pages/parts/facts.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/shell/glossary.h"
#include "views/shell/icons.h"

namespace pipescope::pages {

using shell::Ui;

namespace {
constexpr int kLine = 22, kLabelPart = 36, kFactGap = 18, kIcon = 16;
}  // namespace

FactGrid::FactGrid(const shell::Palette& palette, QWidget* parent) : QWidget(parent), palette_(palette) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void FactGrid::setFacts(std::vector<ShownFact> facts) {
  facts_ = std::move(facts);
  QStringList texts;
  for (const ShownFact& fact : facts_) texts << fact.label + QStringLiteral(": ") + fact.value;
  setAccessibleDescription(texts.join(QStringLiteral("; ")));
  updateGeometry();
  update();
}

void FactGrid::setColumnWidth(int width) {
  columnWidth_ = width;
  updateGeometry();
}

QString FactGrid::value(const QString& label) const {
  for (const ShownFact& fact : facts_) {
    if (fact.label == label) return fact.value;
  }
  return {};
}

int FactGrid::columns(int width) const {
  return std::clamp(width / columnWidth_, 1, 4);
}
int FactGrid::lines(int columns) const {
  return (static_cast<int>(facts_.size()) + columns - 1) / columns;
}
int FactGrid::heightForWidth(int width) const {
  return std::max(1, lines(columns(width))) * kLine;
}
QSize FactGrid::sizeHint() const {
  return {columnWidth_, heightForWidth(std::max(width(), columnWidth_))};
}

QRect FactGrid::cell(int index, int width) const {
  const int count = columns(width), rows = std::max(1, lines(count)), wide = width / count;
  return {index / rows * wide, index % rows * kLine, wide - kFactGap, kLine};
}

void FactGrid::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics(font());
  int longest = 0;
  for (const ShownFact& fact : facts_)
    longest = std::max(longest, metrics.horizontalAdvance(fact.label) + 12);
  for (int i = 0; i < static_cast<int>(facts_.size()); ++i) {
    const ShownFact& fact = facts_[static_cast<std::size_t>(i)];
    const QRect box = cell(i, width());
    const int usual = box.width() * kLabelPart / 100,
              left = std::max(usual, std::min(longest, box.width() / 2));
    painter.setPen(palette_.ui(Ui::muted));
    painter.drawText(QRect(box.x(), box.y(), left - 8, kLine), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(fact.label, Qt::ElideRight, left - 8));
    painter.setPen(palette_.ui(Ui::text));
    const int wide = box.width() - left;
    painter.drawText(QRect(box.x() + left, box.y(), wide, kLine), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(fact.value, Qt::ElideRight, wide));
  }
}

bool FactGrid::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (int i = 0; i < static_cast<int>(facts_.size()); ++i) {
    if (!cell(i, width()).contains(help->pos())) continue;
    const ShownFact& fact = facts_[static_cast<std::size_t>(i)];
    QStringList lines = {fact.value};
    if (!fact.doc.isEmpty()) lines << fact.doc;
    if (const QString word = shell::glossaryOf(fact.label); !word.isEmpty())
      lines << QStringLiteral("%1: %2").arg(fact.label, word);
    QToolTip::showText(help->globalPos(), lines.join(QLatin1Char('\n')), this, cell(i, width()));
    return true;
  }
  QToolTip::hideText();
  return true;
}

IconSentence::IconSentence(const shell::Palette& palette, const QString& icon, Ui colour,
                           const QString& sentence, QWidget* parent)
    : QWidget(parent) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(9);
  auto* picture = new QLabel(this);
  const auto follow = [&palette, picture, icon, colour] {
    picture->setPixmap(shell::iconPixmap(icon, palette.ui(colour), kIcon, picture->devicePixelRatioF()));
  };
  follow();
  connect(&palette, &shell::Palette::changed, picture, follow);
  layout->addWidget(picture, 0, Qt::AlignTop);
  auto* text = new QLabel(sentence, this);
  text->setTextFormat(Qt::PlainText);
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(text, 1);
}

}  // namespace pipescope::pages

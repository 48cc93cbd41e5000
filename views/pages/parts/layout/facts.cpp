#include "views/pages/parts/layout/facts.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/shell/look/glossary.h"
#include "views/shell/look/icons.h"

namespace pipescope::pages {

using shell::Ui;

namespace {
constexpr int kLine = 22, kLabelPart = 36, kFactGap = 18, kLabelGap = 12, kValueRoom = 2, kIcon = 16;
}  // namespace

FactGrid::FactGrid(const shell::Palette& palette, QWidget* parent) : QWidget(parent), palette_(palette) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void FactGrid::setFacts(std::vector<ShownFact> facts) {
  own_ = facts;
  showFacts(std::move(facts));
}

QString FactGrid::besideName() const {
  return comparable_ ? QStringLiteral("facts") : QString();
}

void FactGrid::showBeside(const shell::Beside* source, const shell::BesideTerms&) {
  std::vector<ShownFact> shown = own_;
  if (const auto* other = dynamic_cast<const FactGrid*>(source)) {
    const auto find = [](std::vector<ShownFact>& facts, const QString& label) {
      return std::ranges::find(facts, label, &ShownFact::label);
    };
    std::vector<ShownFact> before = other->own_;
    for (ShownFact& fact : shown) {
      const auto found = find(before, fact.label);
      const QString old = found == before.end() ? QStringLiteral("–") : found->value;
      if (old != fact.value) fact.value = QStringLiteral("%1 → %2").arg(old, fact.value);
    }
    for (ShownFact& fact : before) {
      if (find(shown, fact.label) != shown.end()) continue;
      fact.value += QStringLiteral(" → –");
      shown.push_back(std::move(fact));
    }
  }
  showFacts(std::move(shown));
}

void FactGrid::showFacts(std::vector<ShownFact> facts) {
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

/// Uses fewer columns if values would otherwise be cut.
int FactGrid::columns(int width) const {
  int count = std::clamp(width / columnWidth_, 1, 4);
  const auto needed = [this](int columns) {
    int sum = 0;
    for (const Column& column : needs(columns)) sum += column.width;
    return sum;
  };
  while (count > 1 && needed(count) > width) --count;
  return count;
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

/// The widths that the texts of each column need, gap included, and those of the labels.
std::vector<FactGrid::Column> FactGrid::needs(int count) const {
  const QFontMetrics metrics(font());
  const int rows = std::max(1, lines(count));
  std::vector<Column> needed;
  for (int c = 0; c < count; ++c) {
    int labels = 0, values = 0;
    for (int i = c * rows; i < std::min((c + 1) * rows, static_cast<int>(facts_.size())); ++i) {
      const ShownFact& fact = facts_[static_cast<std::size_t>(i)];
      labels = std::max(labels, metrics.horizontalAdvance(fact.label) + kLabelGap);
      values = std::max(values, metrics.horizontalAdvance(fact.value) + kValueRoom);
    }
    needed.push_back({0, labels + values + kFactGap, labels});
  }
  return needed;
}

/// Gives each column what its texts need, and shares the rest evenly. Labels get about a third of a column
/// unless the values need that room.
std::vector<FactGrid::Column> FactGrid::place(int width) const {
  std::vector<Column> placed = needs(columns(width));
  const int count = static_cast<int>(placed.size());
  int needed = 0, x = 0;
  for (const Column& column : placed) needed += column.width;
  for (Column& column : placed) {
    const int values = column.width - column.labels;  // width of the values and of the gap behind them
    column.x = x;
    // Values are cut if even one column has no room; tool tips show them whole.
    column.width = needed <= width ? column.width + (width - needed) / count : width / count;
    x += column.width;
    const int usual = column.width * kLabelPart / 100;
    column.labels =
        std::max(std::min(column.labels, column.width / 2), std::min(usual, column.width - values));
  }
  return placed;
}

QRect FactGrid::cell(int index, int width) const {
  const int rows = std::max(1, lines(columns(width)));
  const Column column = place(width)[static_cast<std::size_t>(index / rows)];
  return {column.x, index % rows * kLine, column.width - kFactGap, kLine};
}

QString FactGrid::shownValue(int index) const {
  const std::vector<Column> columns = place(width());
  const int rows = std::max(1, lines(static_cast<int>(columns.size())));
  const Column& column = columns[static_cast<std::size_t>(index / rows)];
  return QFontMetrics(font()).elidedText(facts_[static_cast<std::size_t>(index)].value, Qt::ElideRight,
                                         column.width - kFactGap - column.labels);
}

void FactGrid::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics(font());
  const std::vector<Column> columns = place(width());
  const auto rows = static_cast<std::size_t>(std::max(1, lines(static_cast<int>(columns.size()))));
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const ShownFact& fact = facts_[i];
    const Column& column = columns[i / rows];
    const int y = static_cast<int>(i % rows) * kLine, left = column.labels,
              wide = column.width - kFactGap - left;
    painter.setPen(palette_.ui(Ui::muted));
    painter.drawText(QRect(column.x, y, left - kLabelGap + 4, kLine), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(fact.label, Qt::ElideRight, left - kLabelGap + 4));
    painter.setPen(palette_.ui(Ui::text));
    painter.drawText(QRect(column.x + left, y, wide, kLine), Qt::AlignVCenter | Qt::AlignLeft,
                     shownValue(static_cast<int>(i)));
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

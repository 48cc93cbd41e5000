#include "views/pages/parts/layout/panel.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "profiler/sections/frame/column_text.h"
#include "views/pages/parts/data/text.h"
#include "views/shell/help/help_mark.h"

namespace pipescope::pages {

using shell::Ui;

namespace {
constexpr int kWideSplit = 2200, kRadius = 6, kSpace = 12;
constexpr int kCardLeft = 16, kCardRight = 14, kCardTop = 11, kCardBottom = 11, kDetailLines = 4;
}  // namespace

Panel::Panel(const shell::Palette& palette, const QString& title, QWidget* parent)
    : QFrame(parent),
      palette_(palette),
      title_(new QLabel(this)),
      basis_(new QLabel(this)),
      help_(new shell::HelpMark(palette, this)),
      body_(new QVBoxLayout) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(14, 11, 14, 13);
  layout->setSpacing(8);
  auto* head = new QHBoxLayout;
  head->setSpacing(10);
  head->addWidget(title_);
  head->addWidget(basis_, 1);
  basis_->setWordWrap(true);
  head->addWidget(help_, 0, Qt::AlignTop);
  layout->addLayout(head);
  body_->setSpacing(8);
  layout->addLayout(body_, 1);
  setTitle(title);
  connect(&palette_, &shell::Palette::changed, this, &Panel::follow);
  follow();
}

void Panel::setTitle(const QString& title, const QString& basis) {
  title_->setText(title);
  basis_->setText(basis);
  title_->setVisible(!title.isEmpty());
  basis_->setVisible(!title.isEmpty());
  setAccessibleName(title);
  if (!hasOwnHelp_) help_->setTitle(title);
}

void Panel::setHelp(const QString& title) {
  hasOwnHelp_ = true;
  help_->setTitle(title);
}

void Panel::follow() {
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  shell::Palette::makeQuiet(*basis_);
  update();
}

void Panel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(palette_.ui(Ui::border));
  painter.setBrush(palette_.ui(Ui::surface));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kRadius, kRadius);
}

SplitArea::SplitArea(const shell::Palette& palette, QLayout* tools, QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(14, 10, 14, 12);
  layout->setSpacing(8);
  layout->addLayout(tools);
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  picture_ = new Panel(palette, {}, splitter_);
  lower_ = new QWidget(splitter_);
  auto* row = new QHBoxLayout(lower_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  beside_ = new Panel(palette, {}, lower_);
  beside_->hide();
  auto* tables = new Panel(palette, {}, lower_);
  tabs_ = new QTabWidget(tables);
  tabs_->setDocumentMode(true);
  tables->body()->addWidget(tabs_);
  row->addWidget(beside_, 1);
  row->addWidget(tables, 3);
  splitter_->addWidget(picture_);
  splitter_->addWidget(lower_);
  setShares(3, 2);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] {
    moved_ = true;
    folded_ = false;
  });
  connect(tabs_, &QTabWidget::currentChanged, this, [this] { fold(); });
  layout->addWidget(splitter_, 1);
}

void SplitArea::setFacts(QWidget* facts, const QString& title) {
  facts_ = facts;
  factsTitle_ = title;
  beside_->setTitle(title);
  tabs_->insertTab(0, facts_, title);
  placeFacts();
}

void SplitArea::placeFacts() {
  if (facts_ == nullptr) return;
  const bool wide = width() >= kWideSplit;
  if (wide != beside_->isHidden()) return;
  if (wide) {
    tabs_->removeTab(tabs_->indexOf(facts_));
    beside_->body()->addWidget(facts_, 1);
  } else {
    beside_->body()->removeWidget(facts_);
    tabs_->insertTab(0, facts_, factsTitle_);
    tabs_->setCurrentIndex(0);
  }
  facts_->show();
  beside_->setVisible(wide);
}

void SplitArea::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeFacts();
  fold();
  if (folded_) shareOut();
}

void SplitArea::setShares(int picture, int tabs) {
  pictureShare_ = picture;
  tabsShare_ = tabs;
  shareOut();
}

/// A double click must find its box where it was at the first click, so the chart gets smaller only then.
void SplitArea::setNothingSelected(bool nothing) {
  nothing_ = nothing;
  nothing || !folded_ ? fold()
                      : QTimer::singleShot(QApplication::doubleClickInterval(), this, [this] { fold(); });
}

void SplitArea::fold() {
  const bool few = nothing_ && !moved_ && facts_ != nullptr && tabs_->currentWidget() == facts_;
  if (few == folded_ || moved_) return;
  folded_ = few;
  shareOut();
}

void SplitArea::shareOut() {
  splitter_->setStretchFactor(0, pictureShare_);
  splitter_->setStretchFactor(1, folded_ ? 0 : tabsShare_);
  if (folded_) {
    constexpr int kPanelRoom = 40;
    const int needed = tabs_->tabBar()->sizeHint().height() + facts_->sizeHint().height() + kPanelRoom;
    // The tables of the other tabs would need more.
    lower_->setMinimumHeight(needed);
    return splitter_->setSizes({std::max(1, splitter_->height() - needed), needed});
  }
  lower_->setMinimumHeight(0);
  // Proportions, whatever sizes the two panels prefer.
  splitter_->setSizes({1000 * pictureShare_, 1000 * tabsShare_});
}

OneOf::OneOf(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)) {
  layout_->setContentsMargins(0, 0, 0, 0);
}

void OneOf::add(QWidget* widget) {
  layout_->addWidget(widget);
  widget->setVisible(widgets_.isEmpty());
  widgets_ << widget;
}

void OneOf::showOnly(int index) {
  if (index == current_) return;
  // The new one comes last, so that both are never laid out beside each other.
  widgets_[std::exchange(current_, index)]->hide();
  widgets_[index]->show();
}

FigureCard::FigureCard(const shell::Palette& palette, QWidget* parent) : QFrame(parent), palette_(palette) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

QFont FigureCard::valueFont() const {
  QFont large = font();
  large.setPointSizeF(font().pointSizeF() * 2.1);
  large.setBold(true);
  return large;
}

QString FigureCard::valueShown(int width) const {
  constexpr double kReadableValue = 1.4;  // times the usual size
  const int bracket = value_.lastIndexOf(QStringLiteral(" ("));
  if (bracket <= 0) return value_;
  QFont least = valueFont();
  least.setPointSizeF(font().pointSizeF() * kReadableValue);
  return QFontMetrics(least).horizontalAdvance(value_) <= width ? value_ : value_.left(bracket);
}

int FigureCard::linesOf(const QString& text, int width) const {
  const QFontMetrics metrics(font());
  const QRect needed = metrics.boundingRect(QRect(0, 0, std::max(1, width), 10'000), Qt::TextWordWrap, text);
  return std::max(1, (needed.height() + metrics.lineSpacing() / 2) / metrics.lineSpacing());
}

int FigureCard::detailLines(int width) const {
  return std::min(linesOf(detail_, width), kDetailLines);
}

QString FigureCard::detailShown(int width) const {
  if (linesOf(detail_, width) <= kDetailLines) return detail_;
  const auto cut = [&](int characters) { return detail_.left(characters) + QStringLiteral("…"); };
  int fits = 0, tooLong = detail_.size();
  while (tooLong - fits > 1) {
    const int middle = (fits + tooLong) / 2;
    (linesOf(cut(middle), width) <= kDetailLines ? fits : tooLong) = middle;
  }
  // Half of an interval would be read as another one, so whole statements are left out where there are some.
  const int statements = detail_.lastIndexOf(QStringLiteral("; "), fits - 2);
  return statements > 0 ? cut(statements + 2) : cut(fits);
}

int FigureCard::heightForWidth(int width) const {
  const QFontMetrics metrics(font());
  const int lines = detailLines(width - kCardLeft - kCardRight);
  const int link = link_.isEmpty() ? 0 : metrics.height() + 10;
  const int beside = beside_.isEmpty() ? 0 : metrics.lineSpacing();
  return kCardTop + metrics.height() + 3 + QFontMetrics(valueFont()).height() + 3 + beside +
         lines * metrics.lineSpacing() + link + kCardBottom;
}

void FigureCard::setFigure(const QString& caption, const QString& value, const QString& detail,
                           const QString& link, Ui colour) {
  caption_ = caption;
  value_ = value;
  detail_ = unbroken(detail);
  link_ = link;
  colour_ = colour;
  amount_.reset();
  amountText_.clear();
  setAccessibleName(caption + QStringLiteral(": ") + value);
  setAccessibleDescription(detail);
  setToolTip(detail);
  setCursor(link.isEmpty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
  setFocusPolicy(link.isEmpty() ? Qt::NoFocus : Qt::StrongFocus);
  updateGeometry();
  update();
}

void FigureCard::setAmount(std::optional<double> amount, bool moreIsBetter, const QString& shown,
                           bool growsWithWork) {
  amount_ = amount;
  amountText_ = shown;
  moreIsBetter_ = moreIsBetter;
  growsWithWork_ = growsWithWork;
}

void FigureCard::showBeside(const shell::Beside* source, const shell::BesideTerms& terms) {
  const auto* other = dynamic_cast<const FigureCard*>(source);
  beside_.clear();
  besideColour_ = Ui::muted;
  if (other != nullptr && other->value_ == value_ && other->amount_ == amount_) {
    beside_ = tr("the same in the source");
  } else if (other != nullptr) {
    beside_ = tr("source %1").arg(other->amountText_.isEmpty() ? other->value_ : other->amountText_);
    if (amount_ && other->amount_ && *other->amount_ != 0) {
      const double change = (*amount_ - *other->amount_) / std::fabs(*other->amount_);
      const bool better = (change > 0) == moreIsBetter_;
      const bool isShare = other->value_.endsWith(QLatin1Char('%'));  // changes by percentage points
      const double points = *amount_ - *other->amount_;
      beside_ += QStringLiteral(", ") +
                 text(isShare ? sections::changeText("delta", sections::Format::fraction,
                                                     formatCell(points, sections::Format::fraction), points)
                              : sections::relativeText(change));
      const bool judged = change != 0 && (terms.sameWork || !growsWithWork_);
      if (judged) besideColour_ = better ? Ui::good : Ui::error;
    }
  }
  setAccessibleDescription(beside_.isEmpty() ? toolTip() : beside_ + QStringLiteral("; ") + toolTip());
  updateGeometry();
  update();
}

void FigureCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool lit = !link_.isEmpty() && (underMouse() || hasFocus());
  painter.setPen(lit ? palette_.ui(Ui::accent) : palette_.ui(Ui::border));
  painter.setBrush(palette_.ui(Ui::surface));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kRadius, kRadius);
  const QRect inner = rect().adjusted(kCardLeft, kCardTop, -kCardRight, -kCardBottom);
  const QFontMetrics metrics(font());
  painter.setPen(palette_.ui(Ui::muted));
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignTop,
                   metrics.elidedText(caption_, Qt::ElideRight, inner.width()));
  QFont large = valueFont();
  QRect line(inner.x(), inner.y() + metrics.height() + 3, inner.width(), QFontMetrics(large).height());
  const QString value = valueShown(line.width());
  while (QFontMetrics(large).horizontalAdvance(value) > line.width() &&
         large.pointSizeF() > font().pointSizeF()) {
    large.setPointSizeF(large.pointSizeF() - 1);
  }
  painter.setFont(large);
  painter.setPen(palette_.ui(colour_));
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetrics(large).elidedText(value, Qt::ElideRight, line.width()));
  painter.setFont(font());
  painter.setPen(palette_.ui(Ui::muted));
  const int lines = detailLines(inner.width());
  int below = line.bottom() + 4;
  if (!beside_.isEmpty()) {
    painter.setPen(palette_.ui(besideColour_));
    painter.drawText(QRect(inner.x(), below, inner.width(), metrics.lineSpacing()),
                     Qt::AlignLeft | Qt::AlignTop,
                     metrics.elidedText(beside_, Qt::ElideRight, inner.width()));
    painter.setPen(palette_.ui(Ui::muted));
    below += metrics.lineSpacing();
  }
  const QRect detail(inner.x(), below, inner.width(), lines * metrics.lineSpacing());
  painter.drawText(detail, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap | Qt::TextDontClip,
                   detailShown(inner.width()));
  if (link_.isEmpty()) return;
  painter.setPen(palette_.ui(Ui::link));
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignBottom, link_ + QStringLiteral(" →"));
}

void FigureCard::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !link_.isEmpty() && rect().contains(event->pos()))
    Q_EMIT clicked();
}

void FigureCard::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Space) return Q_EMIT clicked();
  QFrame::keyPressEvent(event);
}

void FigureCard::enterEvent(QEvent*) {
  update();
}
void FigureCard::leaveEvent(QEvent*) {
  update();
}

}  // namespace pipescope::pages

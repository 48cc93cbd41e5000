#include "views/shell/dialogs/notice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {
namespace {

constexpr int kBarIcon = 16, kPaneIcon = 40, kPaneWidth = 560;

QString iconName(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::info:
      return QStringLiteral("info");
    case NoticeKind::warning:
      return QStringLiteral("warning");
    case NoticeKind::error:
      break;
  }
  return QStringLiteral("error");
}

QColor colourOf(NoticeKind kind, const Palette& palette) {
  switch (kind) {
    case NoticeKind::info:
      return palette.ui(Ui::accent);
    case NoticeKind::warning:
      return palette.ui(Ui::warning);
    case NoticeKind::error:
      break;
  }
  return palette.ui(Ui::error);
}

QLabel* textLabel(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

NoticeBar::NoticeBar(const Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), icon_(new QLabel(this)), text_(textLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 6, 12, 6);
  layout->setSpacing(8);
  layout->addWidget(icon_);
  layout->addWidget(text_, 1);
  connect(&palette_, &Palette::changed, this, &NoticeBar::follow);
  setVisible(false);
}

void NoticeBar::setNotice(NoticeKind kind, const QString& sentence) {
  kind_ = kind;
  sentence_ = sentence;
  text_->setText(sentence);
  setAccessibleName(sentence);
  follow();
  setVisible(!sentence.isEmpty());
}

void NoticeBar::clear() {
  setNotice(NoticeKind::info, {});
}

void NoticeBar::follow() {
  icon_->setPixmap(iconPixmap(iconName(kind_), colourOf(kind_, palette_), kBarIcon, devicePixelRatioF()));
  update();
}

void NoticeBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), Palette::mixed(colourOf(kind_, palette_), palette_.ui(Ui::surface), 0.12));
  painter.fillRect(0, height() - 1, width(), 1, palette_.ui(Ui::border));
}

NoticePane::NoticePane(const Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), icon_(new QLabel(this)), text_(textLabel(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->addStretch(2);
  layout->addWidget(icon_, 0, Qt::AlignHCenter);
  layout->addSpacing(12);
  text_->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
  text_->setFixedWidth(kPaneWidth);
  layout->addWidget(text_, 0, Qt::AlignHCenter);
  layout->addStretch(3);
  connect(&palette_, &Palette::changed, this, &NoticePane::follow);
}

void NoticePane::setNotice(NoticeKind kind, const QString& sentence) {
  kind_ = kind;
  sentence_ = sentence;
  text_->setText(sentence);
  // The layout centres the label and therefore would give it one line only.
  text_->setFixedHeight(text_->heightForWidth(kPaneWidth));
  setAccessibleName(sentence);
  follow();
}

void NoticePane::follow() {
  if (!sentence_.isEmpty())
    icon_->setPixmap(iconPixmap(iconName(kind_), colourOf(kind_, palette_), kPaneIcon, devicePixelRatioF()));
}

}  // namespace pipescope::shell

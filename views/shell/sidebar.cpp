#include "views/shell/sidebar.h"

#include <QButtonGroup>
#include <QKeyEvent>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"
#include "views/shell/page.h"

namespace pipescope::shell {
namespace {

constexpr int kButtonHeight = 64, kLeastHeight = 20, kIcon = 24, kMark = 3, kText = 18, kIconGap = 2;

/// This button paints itself because Fusion's buttons have a frame. In a low window it shrinks, at last to
/// its name alone.
class PageButton : public QToolButton {
 public:
  PageButton(const Palette& palette, QWidget* parent) : QToolButton(parent), palette_(palette) {
    setCheckable(true);
    setAutoRaise(true);
    setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    setIconSize({kIcon, kIcon});
    setFixedWidth(Sidebar::kWidth);
    setMinimumHeight(kLeastHeight);
    setMaximumHeight(kButtonHeight);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    setFocusPolicy(Qt::TabFocus);
  }

  QSize sizeHint() const override { return {Sidebar::kWidth, kButtonHeight}; }
  QSize minimumSizeHint() const override { return {Sidebar::kWidth, kLeastHeight}; }

 protected:
  /// Only Up and Down move between the buttons. The other keys belong to the page that is shown.
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right) return event->ignore();
    QToolButton::keyPressEvent(event);
  }

  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const bool lit = isChecked(),
               hovered = underMouse() || (hasFocus() && window()->testAttribute(Qt::WA_KeyboardFocusChange));
    if (lit) {
      painter.fillRect(rect(), palette_.ui(Ui::window));
      painter.fillRect(0, 0, kMark, height(), palette_.ui(Ui::accent));
    } else if (hovered) {
      painter.fillRect(rect(), palette_.ui(Ui::hover));
    }
    const auto state = lit ? QIcon::On : QIcon::Off;
    constexpr int kBoth = kIcon + kIconGap + kText;
    const bool both = height() >= kBoth;
    const int top = both ? (height() - kBoth) / 2 : (height() - kText) / 2;
    if (both) {
      icon().paint(&painter, QRect(0, top, width(), kIcon), Qt::AlignCenter,
                   hovered && !lit ? QIcon::Active : QIcon::Normal, state);
    }
    painter.setPen(lit || hovered ? palette_.ui(Ui::text) : palette_.ui(Ui::muted));
    const int below = both ? top + kIcon + kIconGap : top;
    painter.drawText(QRect(2, below, width() - 4, kText), Qt::AlignHCenter | Qt::AlignVCenter, text());
  }

 private:
  const Palette& palette_;
};

}  // namespace

Sidebar::Sidebar(const Palette& palette, const std::vector<PageDefinition>& pages, QWidget* parent)
    : QWidget(parent), palette_(palette), group_(new QButtonGroup(this)) {
  setFixedWidth(kWidth);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 8, 0, 8);
  layout->setSpacing(2);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    auto* button = new PageButton(palette, this);
    button->setText(pages[i].title);
    const QString key = pageKey(i).toString(QKeySequence::NativeText);
    button->setToolTip(key.isEmpty() ? pages[i].doc : QStringLiteral("%1  (%2)").arg(pages[i].doc, key));
    button->setAccessibleName(pages[i].title);
    button->setAccessibleDescription(pages[i].doc);
    icons_.push_back(pages[i].icon);
    buttons_.push_back(button);
    group_->addButton(button, static_cast<int>(i));
    layout->addWidget(button);
  }
  layout->addStretch();
  connect(group_, &QButtonGroup::idClicked, this, &Sidebar::chosen);
  connect(&palette_, &Palette::changed, this, &Sidebar::follow);
  follow();
}

void Sidebar::setCurrent(int index) {
  if (QAbstractButton* button = group_->button(index)) button->setChecked(true);
}

void Sidebar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette_.ui(Ui::sidebar));
  painter.fillRect(width() - 1, 0, 1, height(), palette_.ui(Ui::border));
}

void Sidebar::follow() {
  QFont small = font();
  small.setPointSizeF(std::max(7.0, font().pointSizeF() - 1));
  for (std::size_t i = 0; i < buttons_.size(); ++i) {
    buttons_[i]->setIcon(icon(icons_[i], palette_));
    buttons_[i]->setFont(small);
  }
  update();
}

}  // namespace pipescope::shell

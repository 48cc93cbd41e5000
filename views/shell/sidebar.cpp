#include "views/shell/sidebar.h"

#include <QButtonGroup>
#include <QKeyEvent>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <array>

#include "views/shell/look/icons.h"
#include "views/shell/look/palette.h"
#include "views/shell/page.h"

namespace pipescope::shell {
namespace {

constexpr int kLeastRow = 20, kUsualRow = 29, kLeastHead = 5, kUsualHead = 24, kIcon = 16, kMark = 3,
              kIndent = 4, kIconGap = 3;

/// Titles of the groups, in the order of PageGroup.
constexpr std::array kGroupTitles = {"Result", "Time", "Memory", "Model", "Recorded", "Experiments"};

/// This button paints itself because Fusion's buttons have a frame: the icon, and the name beside it. In a
/// low window it shrinks, and its icon with it.
class PageButton : public QToolButton {
 public:
  PageButton(const Palette& palette, QWidget* parent) : QToolButton(parent), palette_(palette) {
    setCheckable(true);
    setAutoRaise(true);
    setFixedWidth(Sidebar::kWidth);
    setMinimumHeight(kLeastRow);
    setMaximumHeight(kUsualRow);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    setFocusPolicy(Qt::TabFocus);
  }

  QSize sizeHint() const override { return {Sidebar::kWidth, kUsualRow}; }
  QSize minimumSizeHint() const override { return {Sidebar::kWidth, kLeastRow}; }
  /// A page without content is grey. It can still be opened, and then says the same sentence.
  void setLacking(bool lacking) {
    if (lacking == lacking_) return;
    lacking_ = lacking;
    update();
  }
  bool isLacking() const { return lacking_; }

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
    constexpr double kGrey = 0.45;
    if (lacking_ && !lit) painter.setOpacity(kGrey);
    const int size = std::min(kIcon, height() - 2);
    icon().paint(&painter, QRect(kIndent, (height() - size) / 2, size, size), Qt::AlignCenter,
                 hovered && !lit ? QIcon::Active : QIcon::Normal, lit ? QIcon::On : QIcon::Off);
    painter.setPen(lit || hovered ? palette_.ui(Ui::text) : palette_.ui(Ui::muted));
    constexpr int kLeft = Sidebar::kTextLeft;
    static_assert(kLeft == kIndent + kIcon + kIconGap);
    painter.drawText(QRect(kLeft, 0, width() - kLeft - 2, height()), Qt::AlignLeft | Qt::AlignVCenter,
                     text());
  }

 private:
  const Palette& palette_;
  bool lacking_ = false;
};

/// The title of a group of pages. Where it has no room, a line sets the group off.
class GroupHead : public QWidget {
 public:
  GroupHead(const Palette& palette, const QString& title, QWidget* parent)
      : QWidget(parent), palette_(palette), title_(title) {
    setFixedWidth(Sidebar::kWidth);
    setMinimumHeight(kLeastHead);
    setMaximumHeight(kUsualHead);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    setAccessibleName(title);
  }
  QSize sizeHint() const override { return {Sidebar::kWidth, kUsualHead}; }
  QSize minimumSizeHint() const override { return {Sidebar::kWidth, kLeastHead}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    constexpr int kLeastText = 13;
    const bool first = y() == 0;
    if (!first)
      painter.fillRect(kIndent, height() < kLeastText ? height() / 2 : 3, width() - 2 * kIndent, 1,
                       palette_.ui(Ui::border));
    if (height() < kLeastText) return;
    painter.setPen(palette_.ui(Ui::muted));
    painter.drawText(rect().adjusted(kIndent, 0, 0, -1), Qt::AlignLeft | Qt::AlignBottom, title_);
  }

 private:
  const Palette& palette_;
  QString title_;
};

}  // namespace

Sidebar::Sidebar(const Palette& palette, const std::vector<PageDefinition>& pages, QWidget* parent)
    : QWidget(parent), palette_(palette), group_(new QButtonGroup(this)) {
  setFixedWidth(kWidth);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i == 0 || pages[i].group != pages[i - 1].group) {
      heads_.push_back(
          new GroupHead(palette, tr(kGroupTitles[static_cast<std::size_t>(pages[i].group)]), this));
      layout->addWidget(heads_.back(), 1);
    }
    auto* button = new PageButton(palette, this);
    button->setText(pages[i].title);
    const QString key = pageKey(i).toString(QKeySequence::NativeText);
    docs_.push_back(key.isEmpty() ? pages[i].doc : QStringLiteral("%1  (%2)").arg(pages[i].doc, key));
    button->setToolTip(docs_.back());
    button->setAccessibleName(pages[i].title);
    button->setAccessibleDescription(pages[i].doc);
    icons_.push_back(pages[i].icon);
    buttons_.push_back(button);
    group_->addButton(button, static_cast<int>(i));
    layout->addWidget(button, 1);
  }
  layout->addStretch();
  connect(group_, &QButtonGroup::idClicked, this, &Sidebar::chosen);
  connect(&palette_, &Palette::changed, this, &Sidebar::follow);
  follow();
}

void Sidebar::setCurrent(int index) {
  if (QAbstractButton* button = group_->button(index)) button->setChecked(true);
}

void Sidebar::setLack(int index, const QString& sentence) {
  auto* button = static_cast<PageButton*>(buttons_[static_cast<std::size_t>(index)]);
  button->setLacking(!sentence.isEmpty());
  button->setToolTip(sentence.isEmpty() ? docs_[static_cast<std::size_t>(index)] : sentence);
}

QString Sidebar::lack(int index) const {
  const auto* button = static_cast<const PageButton*>(buttons_[static_cast<std::size_t>(index)]);
  return button->isLacking() ? button->toolTip() : QString();
}

void Sidebar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette_.ui(Ui::sidebar));
  painter.fillRect(width() - 1, 0, 1, height(), palette_.ui(Ui::border));
}

void Sidebar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitText();
}

/// The texts of a low window are smaller, so that no row loses a part of its letters.
void Sidebar::fitText() {
  const int room = height(), rows = static_cast<int>(buttons_.size()),
            heads = static_cast<int>(heads_.size());
  const int row = std::clamp((room - heads * kLeastHead) / std::max(1, rows), kLeastRow, kUsualRow);
  constexpr double kRowOfPoint = 1.75;  // height of a row for a text of one point, in pixels
  const double most = std::max(7.0, font().pointSizeF());
  QFont text = font();
  text.setPointSizeF(std::clamp(row / kRowOfPoint, 7.0, most));
  for (QToolButton* button : buttons_) button->setFont(text);
  QFont small = font();
  small.setPointSizeF(std::clamp(row / kRowOfPoint - 1, 6.5, std::max(6.5, most - 1.5)));
  small.setCapitalization(QFont::AllUppercase);
  for (QWidget* head : heads_) head->setFont(small);
}

void Sidebar::follow() {
  for (std::size_t i = 0; i < buttons_.size(); ++i) buttons_[i]->setIcon(icon(icons_[i], palette_));
  fitText();
  update();
}

}  // namespace pipescope::shell

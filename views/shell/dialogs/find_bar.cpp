#include "views/shell/dialogs/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QShortcut>

#include "views/shell/look/palette.h"

namespace pipescope::shell {

FindBar::FindBar(const Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), box_(new QLineEdit(this)), answer_(new QLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 5, 12, 5);
  layout->setSpacing(8);
  auto* label = new QLabel(tr("Find"), this);
  label->setBuddy(box_);
  box_->setAccessibleName(tr("Find"));
  box_->setPlaceholderText(tr("part of a name"));
  box_->setClearButtonEnabled(true);
  box_->setMaximumWidth(320);
  auto* previous = new QPushButton(tr("Previous"), this);
  auto* next = new QPushButton(tr("Next"), this);
  auto* close = new QPushButton(tr("Close"), this);
  layout->addWidget(label);
  layout->addWidget(box_, 1);
  layout->addWidget(previous);
  layout->addWidget(next);
  layout->addWidget(answer_, 1);
  layout->addWidget(close);
  connect(box_, &QLineEdit::textChanged, this, [this](const QString& text) { Q_EMIT wanted(text, 0); });
  connect(previous, &QPushButton::clicked, this, [this] { Q_EMIT wanted(box_->text(), -1); });
  connect(next, &QPushButton::clicked, this, [this] { Q_EMIT wanted(box_->text(), 1); });
  connect(close, &QPushButton::clicked, this, [this] { Q_EMIT closed(); });
  // Esc works wherever the focus is, but only while the bar is visible.
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), this);
  connect(escape, &QShortcut::activated, this, [this] { Q_EMIT closed(); });
  hide();
}

void FindBar::begin(const QString& text) {
  show();
  box_->setFocus();
  if (!text.isEmpty()) box_->setText(text);
  box_->selectAll();
  if (text.isEmpty() && !box_->text().isEmpty()) Q_EMIT wanted(box_->text(), 0);
}

void FindBar::setAnswer(const QString& sentence) {
  answer_->setText(sentence);
}
QString FindBar::answer() const {
  return answer_->text();
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return Q_EMIT wanted(box_->text(), event->modifiers() & Qt::ShiftModifier ? -1 : 1);
    default:
      QWidget::keyPressEvent(event);
  }
}

void FindBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette_.ui(Ui::raised));
  painter.fillRect(0, height() - 1, width(), 1, palette_.ui(Ui::border));
}

}  // namespace pipescope::shell

#pragma once
#include <QWidget>

#include "views/shell/look/palette.h"

namespace pipescope::shell {

/// A line of text. If it does not fit, its middle is left out and a tool tip shows all of it.
class ElidedLabel : public QWidget {
  Q_OBJECT

 public:
  ElidedLabel(const Palette& palette, Qt::Alignment alignment, QWidget* parent = nullptr,
              Ui colour = Ui::text);
  void setText(const QString& text);
  QString text() const { return text_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {60, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Palette& palette_;
  Qt::Alignment alignment_;
  Ui colour_;
  QString text_;
};

}  // namespace pipescope::shell

#pragma once
#include <QWidget>

#include "views/shell/palette.h"

namespace pipescope::shell {

/// One line that loses its middle where it does not fit; the whole is its tool tip.
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

#pragma once
#include <QScrollArea>

class QBoxLayout;
class QLayout;
class QVBoxLayout;

namespace pipescope::pages {

/// A page that scrolls. It has a strip at the top, two columns, which follow below each other in a narrow
/// window, and a strip at the bottom. Charts (shell::Growing) take the height that is left in a tall window.
class ColumnsArea : public QScrollArea {
  Q_OBJECT

 public:
  explicit ColumnsArea(QWidget* parent = nullptr);
  QVBoxLayout* top() const { return top_; }
  QVBoxLayout* left() const { return left_; }
  QVBoxLayout* right() const { return right_; }
  QVBoxLayout* bottom() const { return bottom_; }
  void setStretch(int left, int right);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  int heightOf(QLayout* part) const;
  void growCharts();

  QBoxLayout* columns_;
  QVBoxLayout *top_, *left_, *right_, *bottom_;
};

}  // namespace pipescope::pages

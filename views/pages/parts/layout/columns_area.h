#pragma once
#include <QScrollArea>

#include <array>
#include <utility>
#include <vector>

#include "views/shell/growing.h"

class QBoxLayout;
class QLayout;
class QVBoxLayout;

namespace pipescope::pages {

/// A page that scrolls. It has a strip at the top, two columns, which follow below each other in a narrow
/// window, and a strip at the bottom. In a tall window, charts take the height that is left, and then texts
/// and rows of tables (shell::Growing).
class ColumnsArea : public QScrollArea {
  Q_OBJECT

 public:
  explicit ColumnsArea(QWidget* parent = nullptr);
  QVBoxLayout* top() const { return top_; }
  QVBoxLayout* left() const { return left_; }
  QVBoxLayout* right() const { return right_; }
  QVBoxLayout* bottom() const { return bottom_; }
  void setStretch(int left, int right);

  static constexpr std::size_t kParts = 4;  ///< the strips at the top and at the bottom, and the columns
  /// Widgets that may grow in each part, and the height that each gets.
  using Grown = std::array<std::vector<std::pair<shell::Growing*, int>>, kParts>;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void shareWidth();
  int heightOf(QLayout* part) const;
  Grown growing() const;
  void settleLayouts();
  void grow();
  bool shareHeight();

  std::array<int, 2> stretches_{1, 1};  ///< stretches of the columns, as far as they show something
  QBoxLayout* columns_;
  QVBoxLayout *top_, *left_, *right_, *bottom_;
};

}  // namespace pipescope::pages

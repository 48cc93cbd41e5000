#pragma once
#include <QStringList>
#include <QWidget>
#include <utility>
#include <vector>

#include "profiler/geometry/colour_role.h"
#include "views/shell/growing.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Waits of one device for another one.
struct WaitCell {
  int row = 0, column = 0;
  double share = 0;  ///< share of the time; the largest has the strongest colour
  geometry::ColourRole role = geometry::ColourRole::otherWait;  ///< role of the cause that takes longest
  QString label;                                                ///< drawn if it fits
  QString tip;
};

/// A matrix: each row is a device that waits, each column what it waits for. Keys choose rows: arrows, Home,
/// End, Enter, and the key for menus.
class WaitMatrix : public QWidget, public shell::Growing {
  Q_OBJECT

 public:
  explicit WaitMatrix(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Shows longer names of rows without what they have in common, if they would take more than a third of the
  /// width.
  void setMostNameWidth(int pixels) {
    mostNameWidth_ = pixels;
    arrange();
  }
  void setMatrix(QStringList rows, QStringList columns, std::vector<WaitCell> cells);
  const QStringList& rows() const { return rows_; }
  const QStringList& columns() const { return columns_; }
  const std::vector<WaitCell>& cells() const { return cells_; }
  /// The names of columns that are drawn.
  QStringList drawnColumns() const;
  /// Returns the rectangle in which a cell is drawn.
  QRect cellRect(int row, int column) const;
  /// Highlights a row; −1: none.
  void setMarked(int row);
  int marked() const { return marked_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  Heights heights() const override;
  void growTo(int height) override;

 Q_SIGNALS:
  void clicked(int row, int column);
  void doubleClicked(int row);
  void menuWanted(int row, const QPoint& at);  ///< at: on the screen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Way of drawing the names of the columns. Numbered columns have words only for what is no device.
  enum class Heading { numbered, across, acrossShort, upright };
  /// Returns the names that are drawn at the rows and columns.
  const QStringList& rowNames() const;
  const QStringList& columnNames() const;
  int widthOf(const QStringList& names) const;
  void arrange();
  void paintRowNames(QPainter& painter) const;
  void paintColumnNames(QPainter& painter) const;
  /// Columns whose names are drawn, and their places.
  std::vector<std::pair<int, QRect>> columnBoxes() const;
  int leastCell() const;
  int cellHeight() const;
  int heightOf(int cell) const;
  std::vector<std::pair<int, QRect>> numberedBoxes() const;
  const WaitCell* cellAt(const QPoint& position) const;
  void paintCell(QPainter& painter, const WaitCell& cell) const;

  const shell::Palette& palette_;
  LabelFont labels_;
  QStringList rows_, columns_, shortRows_, shortColumns_;
  QStringList heads_;  ///< the names of the columns, those of several words on two lines
  std::vector<WaitCell> cells_;
  double largest_ = 0;
  int marked_ = -1, mostNameWidth_ = 160;
  Heading heading_ = Heading::across;
  bool hasShortRows_ = false;
  int nameWidth_ = 0, cellWidth_ = 1, head_ = 0, grownCell_ = 0;
};

}  // namespace pipescope::timeline

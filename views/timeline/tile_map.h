#pragma once
#include <QWidget>
#include <functional>
#include <vector>

#include "views/shell/look/palette.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// The units of memory spaces as squares. Tiles of an IPU lie as on its die: in columns of 16 islands of four
/// tiles, 19 columns on Mk1 and 23 on Mk2 (as public simulators of its exchange have them; which number lies
/// where is not published, so numbers go down the columns). Other units follow each other row by row. The
/// colour shows how full a unit is.
class TileMap : public QWidget {
  Q_OBJECT

 public:
  explicit TileMap(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Sets the bytes of each unit. `breaks` are the units at which another device begins, with its name.
  void setUnits(std::vector<std::int64_t> bytes, std::vector<std::pair<int, QString>> breaks);
  /// The ends of the colour scale in bytes. Lower values have the lowest colour, higher ones the colour of
  /// errors.
  void setScale(std::int64_t low, std::int64_t high);
  void setNames(QString low, QString high);
  void setSelected(std::vector<int> units);
  /// Highlights the device that was selected elsewhere; −1: none.
  void setLit(int part);
  /// The unit at a point; −1: none.
  int unitAt(const QPoint& position) const;
  QRect unitRect(int unit) const;
  QColor colourOf(std::int64_t bytes) const;

 Q_SIGNALS:
  void hovered(int unit);                       ///< −1: none
  void menuWanted(int unit, const QPoint& at);  ///< at: on the screen
  void clicked(int unit, bool add);
  void doubleClicked(int unit);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  struct Part {
    int first = 0, end = 0;
    QString name;
    QRect area;
    int columns = 1, cell = 1, cellHigh = 1;  ///< cell: its width
    bool die = false;                         ///< columns of islands
    int columnGap = 0, islandGap = 0;
    int units() const { return end - first; }
    QSize size() const;              ///< of all cells
    QRect rectOf(int number) const;  ///< the cell of a unit
  };
  void layOut();
  Part sized(Part part, int wide, int high) const;

  const shell::Palette& palette_;
  LabelFont labels_;
  std::vector<std::int64_t> bytes_;
  std::vector<Part> parts_;
  std::vector<int> selected_;
  int lit_ = -1;
  std::int64_t low_ = 0, high_ = 1;
  QString lowName_, highName_;
};

}  // namespace pipescope::timeline

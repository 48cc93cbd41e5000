#pragma once
#include <QStringList>
#include <QWidget>
#include <functional>

#include "profiler/geometry/charts/bars.h"
#include "views/shell/growing.h"
#include "views/shell/look/palette.h"
#include "views/shell/look/searched.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Stacked bars with names, drawn from profiler/geometry. With more height, the bars become thicker. Bars
/// that lead somewhere are also chosen by keys: arrows, Home, End, Enter, and the key for menus.
class BarChart : public QWidget, public shell::Growing, public shell::Searched {
  Q_OBJECT

 public:
  explicit BarChart(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Sets the bars, a name for each, and a note on the right of each. Notes may be empty.
  void setBars(std::vector<geometry::Bar> bars, QStringList names, QStringList notes = {});
  /// The value that corresponds to the full width; 0: the longest bar.
  void setScaleTo(double value);
  /// Sets the text of the tool tip for a part.
  void setDescriber(std::function<QString(const geometry::BarHit&)> describe) {
    describe_ = std::move(describe);
  }
  /// Marks a bar; −1: none.
  void setMarked(int bar);
  const QStringList& names() const { return names_; }
  const QStringList& notes() const { return notes_; }
  const std::vector<geometry::Bar>& bars() const { return bars_; }
  /// The box of a part in the widget's coordinates.
  QRect partRect(const geometry::BarHit& part) const;
  int markWords(const QString& words) override;
  Heights heights() const override;
  void growTo(int height) override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void clicked(int bar);
  void doubleClicked(int bar);
  void menuWanted(int bar, const QPoint& at);  ///< at: on the screen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  geometry::StackedBars chart() const;
  int barAt(int y) const;
  QRect rowRect(int bar) const;  ///< a bar with half of the gaps around it
  int current() const { return marked_ >= 0 ? marked_ : current_; }
  int heightAt(int pitch) const;
  int mostPitch() const;
  int thickness() const;
  int mostName() const;
  const QStringList& shownNames() const;
  int widthOf(const QStringList& names) const;
  int nameWidth() const;
  int noteWidth() const;

  const shell::Palette& palette_;
  LabelFont labels_;
  std::vector<geometry::Bar> bars_;
  QStringList names_, shortNames_, notes_;
  QString wanted_;  ///< words; names that hold them are marked
  double scaleTo_ = 0;
  int marked_ = -1;
  int current_ = -1;     ///< bar to which keys led, if nothing marked it
  bool byKeys_ = false;  ///< the keyboard came here by a key, so that a frame shows it
  int pitch_;            ///< distance from one bar to the next
  std::function<QString(const geometry::BarHit&)> describe_;
};

}  // namespace pipescope::timeline

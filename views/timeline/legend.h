#pragma once
#include <QWidget>
#include <optional>
#include <vector>

#include "profiler/geometry/colour_role.h"
#include "views/shell/look/palette.h"
#include "views/shell/look/searched.h"

namespace pipescope::timeline {

struct LegendEntry {
  QString text;
  geometry::ColourRole role = geometry::ColourRole::compute;
  bool hatched = false;
  std::optional<geometry::ColourRole> also = {};  ///< a second tone, in the lower half of the square
};

/// Squares of colour with their names, in as many lines as the width requires. Names of equal colours share a
/// square.
class Legend : public QWidget, public shell::Searched {
  Q_OBJECT

 public:
  explicit Legend(const shell::Palette& palette, QWidget* parent = nullptr);
  void setEntries(std::vector<LegendEntry> entries);
  const std::vector<LegendEntry>& entries() const { return entries_; }
  /// The entries as they are drawn, each colour once.
  std::vector<LegendEntry> shown() const;
  int markWords(const QString& words) override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Calls visit(entry, x, y) for each entry; returns the height.
  template <class Visit>
  int arrange(int width, const Visit& visit) const;
  QFont smallFont() const;

  const shell::Palette& palette_;
  std::vector<LegendEntry> entries_;
  QString wanted_;  ///< words whose entries are marked
};

}  // namespace pipescope::timeline

#pragma once
#include <QStringList>
#include <functional>
#include <vector>

#include "views/pages/parts/layout/panel.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {

/// A part of a bar with the name that the legend and the tool tips use.
struct NamedPart {
  QString name;
  geometry::ColourRole role;
  double value;
  bool hatched = false;
};

/// A panel with stacked bars and the legend of their parts.
class PartsChart : public Panel {
  Q_OBJECT

 public:
  PartsChart(const shell::Palette& palette, const QString& title, QWidget* parent = nullptr);

  /// Parts without a positive value are left out. `show` writes a value; `names` and `notes` stand left and
  /// right of the bars. Both may be empty.
  void setParts(const std::vector<std::vector<NamedPart>>& bars, const std::function<QString(double)>& show,
                const QStringList& names = {}, const QStringList& notes = {});
  timeline::BarChart* bars() const { return bars_; }

 private:
  timeline::BarChart* bars_;
  timeline::Legend* legend_;
};

}  // namespace pipescope::pages

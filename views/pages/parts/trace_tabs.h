#pragma once
#include <QTabWidget>

#include "views/shell/palette.h"

namespace pipescope::pages {

class RangeTable;
class TileTable;
class TraceDetails;

/// The tabs below the timeline: statistics of the visible time, details of the selected item, and its tiles.
class TraceTabs : public QTabWidget {
  Q_OBJECT

 public:
  explicit TraceTabs(const shell::Palette& palette, QWidget* parent = nullptr);
  RangeTable& table() const { return *table_; }
  TraceDetails& details() const { return *details_; }
  TileTable& tiles() const { return *tiles_; }
  /// Enables the tab of tiles; only some devices have tiles.
  void setTilesPossible(bool possible);
  /// Switches from the statistics to the details. Where tiles are shown, they stay.
  void showDetails();

 private:
  void addFilter();
  RangeTable* table_;
  TraceDetails* details_;
  TileTable* tiles_;
};

}  // namespace pipescope::pages

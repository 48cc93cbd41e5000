#pragma once
#include <QTabWidget>

#include "views/shell/look/palette.h"

namespace pipescope::pages {

class DataTable;
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
  /// The names that a search has found.
  DataTable& found() const { return *found_; }
  /// Shows the tab of found names while something is looked for.
  void showFound();
  void hideFound();
  /// Says whether the statistics are those of a measured span.
  void setMeasured(bool measured);
  /// Adds the tab of the host, which stays hidden until setHostPossible().
  void addHost(QWidget* host);
  void setHostPossible(bool possible);
  /// Enables the tab of tiles; only some devices have tiles.
  void setTilesPossible(bool possible);
  /// Switches from the statistics to the details. Tiles stay if they are shown.
  void showDetails();

 private:
  void addFilter();
  RangeTable* table_;
  TraceDetails* details_;
  TileTable* tiles_;
  DataTable* found_;
};

}  // namespace pipescope::pages

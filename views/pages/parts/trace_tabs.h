#pragma once
#include <QTabWidget>

#include "views/shell/palette.h"

namespace pipescope::pages {

class RangeTable;
class TileTable;
class TraceDetails;

/// Below the timeline: sums of what is in view, the selected thing in words, its tiles.
class TraceTabs : public QTabWidget {
  Q_OBJECT

 public:
  explicit TraceTabs(const shell::Palette& palette, QWidget* parent = nullptr);
  RangeTable& table() const { return *table_; }
  TraceDetails& details() const { return *details_; }
  TileTable& tiles() const { return *tiles_; }
  /// Only devices that consist of tiles have some.
  void setTilesPossible(bool possible);
  /// Where the sums are looked at, the details come instead; the tiles stay.
  void showDetails();

 private:
  void addFilter();
  RangeTable* table_;
  TraceDetails* details_;
  TileTable* tiles_;
};

}  // namespace pipescope::pages

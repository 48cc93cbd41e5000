#pragma once
#include <QWidget>

#include "profiler/sections/frame/section.h"
#include "views/shell/look/palette.h"

namespace pipescope::pages {

class DataTable;
class PartsChart;

/// Shows what lies at which addresses of a unit: as a bar from address 0, and as a table.
class AddressMap : public QWidget {
  Q_OBJECT

 public:
  explicit AddressMap(const shell::Palette& palette, QWidget* parent = nullptr);
  /// The table of unit_tables.h. A table without rows hides the bar.
  void setTable(sections::SectionTable table);
  DataTable* table() const { return table_; }

 private:
  PartsChart* bar_;
  DataTable* table_;
};

}  // namespace pipescope::pages

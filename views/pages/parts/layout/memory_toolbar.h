#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>

#include "views/pages/parts/data/memory_data.h"
#include "views/shell/look/palette.h"

class QLabel;
class QPushButton;

namespace pipescope::pages {

/// The controls above the memory chart.
class MemoryToolbar : public QVBoxLayout {
  Q_OBJECT

 public:
  MemoryToolbar(const shell::Palette& palette, QWidget* owner);

  MemoryChoice choice() const;
  bool showsMap() const { return view_->currentIndex() == 1; }
  bool showsCapacity() const { return capacity_->isChecked(); }
  QString units() const { return units_->text(); }
  void setUnits(const QString& list);
  /// Says below the controls why the list of units cannot be used; an empty text: it can.
  void setUnitsReason(const QString& reason);
  /// The spaces to choose from; keeps the chosen one if it is still there.
  void setSpaces(const std::vector<ShownSpace>& spaces);
  /// Shows all devices.
  void chooseAll() { device_->setCurrentIndex(0); }
  /// Memory in one piece, such as HBM, has neither a map nor units to choose.
  void setUnitName(const QString& unit, bool inUnits);
  /// Switches the capacity on or off unless the user has done so before.
  void suggestCapacity(bool shown);

 Q_SIGNALS:
  void spaceChosen();
  void choiceChanged();
  void viewChanged();
  void capacityChanged();
  void unitsChosen();
  void fullestWanted();

 private:
  bool isByVariable() const;

  QComboBox *view_, *device_, *breakdown_;
  QCheckBox *gaps_, *peak_, *capacity_;
  QLineEdit* units_;
  QPushButton* fullest_;
  QLabel* reason_;
  bool capacityChosen_ = false;
};

}  // namespace pipescope::pages

#pragma once
#include <QWidget>
#include <vector>

#include "views/workbench/services.h"

class QAction;
class QComboBox;
class QHBoxLayout;
class QLineEdit;
class QPushButton;

namespace pipescope::workbench {

/// The row above the settings: what to begin with, where profiles go, and the button that starts a run.
class WorkbenchTools : public QWidget {
  Q_OBJECT

 public:
  explicit WorkbenchTools(const QString& folder, QWidget* parent = nullptr);

  void setPresets(const std::vector<Preset>& presets);
  /// The settings do not come from a sample any more.
  void forgetPreset();
  void setStartPossible(bool possible);
  /// Shows buttons for the actions that take back a change and make it again.
  void setSteps(QAction& undo, QAction& redo);
  /// The name that is offered for a saved configuration.
  void setName(const QString& name) { name_ = name; }
  /// Returns the folder for profiles; empty: its field is empty.
  QString folder() const;
  void chooseConfiguration();
  void chooseSaveName();

 Q_SIGNALS:
  void configurationChosen(const QString& file);
  void saveChosen(const QString& file);
  void startWanted();

 private:
  void chooseFolder();
  QPushButton* button(const QString& text, const QString& tip);

  std::vector<Preset> presets_;
  QString name_;
  QComboBox* samples_;
  QLineEdit* folder_;
  QPushButton* start_ = nullptr;
  QHBoxLayout* steps_ = nullptr;
};

}  // namespace pipescope::workbench

#pragma once
#include <QScrollArea>
#include <QSet>
#include <QWidget>
#include <vector>

#include "views/workbench/draft.h"

class QCheckBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QStringListModel;
class QVBoxLayout;

namespace pipescope::shell {
class Palette;
}

namespace pipescope::workbench {

class KeyField;

/// The settings of a draft as a form. It shows the settings that are given; a search adds others.
class SettingsForm : public QWidget {
  Q_OBJECT

 public:
  SettingsForm(const shell::Palette& palette, Draft& draft, QWidget* parent = nullptr);
  /// Shows the draft again after something else has changed it. Fields stay if the draft has the same
  /// settings as before.
  void refresh();
  /// The same with new fields, in the present colours.
  void rebuild();
  /// Shows each sentence at its setting. Returns the sentences that belong to no setting that is shown.
  QStringList setProblems(const std::vector<Problem>& problems);
  /// Returns the field of the setting; null if it is not shown.
  KeyField* field(const QString& path) const;
  QLineEdit* search() const { return search_; }

 Q_SIGNALS:
  void changed();

 private:
  bool refreshValues();
  QStringList closedArrays() const;
  void addTyped();
  void addSetting(const QString& path);
  QGridLayout* group(const QString& title, const QString& array, int index);
  /// True for a long array that the user has not opened: only its length is shown.
  bool isClosed(const QString& array) const;
  void addClosed(const QString& array);
  void addRow(QGridLayout& grid, const KeyRow& key, const QString& path);
  /// The settings that may still be added, with entries of arrays.
  QStringList addable() const;
  /// The same with a sentence about each.
  QStringList offers() const;

  const shell::Palette& palette_;
  Draft& draft_;
  QLineEdit* search_;
  QLabel* answer_;
  QStringListModel* offers_;
  QScrollArea* area_;
  QWidget* rows_ = nullptr;
  QVBoxLayout* column_ = nullptr;
  std::vector<KeyField*> fields_;
  QStringList closed_;    ///< long arrays that are not shown
  QSet<QString> opened_;  ///< long arrays that are shown
};

}  // namespace pipescope::workbench

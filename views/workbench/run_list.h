#pragma once
#include <QWidget>
#include <memory>
#include <vector>

#include "views/shell/window_settings.h"
#include "views/workbench/child_run.h"
#include "views/workbench/run_figures.h"

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QTabWidget;
class QTreeWidget;
class QTreeWidgetItem;

namespace pipescope::workbench {

/// The runs of the workbench with their key figures, the newest first, and what the selected one says. The
/// list outlives the window.
class RunList : public QWidget {
  Q_OBJECT

 public:
  RunList(shell::Opener open, QWidget* parent = nullptr);

  /// Starts a run, which belongs to the list.
  const ChildRun* add(RunRequest request);
  /// Number of runs that have not ended.
  int active() const;
  void stopAll();
  QTreeWidget* table() const { return table_; }
  /// The run of the selected row that this program has started; null: an older one.
  const ChildRun* selectedRun() const;

 Q_SIGNALS:
  void openWanted(const QString& profile);
  void compareWanted(const QString& former, const QString& profile);
  void editWanted(const QString& profile, const std::vector<model::ConfigurationEntry>& options);
  void activeChanged();
  /// The new profile can be opened for the first time.
  void profileStarted(const QString& profile);

 private:
  struct Entry {
    QString profile, former;
    ChildRun* run = nullptr;
    QTreeWidgetItem* item = nullptr;
    RunFigures figures;
    QString error;
    bool read = false;
  };
  Entry* selected() const;
  Entry* entryOf(const QTreeWidgetItem* item) const;
  void follow(Entry& entry);
  void show(Entry& entry);
  void readProfile(const QString& profile);
  void followSelection();
  void keep();
  void removeSelected();
  QPushButton* button(const QString& text, const QString& tip, void (RunList::*act)());
  void openSelected();
  void compareSelected();
  void editSelected();
  void stopSelected();

  shell::Opener open_;
  shell::WindowSettings settings_;
  std::vector<std::unique_ptr<Entry>> entries_;
  QTabWidget* tabs_;
  QLabel* hint_;  ///< shown while there are no runs
  QTreeWidget* table_;
  QPlainTextEdit* log_;
  QProgressBar* progress_;
  QPushButton *openButton_, *compareButton_, *editButton_, *stopButton_, *removeButton_;
};

}  // namespace pipescope::workbench

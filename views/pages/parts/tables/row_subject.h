#pragma once
// Subjects of rows: what a row of a table or tree is about, so that rows and the window's selection agree.
#include <QPointer>
#include <functional>

#include "profiler/analysis/catalog.h"
#include "profiler/sections/frame/section.h"
#include "views/shell/profile_session.h"
#include "views/shell/selection.h"

class QWidget;

namespace pipescope::pages {

/// Subject of a row: the operation, variable, wait, stage or device that its columns name. Kind none: the row
/// names nothing of that. `catalog` finds devices by name; null: only their numbers are known.
shell::Selected subjectOf(const sections::SectionTable& table, int row, const analysis::Catalog* catalog);

/// The row about what is selected: of the same name, or else the nearest around it ("layer1" for
/// "layer1/conv"), or else the first within it; in a table without names, of the same stage or device. −1:
/// none.
int rowAbout(const shell::Selected& selected, const sections::SectionTable& table,
             const analysis::Catalog* catalog);

/// The one of these names that is nearest to the wanted one, by the rule of rowAbout(); −1: none.
int nearestName(const QString& wanted, int count, const std::function<QString(int)>& nameAt);

/// The subject with the device of its stage, if it names a stage and no device.
shell::Selected withDevice(shell::Selected subject, shell::ProfileSession& session);

/// True if the selection says everything that the subject says.
bool covers(const shell::Selected& selected, const shell::Selected& subject);

/// Keeps the rows of a table or tree and the selection of its window together. It works while the table is
/// visible in a window with a profile.
class RowSelection : public QObject {
  Q_OBJECT

 public:
  using Find = std::function<int(const shell::Selected&, const analysis::Catalog*)>;
  using Mark = std::function<void(int row)>;
  /// `find` returns the row about a selection, −1 for none; `mark` selects a row, −1 for none.
  RowSelection(QWidget& table, Find find, Mark mark);
  /// Marks the row that shows what is selected. A table calls this after its rows have changed.
  void follow();
  /// Calls the handlers of a chosen row, and then selects its subject unless they have.
  void choose(const shell::Selected& subject, const std::function<void()>& handlers);
  /// True while a row is marked because of the selection.
  bool isMarked() const { return marked_; }
  const analysis::Catalog* catalog() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget& table_;
  Find find_;
  Mark mark_;
  QPointer<shell::Selection> selection_;  ///< of the window; null until the table is shown in one
  shell::ProfileSession* session_ = nullptr;
  bool choosing_ = false, marked_ = false;
};

}  // namespace pipescope::pages

#pragma once
#include <QLabel>
#include <vector>

#include "profiler/model/rows.h"
#include "views/pages/parts/layout/tool_row.h"

namespace pipescope::pages {

/// Writes "Iteration 1 of 0–3". Iterations are numbered within their call, from 0.
QString stepOf(int step, int last);

/// The controls that charts of a run share: choices that are saved in the settings, the call, the step with
/// its neighbours, zoom and picture.
class RunToolbar : public ToolRow {
  Q_OBJECT

 public:
  /// The entry of `calls` that stands for all calls.
  static constexpr qlonglong kAllCalls = -2;

  /// Makes the commands of the toolbar commands of the page `owner`.
  RunToolbar(shell::PageContext& context, shell::Page& owner) : ToolRow(context, &owner), owner_(owner) {}

  /// `withAll` adds an entry for all calls together.
  void setCalls(const std::vector<const model::Run*>& runs, qlonglong chosen, bool withAll);
  /// Shows a step; an empty text: there is none.
  void setStep(const QString& step, bool hasPrevious, bool hasNext);
  /// The name of the chosen call.
  QString call() const { return calls_->currentText(); }

 Q_SIGNALS:
  void optionsChanged();
  void callChosen(qlonglong call);  ///< a RunId, or kAllCalls
  void stepWanted(int direction);   ///< ±1: a neighbour; 0: shows the present step
  void zoomWanted(double factor);

 protected:
  /// Adds a choice that is saved in the settings.
  QComboBox* choice(const QStringList& items, const QString& name, const QString& tip,
                    const QString& setting);
  /// Selects the next choice of a box, as its key does.
  void turn(QComboBox* box, const QString& setting);
  void addCalls();
  /// Adds the step with buttons for its neighbours, and commands of these names in the menu `group`.
  void addSteps(const QString& group, const QString& nextCommand, const QString& previousCommand);
  void addZoom();
  void addPicture();

  shell::Page& owner_;

 private:
  QComboBox* calls_ = nullptr;
  QToolButton *previous_ = nullptr, *next_ = nullptr;
  QLabel* step_ = nullptr;
  QAction *nextCommand_ = nullptr, *previousCommand_ = nullptr;
};

}  // namespace pipescope::pages

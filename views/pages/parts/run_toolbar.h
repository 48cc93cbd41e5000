#pragma once
#include <QLabel>
#include <vector>

#include "profiler/model/rows.h"
#include "views/pages/parts/tool_row.h"

namespace pipescope::pages {

/// "Step 1 of 0–3"; steps are numbered within their call, from 0.
QString stepOf(int step, int last);

/// The controls above a chart of a run, the same on each page: choices that are kept in the settings, the
/// call, the step with its neighbours, zoom and picture.
class RunToolbar : public ToolRow {
  Q_OBJECT

 public:
  /// Of `calls`: all of them.
  static constexpr qlonglong kAllCalls = -2;

  using ToolRow::ToolRow;

  /// `withAll`: the calls together are a choice too.
  void setCalls(const std::vector<const model::Run*>& runs, qlonglong chosen, bool withAll);
  /// `step` empty: there is none.
  void setStep(const QString& step, bool hasPrevious, bool hasNext);

 Q_SIGNALS:
  void optionsChanged();
  void callChosen(qlonglong call);  ///< a RunId, or kAllCalls
  void stepWanted(int direction);   ///< 0: this one
  void zoomWanted(double factor);
  void pictureWanted();

 protected:
  /// A choice that stays from one start to the next.
  QComboBox* choice(const QStringList& items, const QString& name, const QString& tip,
                    const QString& setting);
  /// To the next choice of a box, as its key does.
  void turn(QComboBox* box, const QString& setting);
  void addCalls();
  void addSteps();
  void addZoom();
  void addPicture();

 private:
  QComboBox* calls_ = nullptr;
  QToolButton *previous_ = nullptr, *next_ = nullptr;
  QLabel* step_ = nullptr;
};

}  // namespace pipescope::pages

#pragma once
#include <QWidget>
#include <string>
#include <vector>

#include "profiler/replay/change.h"
#include "views/pages/parts/layout/tool_row.h"

class QComboBox;
class QGridLayout;
class QLabel;
class QPushButton;

namespace pipescope::pages {

/// Choices that the controls of a what-if offer for a recording.
struct WhatIfOffer {
  std::vector<std::string> keys;  ///< kinds of changes that the recorded call may have
  int stages = 0;
  std::vector<std::string> links;      ///< names of the links between devices
  std::vector<std::string> schedules;  ///< changes that users may choose
  std::vector<std::string> moves;      ///< BLOCK:STAGE of the blocks at the edges of stages
};
/// Reads it from a recording. Call it on a worker.
WhatIfOffer offerOf(const replay::ChangeContext& context, const replay::Recording& recording);

/// The row in which a change is chosen, and below it the changes that are applied.
class WhatIfControls : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfControls(shell::PageContext& context, QWidget* parent = nullptr);

  void setOffer(const WhatIfOffer& offer);
  void setChanges(std::vector<replay::Change> changes);
  const std::vector<replay::Change>& changes() const { return changes_; }
  void addChange(replay::Change change);

 Q_SIGNALS:
  void changed();
  void bestMoveWanted();
  void profileWanted();

 private:
  const replay::ChangeKind& kind() const;
  void showKinds();
  void followKind();
  void addTyped();
  void showChanges();
  /// Values that users often try, as changes have them.
  std::vector<std::string> valuesOf(const std::string& key) const;
  std::string typedValue() const;

  shell::PageContext& context_;
  WhatIfOffer offer_;
  std::vector<replay::Change> changes_;
  void resizeEvent(QResizeEvent* event) override;

  ToolRow* row_;
  QComboBox *kind_, *subject_, *value_;
  QLabel* of_;
  QPushButton* add_;
  QWidget* list_;
  QGridLayout* grid_;
};

}  // namespace pipescope::pages

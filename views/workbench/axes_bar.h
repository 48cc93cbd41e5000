#pragma once
#include <QWidget>
#include <vector>

#include "views/workbench/draft.h"

class QSpinBox;

namespace pipescope::workbench {

/// Sizes of the axes along which chips share the work besides the pipeline, whose size is the number of
/// stages: replicas, and the ranks of a place by tensors, sequence and experts.
class AxesBar : public QWidget {
  Q_OBJECT

 public:
  explicit AxesBar(Draft& draft, QWidget* parent = nullptr);
  /// Shows the sizes that the draft has. They are hidden where the draft gives the costs of its stages.
  void refresh();
  /// The field of a setting; null if there is none.
  QSpinBox* field(const QString& path) const;

 Q_SIGNALS:
  /// The user has changed a size; the draft has it already.
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Axis {
    QString path;
    QSpinBox* field = nullptr;
  };
  void take(const Axis& axis);

  Draft& draft_;
  std::vector<Axis> axes_;
};

}  // namespace pipescope::workbench

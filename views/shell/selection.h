#pragma once
#include <QObject>
#include <QString>

#include "profiler/model/rows.h"

namespace pipescope::shell {

/// Selection of the user as a place in the profile, so that every page can highlight it.
struct Selected {
  enum class Kind {
    none,
    placement,
    step,
    wait,
    transfer,
    stage,
    device,
    memory,
    program,
    operation,
    variable
  };
  Kind kind = Kind::none;
  model::DeviceId device;
  std::int32_t stage = -1, microBatch = -1;
  std::int64_t unit = -1;        ///< a tile of the device's memory
  model::PlacementId placement;  ///< set for placements and steps
  std::int32_t step = -1;        ///< index within the segment
  model::TransferId transfer;
  model::ProgramId program;  ///< set for steps and program steps
  base::Ticks start, end;
  QString name;  ///< name path of an operation, or of what a step works for; name of a variable
  friend bool operator==(const Selected&, const Selected&) = default;
};

/// The selection of a window, shared by its pages.
class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  const Selected& current() const { return current_; }
  void set(const Selected& selected) {
    if (selected == current_) return;
    current_ = selected;
    Q_EMIT changed();
  }
  void clear() { set({}); }

 Q_SIGNALS:
  void changed();

 private:
  Selected current_;
};

}  // namespace pipescope::shell

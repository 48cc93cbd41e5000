#pragma once
#include <QObject>

#include "profiler/model/rows.h"

namespace pipescope::shell {

/// What the user has selected, by its place in the profile: every page can light it.
struct Selected {
  enum class Kind { none, placement, step, wait, transfer, stage, device, memory, program };
  Kind kind = Kind::none;
  model::DeviceId device;
  std::int32_t stage = -1, microBatch = -1;
  std::int64_t unit = -1;        ///< of the device's memory: a tile
  model::PlacementId placement;  ///< of a placement or step
  std::int32_t step = -1;        ///< index within its segment
  model::TransferId transfer;
  model::ProgramId program;  ///< of a step or program step
  base::Ticks start, end;
  friend bool operator==(const Selected&, const Selected&) = default;
};

/// One per window.
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

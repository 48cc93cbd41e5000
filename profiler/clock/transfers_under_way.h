#pragma once
#include <vector>

#include "profiler/clock/contention.h"
#include "profiler/clock/order.h"
#include "profiler/model/run_rows.h"

namespace pipescope::clock {

/// A transfer or a collective under way that shares links with others.
struct TransferUnderWay {
  int flow = -1;           ///< index of the flow, or of a load of collectives (Contention)
  Task task;               ///< task whose results it carries
  base::Ticks start, end;  ///< the end is the expected one
  base::Ticks ticks;       ///< the whole length if the set stays as it is; of a load: at its pace
  model::PlacementId source;
  int place = -1;             ///< place of the sender, or that takes part in the collective
  std::uint32_t changes = 0;  ///< counts changes of the end, and the end itself
  bool beside = false;        ///< a collective beside a backward pass
};

/// The transfers and collectives under way in one replica, by groups that share links. When the set of a
/// group changes, the rest of each of them continues at its new pace, rounded up to a tick.
class TransfersUnderWay {
 public:
  explicit TransfersUnderWay(Contention& contention)
      : contention_(contention), active_(static_cast<std::size_t>(contention.groups())) {}

  const TransferUnderWay& operator[](int index) const { return all_[static_cast<std::size_t>(index)]; }
  void begin(TransferUnderWay transfer);
  /// Begins a collective whose expected end is stated, and returns its index.
  int beginLoad(TransferUnderWay collective);
  /// Takes a transfer out that has ended, and returns it.
  TransferUnderWay end(int index);
  bool changed() const { return !changed_.empty(); }
  /// Computes the ends of the transfers anew in all groups whose members have changed, and calls
  /// ends(index) for each transfer whose end is another now.
  template <class Ends>
  void retime(base::Ticks now, Ends&& ends) {
    for (const int index : retimed(now)) ends(index);
  }

 private:
  int add(TransferUnderWay transfer);
  const std::vector<int>& retimed(base::Ticks now);

  Contention& contention_;
  std::vector<TransferUnderWay> all_;
  std::vector<int> unused_;               ///< free indices of all_
  std::vector<std::vector<int>> active_;  ///< indices into all_ for each group, by ascending flow
  std::vector<int> changed_;              ///< groups whose members have changed
  std::vector<int> flows_, retimed_;      ///< of the group at hand; what retimed() returns
};

}  // namespace pipescope::clock

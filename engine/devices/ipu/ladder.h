#pragma once
// How IPUs are wired: a ladder of pairs. Number them 0,1 | 2,3 | 4,5 …: each pair is a rung. A route to the
// other side crosses the rung first, then goes up or down, two numbers a hop. Between the two of a pair lie
// six lanes: four for the pair's own traffic, two for what crosses the rung in transit. (Source: PopLibs test
// library.)
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "profiler/base/result.h"

namespace pipescope::devices::ipu {

class Ladder {
 public:
  /// One of an IPU's ways out. Machines of four IPUs share a gateway to other IPU-Link domains, where a route
  /// arrives at the IPU of the same place.
  enum class Way : std::uint8_t { partner, transit, up, down, gateway };
  static constexpr std::size_t kWays = 5;
  struct Hop {
    int from = 0;
    Way way = Way::partner;
    friend bool operator==(Hop, Hop) = default;
  };

  /// A single IPU: no links.
  Ladder() = default;
  static base::Result<Ladder> read(FigureReader& figures, int devices);

  int devices() const { return devices_; }
  std::vector<Hop> route(int from, int to) const;
  double bytesPerSecond(Way way) const { return capacity_[static_cast<std::size_t>(way)]; }
  /// Seconds of each of several flows that start together: a flow takes as long as its most loaded link needs
  /// for all bytes that go through it, after a fixed cost. A flow without bytes or distance takes none.
  std::vector<double> seconds(const std::vector<Flow>& concurrent) const;
  /// The same without the fixed cost.
  std::vector<double> transferSeconds(const std::vector<Flow>& concurrent) const;
  bool oneDomain(int a, int b) const { return a / domain_ == b / domain_; }
  /// Fixed cost of each step of a collective's ring.
  double collectiveStartup() const { return collectiveStartup_; }
  /// What a ring through gateways gets.
  double farCollectiveBytesPerSecond() const { return farCollective_; }
  /// One entry per neighbour and direction.
  std::vector<LinkInfo> links() const;

 private:
  int devices_ = 1;
  int domain_ = 1 << 20;  ///< IPUs that links join; further ones are behind gateways
  double capacity_[kWays] = {1, 1, 1, 1, 1};
  double startup_ = 0, collectiveStartup_ = 0, farCollective_ = 1;
};

}  // namespace pipescope::devices::ipu

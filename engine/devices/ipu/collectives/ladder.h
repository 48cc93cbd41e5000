#pragma once
// Describes the wiring of IPUs: a ladder of pairs 0,1 | 2,3 | 4,5 …, where each pair is a rung. A route to
// the other side first crosses its rung, then goes up or down, two numbers at each hop. Six lanes join a
// pair: four for its own traffic and two for transit. (Source: PopLibs test library.)
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/figures.h"
#include "profiler/base/result.h"

namespace pipescope::devices::ipu {

class Ladder {
 public:
  /// The ways out of an IPU. The four IPUs of a machine share a gateway to other IPU-Link domains. A route
  /// through it arrives at the IPU in the same place there.
  enum class Way : std::uint8_t { partner, transit, up, down, gateway };
  static constexpr std::size_t kWays = 5;
  struct Hop {
    int from = 0;
    Way way = Way::partner;
    friend bool operator==(Hop, Hop) = default;
  };

  /// The ladder of a single IPU has no links.
  Ladder() = default;
  static base::Result<Ladder> read(FigureReader& figures, int devices);

  int devices() const { return devices_; }
  std::vector<Hop> route(int from, int to) const;
  double bytesPerSecond(Way way) const { return capacity_[static_cast<std::size_t>(way)]; }
  /// Seconds of each of several flows that start together. After a fixed cost, which is higher through
  /// gateways, a flow takes as long as its most loaded link needs for all bytes that go through it. A flow
  /// without bytes or distance takes no time.
  std::vector<double> seconds(const std::vector<Flow>& concurrent) const;
  /// The same without the fixed cost.
  std::vector<double> transferSeconds(const std::vector<Flow>& concurrent) const;
  bool oneDomain(int a, int b) const { return a / domain_ == b / domain_; }
  /// Seconds that a sync of the first `devices` IPUs takes longer because it passes gateways: there to the
  /// first domain, and back. 0: they are in one domain.
  double gatewaySyncSeconds(int devices) const { return devices > domain_ ? 2 * gatewayLatency_ : 0; }
  /// The links that a route crosses, as links() has them.
  std::vector<LinkInfo> linksOfRoute(int from, int to) const;
  /// One entry for each neighbour and direction, and for each way through gateways.
  std::vector<LinkInfo> links() const;

 private:
  std::vector<LinkInfo> linksFrom(int device) const;

  int devices_ = 1;
  int domain_ = 1 << 20;  ///< IPUs that links join; further ones are behind gateways
  double capacity_[kWays] = {1, 1, 1, 1, 1};
  double startup_ = 0;
  double gatewayLatency_ = 0;  ///< seconds before the first byte has passed both gateways
};

}  // namespace pipescope::devices::ipu

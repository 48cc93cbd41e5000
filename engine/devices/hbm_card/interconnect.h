#pragma once
// The links between cards, as every family of cards has them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::devices::hbm_card {

class Interconnect {
 public:
  virtual ~Interconnect() = default;

  virtual int devices() const = 0;
  virtual int cardsPerBox() const = 0;
  /// Seconds of each of several flows that start together. A flow takes as long as its most loaded link.
  virtual std::vector<double> seconds(const std::vector<Flow>& concurrent) const = 0;
  virtual std::vector<std::int64_t> linksOf(const Flow& flow) const = 0;
  /// The links inside boxes. A network joins the boxes. It has a way between any two cards, and their number
  /// grows with the square of the number of boxes.
  std::vector<LinkInfo> links() const;
  /// One link, which links() lacks between cards of different boxes.
  virtual LinkInfo linkBetween(int from, int to) const = 0;
  /// Seconds of one message between cards, without its bytes.
  virtual double latency() const = 0;

 protected:
  Interconnect() = default;
  Interconnect(const Interconnect&) = default;
  Interconnect(Interconnect&&) = default;
  Interconnect& operator=(const Interconnect&) = default;
  Interconnect& operator=(Interconnect&&) = default;
};

inline std::vector<LinkInfo> Interconnect::links() const {
  std::vector<LinkInfo> links;
  for (int from = 0; from < devices(); ++from) {
    const int box = from - from % cardsPerBox();
    for (int to = box; to < std::min(box + cardsPerBox(), devices()); ++to)
      if (from != to) links.push_back(linkBetween(from, to));
  }
  return links;
}

}  // namespace pipescope::devices::hbm_card

#pragma once
// Chips of a user's own, for the time of a test.
#include <string>

#include "engine/devices/core/figures.h"

namespace pipescope::conformance {

/// A folder of the user's own devices and systems for the time of a test.
class UserDevices {
 public:
  UserDevices();
  ~UserDevices();
  UserDevices(const UserDevices&) = delete;
  UserDevices& operator=(const UserDevices&) = delete;

  /// Adds a chip like `base`, but with `factor` times one of its figures.
  void add(const std::string& name, const std::string& base, const std::string& figure, double factor) const;
  /// Adds a system like `base`, but with another value of one of its figures, or of its chip's.
  void addSystem(const std::string& name, const std::string& base, const std::string& figure, bool ofChip,
                 double value) const;

 private:
  std::string folder_;
};

/// A figure of an embedded chip.
devices::FigureValue figureOf(const std::string& chip, const std::string& name);

}  // namespace pipescope::conformance

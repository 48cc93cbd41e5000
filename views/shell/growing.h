#pragma once

namespace pipescope::shell {

/// A chart that becomes taller where its page has room to spare.
class Growing {
 public:
  /// In pixels: as tall as it must be, as it is of use, and as it is now.
  struct Heights {
    int least = 0, most = 0, now = 0;
  };

  virtual ~Growing() = default;
  virtual Heights heights() const = 0;
  /// Makes the chart so tall, or a little less.
  virtual void growTo(int height) = 0;
};

}  // namespace pipescope::shell

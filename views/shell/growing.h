#pragma once

namespace pipescope::shell {

/// A chart, or another part of a page, that becomes taller if the page has room to spare.
class Growing {
 public:
  /// Charts gain most from more height. Texts and rows of tables take what charts leave.
  enum class Turn { charts, texts };
  /// Heights in pixels: as small as it may be, as tall as it is of use, and as it is now.
  struct Heights {
    int least = 0, most = 0, now = 0;
  };

  virtual ~Growing() = default;
  virtual Heights heights() const = 0;
  virtual Turn turn() const { return Turn::charts; }
  /// Makes it so tall, or a little less.
  virtual void growTo(int height) = 0;
};

}  // namespace pipescope::shell

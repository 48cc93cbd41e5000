#pragma once
#include <QString>

namespace pipescope::shell {

/// A part of a page that can show the figures of two profiles: its own, and those of the same part of the
/// other profile's page.
class Beside {
 public:
  virtual ~Beside() = default;
  /// Names the part within its page. Parts of both pages with the same name belong together; those with an
  /// empty name stay alone.
  virtual QString besideName() const = 0;
  /// Shows the other part's figures beside the own ones; null: the own ones only. `ticks` converts its ticks
  /// to the own ones; 0: the times of the profiles say nothing about each other.
  virtual void showBeside(const Beside* source, double ticks) = 0;
};

}  // namespace pipescope::shell

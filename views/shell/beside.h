#pragma once
#include <QString>

namespace pipescope::shell {

/// Relation between the figures of two profiles.
struct BesideTerms {
  double ticks = 1;      ///< own ticks in one tick of the source; 0: their times have nothing in common
  bool sameWork = true;  ///< false if fewer cycles or bytes are not better, because they are for other work
};

/// A part of a page that can show the figures of two profiles: its own, and those of the same part of the
/// other profile's page.
class Beside {
 public:
  virtual ~Beside() = default;
  /// Names the part within its page. Parts of both pages with the same name belong together; those with an
  /// empty name stay alone.
  virtual QString besideName() const = 0;
  /// Shows the other part's figures beside the own ones; null: the own ones only.
  virtual void showBeside(const Beside* source, const BesideTerms& terms) = 0;
};

}  // namespace pipescope::shell

#pragma once
#include <QString>

namespace pipescope::shell {

/// A part of a page that shows words outside tables, such as a legend or the names of bars, so that Find
/// looks there, too.
class Searched {
 public:
  virtual ~Searched() = default;
  /// Marks what holds the words, and returns how many parts do; empty words: nothing is marked.
  virtual int markWords(const QString& words) = 0;
};

}  // namespace pipescope::shell

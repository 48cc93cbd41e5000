#pragma once
#include <QComboBox>
#include <functional>
#include <string>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// Chooses which figure a table shows of two profiles: one of them with its change, or all. It hides itself
/// if a table has the figures of one profile only.
class ComparedColumns : public QComboBox {
  Q_OBJECT

 public:
  explicit ComparedColumns(QWidget* parent = nullptr);

  /// Takes the figures of a table that sections::withSource() made, and keeps the choice. At first it is the
  /// first figure that is not hidden, or all of a few.
  void setTable(const sections::SectionTable& merged,
                const std::function<bool(const std::string& key)>& isHidden);
  /// False for a column of a figure that is not chosen.
  bool shows(const std::string& key) const;
  /// True for the columns of the one figure that is chosen.
  bool isChosen(const std::string& key) const;
  /// The key of the target's column beside which a column lies: "cycles" for "source_cycles".
  static std::string figureOf(const std::string& key);

 private:
  std::vector<std::string> figures_;
  std::string chosen_;  ///< empty: all
  bool decided_ = false;
};

}  // namespace pipescope::pages

#pragma once
#include <QObject>
#include <optional>

#include "profiler/analysis/timeline/name_uses.h"
#include "views/pages/parts/data/gap_data.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/page.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {

/// Looks for steps by their name paths: selects them one by one on the timeline, dims everything else, and
/// lists all names that match in all calls of the executable. Words such as "longest gap of IPU2" find the
/// idle stretches of the last call instead, the longest first.
class TraceFind : public QObject {
  Q_OBJECT

 public:
  /// All arguments must outlive this object. `list` shows the names.
  TraceFind(shell::Page& page, shell::PageContext& context, timeline::TimelineCanvas& canvas,
            DataTable& list);

  /// Selects the next (+1), previous (−1) or first (0: the text has changed) match, and returns what to tell
  /// the user.
  QString find(const QString& wanted, int direction);
  /// Shows everything again.
  void clear();
  bool isActive() const { return !query_.empty(); }
  /// Selects the match that find() looked for in a call which was not loaded then.
  void goOn();
  /// The lengths of all steps of a name path in all calls, told by usesRead().
  void readUses(const QString& path);
  void setScale(const geometry::TimeScale& scale) { scale_ = scale; }

 Q_SIGNALS:
  void answered(const QString& sentence);
  /// The next match lies in the call before (−1) or after (+1) those that are loaded.
  void callWanted(int direction);
  void timeWanted(base::Ticks time);
  void listed();
  void usesRead(const analysis::NameUse& use);

 private:
  QString select(const analysis::NameQuery& query, int direction);
  QString findGap(const QString& words, const GapChoice& choice, int direction);
  void showGap();
  void dim();
  void read();
  void showList(const analysis::NameUses& found);
  QString answer() const;

  shell::Page& page_;
  shell::PageContext& context_;
  timeline::TimelineCanvas& canvas_;
  DataTable& list_;
  geometry::TimeScale scale_;
  analysis::NameQuery query_;
  std::optional<analysis::NameUses> uses_;
  std::shared_ptr<shell::SharedProgress> progress_, oneProgress_;
  QString gapWords_;  ///< the words that gaps_ answer
  std::vector<analysis::IdleStretch> gaps_;
  std::size_t gap_ = 0;  ///< the one that is shown
  int pending_ = 0;      ///< the direction of a search that goes on in the next call; 0: none
};

}  // namespace pipescope::pages

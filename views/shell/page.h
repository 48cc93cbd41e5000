#pragma once
// Definition of a page, and its way into the window. Each page is one file of views/pages.
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "views/shell/actions.h"
#include "views/shell/background.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/look/palette.h"
#include "views/shell/profile_session.h"
#include "views/shell/selection.h"
#include "views/shell/time_range.h"
#include "views/shell/window_settings.h"

class QStackedLayout;
class QVBoxLayout;

namespace pipescope::shell {

class Comparison;
class NoticeBar;
class NoticePane;

/// A place in the window that a link can lead to.
struct Place {
  QString page;                     ///< empty: the present page
  std::optional<base::Ticks> time;  ///< time in ticks of device 0
  std::int32_t stage = -1;
  QString lane;            ///< name of a device
  model::DeviceId device;  ///< device that has `unit`
  std::int64_t unit = -1;  ///< a tile
  QStringList changes;     ///< on the page of what-ifs: KEY=VALUE of each change to replay
  bool compare = false;    ///< and opens the replayed call beside the recorded one
  bool wholeStep = false;  ///< on the trace: with `time`, shows the whole iteration around it
};

/// Content that "Save picture" draws.
struct Picture {
  QWidget* widget = nullptr;
  QString title;
  /// Makes the widget show all of its content, and returns what undoes that. Empty: it always shows all.
  std::function<std::function<void()>()> showWhole;
  QString wholeTitle = {};  ///< title of the picture of all content; empty: the same as `title`
};

/// A profile that a page has made from another one, which it is compared with.
struct MadeProfile {
  OpenedSource source;
  QString title;
  OpenedSource from;
  QString fromTitle;
};

/// Objects that all pages of a window share.
struct PageContext {
  ProfileSession& session;
  Palette& palette;
  Selection& selection;
  TimeRange& timeRange;
  Actions& actions;
  WindowSettings& settings;
  std::function<void(const Place&)> go;
  std::function<void()> toggleTimeUnit;  ///< switches all pages between cycles and seconds
  /// Saves a picture of the present page: the visible part or the whole chart.
  std::function<void(bool whole)> savePicture;
  std::function<void(const QString& path)> saved;  ///< tells the user that a file was written
  std::function<void(const QString& text)> find;   ///< looks for a text on the present page
  Comparison& comparison;
  std::function<void()> chooseCompared;  ///< asks for the profile to compare with
  /// Shows a profile that a page has made in a window of its own, beside this one.
  std::function<void(const MadeProfile&)> openBeside;
  /// Shows the settings of the profile in the workbench, with these changes of them: KEY=VALUE each.
  std::function<void(const QStringList& changes)> runAgain;
};

/// A page shows content that it loads on a worker, or a notice. The last good content stays visible until the
/// next content has been loaded.
class Page : public QWidget {
  Q_OBJECT

 public:
  explicit Page(PageContext& context);
  ~Page() override;

  /// True when nothing is being read for the page and its content is up to date.
  bool isSettled() const { return !loading_ && !stale_ && pendingReads_ == 0; }
  /// The notice above the content or in place of it; empty: none.
  QString notice() const;
  /// False while a sentence stands in place of the content.
  bool showsContent() const;
  /// Shows a place on this page.
  virtual void show(const Place&) {}
  /// Reads the content again, now or when the page is next visible.
  void reload();
  /// Returns what "Save picture" draws: the main chart of the page, or else the whole page.
  virtual Picture picture();
  /// Finds a text on the page: the next place (+1), the previous one (−1), or the first one after the text
  /// has changed (0). Returns what to tell the user, such as "12 rows" or "nothing found". This
  /// implementation filters the tables of the page, and marks the words in legends, names of bars and
  /// sentences.
  virtual QString find(const QString& text, int direction);
  /// Shows everything again after a search. What was found stays selected and in sight.
  virtual void endFind();
  /// True if a chart of the page shows what is selected. Tables say it themselves.
  virtual bool showsSelection() const { return false; }
  /// The place that is shown, for a link. Page and executable are added by the window.
  virtual Place place() const { return {}; }

  /// Reads the content although the page is not shown, because another page shows its figures beside its own.
  void loadUnseen(bool unseen);
  /// The chart that a comparison shows above the same chart of the other profile; null: none.
  virtual QWidget* chartBeside() { return nullptr; }
  /// Makes the choices of a page of the same class that shows another profile; null: that page is not
  /// compared any more.
  virtual void mirror(const Page*) {}
  /// Shows a line above the page that says what it is compared with, and a button that ends that; empty:
  /// none.
  void setAbove(const QString& sentence, std::function<void()> end);
  /// Shows the other profile's chart below that line. setAbove() with an empty sentence takes it away.
  void setChartAbove(QWidget* chart);

  /// Gives the keyboard to the widget that answers the page's keys, unless the user is typing into a field.
  void offerKeyboard();
  /// Handles a key that no widget of the window wanted, as when the sidebar has the focus.
  void takeKey(QKeyEvent* event);
  /// Makes an action a command of this page. It is enabled only while the page shows its content.
  void own(QAction* action);
  /// Disables a command of this page for as long as it would do nothing.
  void setPossible(QAction* action, bool possible);

  /// Reads more than load() does: runs work() on a worker, then done(result) on the window's thread unless
  /// `owner`, which is the page or a part of it, is destroyed.
  template <class Work, class Done>
  void readInBackground(QObject* owner, Work work, Done done) {
    ++pendingReads_;
    inBackground(owner, std::move(work), [this, done = std::move(done)](auto&& result) mutable {
      --pendingReads_;
      done(std::forward<decltype(result)>(result));
      Q_EMIT settled();
    });
  }
  template <class Work, class Done>
  void readInBackground(Work work, Done done) {
    readInBackground(this, std::move(work), std::move(done));
  }

 Q_SIGNALS:
  void settled();
  void findAnswered(const QString& sentence);  ///< result that find() could not tell at once

 protected:
  /// Data that a worker may read from.
  struct Job {
    const model::ProfileSource& source;
    const analysis::Catalog& catalog;
    model::ExecutableId executable;
    base::Progress& progress;
    std::shared_ptr<sections::ReportCache> reports;  ///< reports that pages have computed already
    /// Shows a first part of the content while the load reads the rest. Returns at once; nothing is shown if
    /// another load has begun meanwhile.
    std::function<void(std::function<void()> apply)> begin;
  };
  /// Shows what was read. Called on the window's thread.
  using Apply = std::function<void()>;
  /// Reads the content. Called on a worker, so it must own what it uses and never refer to the page.
  using Load = std::function<base::Result<Apply>(const Job&)>;

  /// Returns what to read for the present state of the page.
  virtual Load load() = 0;
  /// Drops the choices that were made for the old profile or executable. The page calls it when another one
  /// is shown.
  virtual void forget() {}
  /// Drops choices of things that only the old profile had, such as a device. The page calls it when another
  /// profile is shown, and not when the same file was written anew.
  virtual void forgetProfile() {}
  /// Sets the widget that shows the content.
  void setContent(QWidget* content);
  /// Shows a sentence in place of the content that says why there is nothing to show.
  void showInstead(const QString& sentence);
  /// Shows the content without a notice.
  void showContent();
  /// Shows a sentence above the content; empty: none.
  void remark(const QString& sentence, NoticeKind kind = NoticeKind::warning);
  /// The widget that answers the page's keys; without one, the page itself.
  void setKeyWidget(QWidget* widget) { keyWidget_ = widget; }
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

  geometry::TimeScale timeScale() const;

  PageContext& context_;

 private:
  void start();
  std::function<void(Apply)> firstPart();
  void finish(base::Result<Apply>&& result);
  void enableOwned();
  /// Marks the words outside tables, scrolls to the first, next or previous part, and returns how many there
  /// are.
  int markTexts(const QString& words, int direction);
  bool isRead() const { return isVisible() || unseen_; }

  NoticeBar* bar_ = nullptr;
  NoticePane* pane_ = nullptr;
  QStackedLayout* stack_ = nullptr;
  std::shared_ptr<SharedProgress> progress_;
  QWidget* above_ = nullptr;
  QVBoxLayout *layout_ = nullptr, *aboveLayout_ = nullptr;
  QString shownPath_;  ///< path of the profile that the page last showed
  int shownPart_ = 0;  ///< of the parts that Find marked
  bool loading_ = false, stale_ = true, hasContent_ = false, unseen_ = false;
  int pendingReads_ = 0;
  QWidget *content_ = nullptr, *keyWidget_ = nullptr;
  std::vector<std::pair<QAction*, bool>> owned_;  ///< commands of the page; false: it would do nothing now
};

/// True if the focus is in a field for text, which then takes all keys.
bool isTyping(const QWidget* focus);

/// Groups of pages in the sidebar, in its order.
enum class PageGroup { result, time, memory, model, recorded, experiments };

struct PageDefinition {
  QString id, title, icon, doc;
  PageGroup group = PageGroup::result;
  int order = 0;  ///< position within the group
  std::function<Page*(PageContext&)> make;
  bool comparable = true;  ///< shows one profile, so it can show two that are compared
  /// A sentence that says why a profile has no content for the page, as far as its small tables tell; empty:
  /// it may have content. Without this function, only the page knows.
  std::function<QString(const analysis::Catalog&, model::ExecutableId)> lack = {};
};

/// The key of the page at this position of the sidebar: Ctrl+1 … Ctrl+9, then Ctrl+0. Later pages have none.
QKeySequence pageKey(std::size_t position);

class PageRegistry {
 public:
  void add(PageDefinition definition);
  const std::vector<PageDefinition>& all() const { return definitions_; }  ///< definitions by order

 private:
  std::vector<PageDefinition> definitions_;
};

/// Registers all pages. The function is generated from the files of views/pages.
void registerPages(PageRegistry& registry);

}  // namespace pipescope::shell

/// PIPESCOPE_REGISTER_PAGE(summary) { registry.add({...}); } — in namespace pipescope::shell.
#define PIPESCOPE_REGISTER_PAGE(name) void register_##name(PageRegistry& registry)

#pragma once
// What a page is and how it gets into the window. Each page is one file of views/pages.
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/geometry/time_axis.h"
#include "views/shell/actions.h"
#include "views/shell/background.h"
#include "views/shell/notice.h"
#include "views/shell/palette.h"
#include "views/shell/profile_session.h"
#include "views/shell/selection.h"
#include "views/shell/settings.h"
#include "views/shell/time_range.h"

class QStackedLayout;

namespace pipescope::shell {

class NoticeBar;
class NoticePane;

/// A place in the window that a link can lead to.
struct Place {
  QString page;                     ///< empty: the present page
  std::optional<base::Ticks> time;  ///< in ticks of device 0
  std::int32_t stage = -1;
  QString lane;  ///< name of a device
};

/// What all pages of a window share.
struct PageContext {
  ProfileSession& session;
  Palette& palette;
  Selection& selection;
  TimeRange& timeRange;
  Actions& actions;
  Settings& settings;
  std::function<void(const Place&)> go;
  std::function<void()> toggleTimeUnit;  ///< switches all pages between cycles and seconds
};

/// A page shows content that it loads on a worker, or a notice. Its last good content stays visible until the
/// next content has been loaded.
class Page : public QWidget {
  Q_OBJECT

 public:
  explicit Page(PageContext& context);

  /// True when nothing is being read for the page and its content is up to date.
  bool isSettled() const { return !loading_ && !stale_ && pendingReads_ == 0; }
  /// The notice above the content or in place of it; empty: none.
  QString notice() const;
  /// Shows a place on this page.
  virtual void show(const Place&) {}
  /// Reads the content again, now or when the page is next visible.
  void reload();
  /// The widget that "Save picture" draws: the main chart of the page, or else the whole page.
  virtual QWidget* picture() { return this; }
  /// Finds a text on the page: the next place (+1), the previous one (−1), or the first one after the text
  /// has changed (0). Returns what to tell the user, such as "12 rows" or "nothing found". This
  /// implementation filters the tables of the page.
  virtual QString find(const QString& text, int direction);
  /// The place that is shown, for a link. Page and executable are added by the window.
  virtual Place place() const { return {}; }

 Q_SIGNALS:
  void settled();

 protected:
  /// What a worker may read from.
  struct Job {
    const model::ProfileSource& source;
    const analysis::Catalog& catalog;
    model::ExecutableId executable;
    base::Progress& progress;
  };
  /// Shows what was read. Called on the window's thread.
  using Apply = std::function<void()>;
  /// Reads the content. Called on a worker, so it must own what it uses and never refer to the page.
  using Load = std::function<base::Result<Apply>(const Job&)>;

  /// Returns what to read for the present state of the page.
  virtual Load load() = 0;
  /// Called when another profile or executable is shown. Choices that were made for the old one are dropped.
  virtual void forget() {}
  /// Sets the widget that shows the content.
  void setContent(QWidget* content);
  /// Shows a sentence in place of the content that says why there is nothing to show.
  void showInstead(const QString& sentence);
  /// Shows the content without a notice.
  void showContent();
  /// Shows a sentence above the content; empty: none.
  void remark(const QString& sentence, NoticeKind kind = NoticeKind::warning);
  /// Reads more than load() does: runs work() on a worker, then done(result) on the window's thread.
  template <class Work, class Done>
  void readInBackground(Work work, Done done) {
    ++pendingReads_;
    inBackground(this, std::move(work), [this, done = std::move(done)](auto&& result) mutable {
      --pendingReads_;
      done(std::forward<decltype(result)>(result));
      Q_EMIT settled();
    });
  }
  void showEvent(QShowEvent* event) override;

  geometry::TimeScale timeScale() const;

  PageContext& context_;

 private:
  void start();
  void finish(base::Result<Apply>&& result);

  NoticeBar* bar_ = nullptr;
  NoticePane* pane_ = nullptr;
  QStackedLayout* stack_ = nullptr;
  std::shared_ptr<SharedProgress> progress_;
  bool loading_ = false, stale_ = true, hasContent_ = false;
  int pendingReads_ = 0;
};

struct PageDefinition {
  QString id, title, icon, doc;
  int order = 0;  ///< position in the sidebar
  std::function<Page*(PageContext&)> make;
};

class PageRegistry {
 public:
  void add(PageDefinition definition);
  const std::vector<PageDefinition>& all() const { return definitions_; }  ///< by order

 private:
  std::vector<PageDefinition> definitions_;
};

/// Registers all pages. The function is generated from the files of views/pages.
void registerPages(PageRegistry& registry);

}  // namespace pipescope::shell

/// PIPESCOPE_REGISTER_PAGE(summary) { registry.add({...}); } — in namespace pipescope::shell.
#define PIPESCOPE_REGISTER_PAGE(name) void register_##name(PageRegistry& registry)

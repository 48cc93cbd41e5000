#pragma once
// What a page is, and how it gets into the window. A page is one file of views/pages.
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

/// A place in the window: what links lead to.
struct Place {
  QString page;                     ///< empty: the present one
  std::optional<base::Ticks> time;  ///< of device 0's timebase
  std::int32_t stage = -1;
  QString lane;  ///< device by name
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
  std::function<void()> toggleTimeUnit;  ///< cycles or seconds, on all pages
};

/// A page shows a notice, or content that it loads on a worker. Its last good content stays until the next is
/// there.
class Page : public QWidget {
  Q_OBJECT

 public:
  explicit Page(PageContext& context);

  /// True while nothing is being read for the page and what it shows is up to date.
  bool isSettled() const { return !loading_ && !stale_ && beside_ == 0; }
  /// The sentence shown instead of content or above it; empty: none.
  QString notice() const;
  /// Leads to a place on this page.
  virtual void show(const Place&) {}
  /// Reads again what the page shows, now or when the page is next seen.
  void reload();
  /// What "Save picture" draws: the page's main chart; the whole page where it has none.
  virtual QWidget* picture() { return this; }
  /// Finds text on the page: the next (+1) or previous (−1) place, or the first one after the text has
  /// changed (0). Returns what to say: "12 rows", "nothing found". Here: filters the page's tables.
  virtual QString find(const QString& text, int direction);
  /// What a link to this place needs beside page and executable.
  virtual Place place() const { return {}; }

 Q_SIGNALS:
  void settled();

 protected:
  /// What a worker reads from.
  struct Job {
    const model::ProfileSource& source;
    const analysis::Catalog& catalog;
    model::ExecutableId executable;
    base::Progress& progress;
  };
  /// Puts what was read on the screen; called on the window's thread.
  using Apply = std::function<void()>;
  /// Reads; called on a worker. Captures values of the page, never the page.
  using Load = std::function<base::Result<Apply>(const Job&)>;

  /// What to read for the present state of the page.
  virtual Load load() = 0;
  /// Another profile or executable is shown from now on: what was chosen in the old one has no meaning.
  virtual void forget() {}
  /// The widget that holds the content.
  void setContent(QWidget* content);
  /// Instead of the content: there is nothing to show, and why.
  void showInstead(const QString& sentence);
  /// The content, without a notice.
  void showContent();
  /// A sentence above the content; empty: none.
  void remark(const QString& sentence, NoticeKind kind = NoticeKind::warning);
  /// Reads something more beside load(): work() on a worker, then done(result) on the window's thread.
  template <class Work, class Done>
  void readBeside(Work work, Done done) {
    ++beside_;
    inBackground(this, std::move(work), [this, done = std::move(done)](auto&& result) mutable {
      --beside_;
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
  int beside_ = 0;
};

struct PageDefinition {
  QString id, title, icon, doc;
  int order = 0;  ///< place in the sidebar
  std::function<Page*(PageContext&)> make;
};

class PageRegistry {
 public:
  void add(PageDefinition definition);
  const std::vector<PageDefinition>& all() const { return definitions_; }  ///< by order

 private:
  std::vector<PageDefinition> definitions_;
};

/// Calls every page's registration (generated, in views/pages).
void registerPages(PageRegistry& registry);

}  // namespace pipescope::shell

/// PIPESCOPE_REGISTER_PAGE(summary) { registry.add({...}); } — in namespace pipescope::shell.
#define PIPESCOPE_REGISTER_PAGE(name) void register_##name(PageRegistry& registry)

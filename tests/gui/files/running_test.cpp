// Tests how the window follows a profile that is still being written.
#include <QCheckBox>
#include <QLabel>

#include "views/shell/header.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

TEST_F(WindowTest, AGrowingProfileIsFollowed) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  ASSERT_NE(calls, nullptr);
  EXPECT_EQ(calls->count(), 4) << "three calls, and all of them";
  auto* canvas = child<timeline::TimelineCanvas>();
  QTest::keyClick(canvas, Qt::Key_W);  // who zooms looks at what is shown, and follows no longer
  const auto view = window->timeRange().view();
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 5; }));
  EXPECT_EQ(calls->currentText(), QStringLiteral("Call 3")) << "what was shown stays";
  EXPECT_EQ(window->timeRange().view(), view);
  EXPECT_FALSE(window->session().snapshot()->catalog->state.state == model::ProfileState::complete);
  fixture.finish(model::ProfileState::cancelled, "Stopped by Ctrl-C.");
  ASSERT_TRUE(waitFor([&] { return !window->notice().isEmpty(); }));
  EXPECT_EQ(window->notice(), QStringLiteral("This profile is cancelled: Stopped by Ctrl-C."));
}

TEST_F(WindowTest, ARunIsFollowedToItsNewestCall) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  const auto says = [&](const char* words) {
    for (const QLabel* label : window->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(QLatin1String(words))) return true;
    return false;
  };
  EXPECT_TRUE(says("running, call 3 of 5 has ended"));
  const auto* header = window->findChild<shell::Header*>();
  EXPECT_DOUBLE_EQ(header->progress().value_or(0), 3.0 / 5);
  QCheckBox* follow = nullptr;
  for (auto* box : window->currentPage()->findChildren<QCheckBox*>())
    if (box->text() == QStringLiteral("Follow the run")) follow = box;
  ASSERT_TRUE(follow != nullptr && follow->isVisible());
  EXPECT_TRUE(follow->isChecked()) << "at first";
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->currentText() == QStringLiteral("Call 4 (last)"); }));
  ASSERT_TRUE(settle());
  const auto& trace = *child<timeline::TimelineCanvas>()->scene().model()->trace;
  EXPECT_EQ(window->timeRange().start(), trace.iterations.back().start) << "its last iteration";
  EXPECT_TRUE(says("running, call 4 of 5 has ended"));
  // Who chooses a call stops following.
  choose(calls, 0);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(follow->isChecked());
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 6; }));
  EXPECT_EQ(calls->currentText(), QStringLiteral("Call 1"));
  fixture.finish(model::ProfileState::complete);
  ASSERT_TRUE(waitFor([&] { return !follow->isVisible(); })) << "there is nothing to follow any more";
  EXPECT_FALSE(header->progress().has_value());
}

TEST_F(WindowTest, MeasuredSpansStayWhileTheirProfileGrowsAndEndWithIt) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  ASSERT_NE(canvas, nullptr);
  canvas->select(canvas->scene().passItem({0, 0, 0}));
  canvas->measureSelection();
  ASSERT_EQ(canvas->spans().size(), 1U);
  const auto* calls = child<QComboBox>(QStringLiteral("Call"));
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 5; }));
  EXPECT_EQ(canvas->spans().size(), 1U) << "the profile is the same";
  showPage(QStringLiteral("summary"));
  open(ProfileFixture().profile());
  EXPECT_TRUE(canvas->spans().empty()) << "this is another profile";
}

}  // namespace
}  // namespace pipescope::testing

#include "app/gui/window_options.h"

#include <gtest/gtest.h>

#include <QProcess>
#include <QTemporaryDir>
#include <clocale>
#include <cstdlib>

#include "app/gui/numbers.h"
#include "views/shell/page.h"

namespace pipescope::gui {
namespace {

TEST(GuiOptions, TakesProfilesAndPlaces) {
  const auto options =
      parseOptions({"a.pop", "--page", "trace", "--executable=inference", "--at", "1.5ms", "b.pop"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->profiles, (QStringList{"a.pop", "b.pop"}));
  EXPECT_EQ(options->page, QStringLiteral("trace"));
  EXPECT_EQ(options->executable, QStringLiteral("inference"));
  EXPECT_EQ(options->at, QStringLiteral("1.5ms"));
  EXPECT_FALSE(options->size);
  EXPECT_FALSE(options->theme);
}

TEST(GuiOptions, TakesPictures) {
  const auto options =
      parseOptions({"--screenshot", "x.png", "--size", "1024x700", "--theme", "dark", "--", "--odd.pop"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->screenshot, QStringLiteral("x.png"));
  EXPECT_EQ(options->size, QSize(1024, 700));
  EXPECT_EQ(options->theme, QStringLiteral("dark"));
  EXPECT_EQ(options->profiles, QStringList{"--odd.pop"});
  EXPECT_TRUE(parseOptions({"-h"})->help);
  EXPECT_TRUE(parseOptions({"--version"})->version);
}

TEST(GuiOptions, TakesTwoProfilesToCompare) {
  const auto options = parseOptions({"--compare", "source.pop", "target.pop"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->compare, QStringLiteral("source.pop"));
  EXPECT_EQ(options->profiles, QStringList{"target.pop"});
}

TEST(GuiOptions, RefusesWithASentence) {
  const std::vector<std::pair<QStringList, const char*>> cases = {
      {{"--xyzzy"}, "There is no option --xyzzy. See pipescope-gui --help."},
      {{"-x"}, "There is no option -x. See pipescope-gui --help."},
      {{"--pgae=trace"}, "There is no option --pgae; did you mean --page? See pipescope-gui --help."},
      {{"--screen-shot", "x.png"},
       "There is no option --screen-shot; did you mean --screenshot? See pipescope-gui --help."},
      {{"--page"},
       "--page needs a value (the page to open: summary, insights, pipeline, trace, stages, waits, engines, "
       "operations, memory, liveness, programs, graph, system, host, training, stragglers, recorded, "
       "compare, "
       "what-if or sweep; or workbench: the settings of PROFILE, to edit and run again). See pipescope-gui "
       "--help."},
      {{"--compare", "a.pop"},
       "--compare SOURCE compares with one profile: pipescope-gui --compare SOURCE TARGET. See pipescope-gui "
       "--help."},
      {{"--screenshot", "", "a.pop"},
       "--screenshot names nothing: give it a value, or leave it out. See pipescope-gui --help."},
      {{"--page=trace", "--page", "memory"},
       "--page is given several times: leave all but one out. See pipescope-gui --help."},
      {{"--help=yes"}, "--help takes no value. See pipescope-gui --help."},
      {{"--theme", "pink"}, "--theme pink is unknown: give light or dark. See pipescope-gui --help."},
      {{"--size", "big"},
       "--size big is not a size: give width and height between 320x240 and 16000x16000, as in 1600x900. See "
       "pipescope-gui --help."},
      {{"--size", "10x10"},
       "--size 10x10 is not a size: give width and height between 320x240 and 16000x16000, as in 1600x900. "
       "See "
       "pipescope-gui --help."},
      {{"--screenshot", "x.png", "a.pop", "b.pop"},
       "--screenshot takes one profile. See pipescope-gui --help."},
      {{"--screenshot", "x.gif", "a.pop"},
       "x.gif does not end like a picture that can be written: choose a name that ends in .png, .jpg, .jpeg "
       "or "
       ".bmp. See pipescope-gui --help."},
      {{"--overwrite"},
       "--overwrite is about the file of --screenshot, which is not given. See pipescope-gui --help."}};
  for (const auto& [arguments, sentence] : cases) {
    const auto options = parseOptions(arguments);
    ASSERT_FALSE(options.ok()) << sentence;
    EXPECT_EQ(options.error().message, sentence);
  }
}

TEST(GuiOptions, HelpNamesEveryPage) {
  shell::PageRegistry registry;
  shell::registerPages(registry);
  const QString help = helpText();
  for (const shell::PageDefinition& page : registry.all())
    EXPECT_TRUE(help.contains(page.id)) << page.id.toStdString();
}

TEST(GuiOptions, HelpNamesEveryOption) {
  const QString help = helpText();
  for (const char* option : {"--page", "--executable", "--at", "--screenshot", "--overwrite", "--size",
                             "--theme", "--help", "--version"}) {
    EXPECT_TRUE(help.contains(QLatin1String(option))) << option;
  }
}

/// The function strtod() would read "0.8" as 0 in German: figures of a profile would be wrong without any
/// message.
TEST(GuiNumbers, AreReadWithPointsInEveryLanguage) {
  const QTemporaryDir folder;
  const QString locale = folder.filePath(QStringLiteral("de_DE.UTF-8"));
  const int made = QProcess::execute(
      QStringLiteral("localedef"),
      {QStringLiteral("-i"), QStringLiteral("de_DE"), QStringLiteral("-f"), QStringLiteral("UTF-8"), locale});
  qputenv("LOCPATH", folder.path().toLocal8Bit());
  const bool german = made == 0 && std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  const double before = std::strtod("0.8", nullptr);
  useDecimalPoints();
  qunsetenv("LOCPATH");
  EXPECT_EQ(std::strtod("0.8", nullptr), 0.8);
  if (!german) GTEST_SKIP() << "this machine cannot make the locale de_DE";
  EXPECT_EQ(before, 0) << "the locale has a comma";
}

}  // namespace
}  // namespace pipescope::gui

// Tests colours of both themes, and icons.
#include <QDir>
#include <QLabel>
#include <algorithm>
#include <array>
#include <cmath>

#include "views/shell/look/icons.h"
#include "views/shell/sidebar.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

TEST_F(WindowTest, ThemesReachTheCanvas) {
  open(ProfileFixture().profile(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  const auto corner = [&] {
    const QImage image = canvas->viewport()->grab().toImage();
    return image.pixelColor(image.width() - 3, image.height() - 3);
  };
  EXPECT_EQ(corner(), palette->ui(shell::Ui::surface));
  palette->setTheme(shell::Theme::dark);
  EXPECT_EQ(corner(), palette->ui(shell::Ui::surface));
  EXPECT_LT(corner().lightness(), 64);
}

TEST_F(WindowTest, ThemesReachEveryLabel) {
  palette->setTheme(shell::Theme::light);
  open(ProfileFixture().profile(), QStringLiteral("summary"));
  for (const shell::Theme theme : {shell::Theme::dark, shell::Theme::light}) {
    palette->setTheme(theme);
    QCoreApplication::processEvents();
    int quiet = 0;
    for (const QLabel* label : window->findChildren<QLabel*>()) {
      if (label->text().isEmpty()) continue;
      const QColor colour = label->palette().color(QPalette::WindowText);
      const bool known = colour == palette->ui(shell::Ui::text) || colour == palette->ui(shell::Ui::muted);
      EXPECT_TRUE(known) << label->text().toStdString() << ": " << colour.name().toStdString();
      quiet += colour == palette->ui(shell::Ui::muted) ? 1 : 0;
    }
    EXPECT_GT(quiet, 4);
  }
}

double luminance(const QColor& colour) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double high = std::max(luminance(a), luminance(b)), low = std::min(luminance(a), luminance(b));
  return (high + 0.05) / (low + 0.05);
}

TEST(Theme, ScrollBarsAreSeen) {
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    EXPECT_GE(contrast(palette.scrollHandle(), palette.ui(shell::Ui::raised)), 3);
    EXPECT_TRUE(palette.styleSheet().contains(palette.scrollHandle().name()));
  }
}

TEST(Theme, BarsBesideFiguresAreSeen) {
  using shell::Ui;
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::surface)), 3);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::grid)), 2);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::selection)), 2);
  }
}

TEST(Theme, TextIsReadable) {
  using shell::Ui;
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const Ui ground : {Ui::window, Ui::surface, Ui::raised, Ui::sidebar}) {
      for (const Ui text : {Ui::text, Ui::muted, Ui::link, Ui::good, Ui::warning, Ui::error}) {
        EXPECT_GE(contrast(palette.ui(text), palette.ui(ground)), 4.5)
            << static_cast<int>(theme) << " " << static_cast<int>(text) << " on " << static_cast<int>(ground);
      }
    }
    EXPECT_GE(contrast(palette.ui(Ui::text), palette.ui(Ui::selection)), 4.5);
    EXPECT_GE(contrast(palette.ui(Ui::accentText), palette.ui(Ui::accent)), 4.5);
    for (std::size_t i = 0; i < geometry::kColourRoles; ++i) {
      const auto role = static_cast<geometry::ColourRole>(i);
      const QColor colour = palette.colour(role);
      EXPECT_GE(contrast(shell::Palette::textOn(colour), colour), 4.5) << geometry::roleKey(role);
      EXPECT_GE(contrast(shell::Palette::textOn(palette.hatchGround(role)), palette.hatchGround(role)), 4.5)
          << geometry::roleKey(role);
    }
  }
}

/// The CIELAB coordinates of a colour as a person with one kind of colour blindness sees it. `eye` transforms
/// linear red, green and blue (Machado, Oliveira, Fernandes 2009, severity 1).
std::array<double, 3> seen(const QColor& colour, const std::array<std::array<double, 3>, 3>& eye) {
  std::array<double, 3> light{}, mixed{};
  const std::array<double, 3> given = {colour.redF(), colour.greenF(), colour.blueF()};
  for (std::size_t i = 0; i < 3; ++i)
    light[i] = given[i] <= 0.04045 ? given[i] / 12.92 : std::pow((given[i] + 0.055) / 1.055, 2.4);
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = std::clamp(eye[i][0] * light[0] + eye[i][1] * light[1] + eye[i][2] * light[2], 0.0, 1.0);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * mixed[0] + 0.3576 * mixed[1] + 0.1805 * mixed[2]) / 0.9505),
               y = f(0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]),
               z = f((0.0193 * mixed[0] + 0.1192 * mixed[1] + 0.9505 * mixed[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(Theme, WhatIsShownTogetherIsToldApartByColourBlindEyes) {
  using Role = geometry::ColourRole;
  const std::vector<std::vector<Role>> together = {
      {Role::forward, Role::recompute, Role::backward, Role::weightGradient, Role::update, Role::hostIn,
       Role::exchange},
      {Role::compute, Role::exchange, Role::sync, Role::globalExchange, Role::streamCopy, Role::remoteCopy},
      {Role::lostUseful, Role::lostFill, Role::lostImbalance, Role::lostExchange}};
  const std::array<std::array<std::array<double, 3>, 3>, 3> eyes = {
      {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
       {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
       {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}}};
  shell::Palette palette;
  palette.setSafe(true);
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const auto& eye : eyes) {
      for (const auto& set : together) {
        for (std::size_t a = 0; a < set.size(); ++a) {
          for (std::size_t b = 0; b < a; ++b) {
            const auto one = seen(palette.colour(set[a]), eye), other = seen(palette.colour(set[b]), eye);
            const double apart = std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
            EXPECT_GT(apart, 15) << geometry::roleKey(set[a]) << " and " << geometry::roleKey(set[b]);
          }
        }
      }
    }
  }
}

TEST(Theme, ColoursOfOneLegendAreToldApart) {
  using Role = geometry::ColourRole;
  const auto range = [](Role first, Role last) {
    std::vector<Role> roles;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
      roles.push_back(static_cast<Role>(i));
    return roles;
  };
  auto waitsAndCopies = range(Role::waitFill, Role::otherWait);  // one beside the other in a pipeline
  waitsAndCopies.push_back(Role::hostOut);
  const std::array<std::array<double, 3>, 3> eye = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const auto& set :
         {range(Role::compute, Role::otherKind), range(Role::forward, Role::otherPass), waitsAndCopies,
          range(Role::activation, Role::otherTransfer), range(Role::series, Role::seriesEnd),
          range(Role::lostUseful, Role::lostExchange)}) {
      for (std::size_t a = 0; a < set.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const auto one = seen(palette.colour(set[a]), eye), other = seen(palette.colour(set[b]), eye);
          const double apart = std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
          EXPECT_GT(apart, 15) << geometry::roleKey(set[a]) << " and " << geometry::roleKey(set[b]);
        }
      }
    }
  }
}

TEST(Theme, NamesOfThemes) {
  for (const shell::Theme theme : {shell::Theme::system, shell::Theme::light, shell::Theme::dark})
    EXPECT_EQ(shell::themeFromName(shell::themeName(theme)), theme);
  EXPECT_EQ(shell::themeFromName(QStringLiteral("pink")), shell::Theme::system);
}

TEST(Icons, AllCanBeRead) {
  const QDir folder(QStringLiteral(PIPESCOPE_SOURCE_DIR "/resources/icons"));
  const QStringList files = folder.entryList({QStringLiteral("*.svg")});
  EXPECT_GE(files.size(), 15);
  for (const QString& file : files) {
    const QPainterPath path = shell::iconPath(QString(file).chopped(4));
    EXPECT_FALSE(path.isEmpty()) << file.toStdString();
    const QRectF box = path.boundingRect();  // the height is 0 if all lines are horizontal
    EXPECT_TRUE(box.left() >= 0 && box.top() >= 0 && box.right() <= 24 && box.bottom() <= 24)
        << file.toStdString();
  }
  EXPECT_TRUE(shell::iconPath(QStringLiteral("nothing")).isEmpty());
}

TEST(Icons, PathData) {
  const QPainterPath line = shell::parsePathData(QStringLiteral("M1 2l3 4H10v-1"));
  EXPECT_EQ(line.elementCount(), 4);
  EXPECT_EQ(line.currentPosition(), QPointF(10, 5));
  const QPainterPath circle = shell::parsePathData(QStringLiteral("M12 3a9 9 0 0 1 0 18a9 9 0 0 1 0 -18z"));
  EXPECT_NEAR(circle.boundingRect().width(), 18, 0.01);
  EXPECT_NEAR(circle.boundingRect().center().y(), 12, 0.01);
  for (const char* bad : {"M1", "L", "M1 2 Q 3 4", "5 6", "M1 2 C 1 2 3"})
    EXPECT_TRUE(shell::parsePathData(QLatin1String(bad)).isEmpty()) << bad;
}

}  // namespace
}  // namespace pipescope::testing

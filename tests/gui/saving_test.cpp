// Tests pictures and tables that are saved as files.
#include <QApplication>
#include <QBuffer>
#include <QFile>
#include <QFileDialog>
#include <QImageReader>
#include <QMenu>
#include <QMessageBox>
#include <QTemporaryDir>
#include <QTimer>

#include "feature_test.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/look/picture.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::TimelineCanvas;

TEST_F(FeatureTest, PicturesShowTheVisiblePartOrTheWholeChart) {
  openPage(QStringLiteral("trace"));
  window->resize(1200, 520);
  ASSERT_TRUE(settle());
  auto* canvas = child<TimelineCanvas>();
  ASSERT_GT(canvas->verticalScrollBar()->maximum(), 50) << "not all rows are visible";
  const geometry::TimeView view = window->timeRange().view();
  const QSize size = canvas->size();
  const shell::Picture shown = window->currentPage()->picture();
  const auto drawing = [&](bool whole) { return drawnAs(shown, whole, QStringLiteral("caption"), "x.svg"); };
  const QByteArray visible = drawing(false), all = drawing(true);
  EXPECT_TRUE(visible.contains("IPU0"));
  EXPECT_FALSE(visible.contains("IPU3"));
  for (const char* device : {"IPU0", "IPU1", "IPU2", "IPU3"}) EXPECT_TRUE(all.contains(device)) << device;
  EXPECT_TRUE(all.contains("iteration 3")) << "the whole time";
  const auto titleOf = [](const QByteArray& svg) {
    const auto from = svg.indexOf("<title>") + 7;
    return QString::fromUtf8(svg.mid(from, svg.indexOf("</title>") - from));
  };
  EXPECT_EQ(titleOf(visible), QStringLiteral("Trace, Call 3 (last), Iteration 0 of 0–3"));
  EXPECT_EQ(titleOf(all), QStringLiteral("Trace, Call 3 (last)"));
  for (const QByteArray& one : {visible, all}) EXPECT_TRUE(one.contains("slower stage")) << "the legend";
  EXPECT_EQ(window->timeRange().view(), view) << "the window is as before";
  EXPECT_EQ(canvas->size(), size);
  EXPECT_EQ(canvas->verticalScrollBarPolicy(), Qt::ScrollBarAsNeeded);
  showPage(QStringLiteral("pipeline"));
  const QImage pipeline = QImage::fromData(
      drawnAs(window->currentPage()->picture(), true, QStringLiteral("caption"), "x.png"), "PNG");
  EXPECT_FALSE(pipeline.isNull());
  EXPECT_EQ(pipeline.text(QStringLiteral("Title")),
            QStringLiteral("Pipeline, Call 3 (last), Iteration 0 of 0–3"));
  showPage(QStringLiteral("memory"));
  auto* chart = child<pages::Chart>();
  chart->setRange(10, 100);
  drawnAs(window->currentPage()->picture(), true, QStringLiteral("caption"), "x.png");
  EXPECT_EQ(chart->range(), std::pair(10.0, 100.0));
}

TEST_F(FeatureTest, TablesBecomeCsv) {
  openPage(QStringLiteral("system"));
  DataTable* links = table(QStringLiteral("Links"));
  const QString csv = links->csv();
  EXPECT_TRUE(csv.startsWith(QStringLiteral("From,To,Link,"))) << csv.toStdString();
  EXPECT_EQ(csv.count(QLatin1Char('\n')), 9);
  std::unique_ptr<QMenu> menu(links->makeMenu());
  for (QAction* entry : menu->actions()) {
    if (entry->text() == QStringLiteral("From")) entry->setChecked(false);
  }
  EXPECT_TRUE(links->csv().startsWith(QStringLiteral("To,Link,")));
  EXPECT_TRUE(csv.contains(QStringLiteral(" (B)"))) << csv.toStdString();
  links->filter()->setText(QStringLiteral("IPU3"));
  EXPECT_EQ(links->csv().count(QLatin1Char('\n')), 4);
  // Numbers have the digits that reports give them.
  DataTable own(*palette, nullptr);
  own.setTable(
      {"t",
       "T",
       "",
       {{"cycles", "Cycles", sections::Format::ticks}, {"share", "Share", sections::Format::fraction}},
       {{12337.00000000002, 1.0 / 3}, {std::int64_t{9'007'199'254'740'993}, 0.5}}});
  EXPECT_EQ(own.csv().toStdString(),
            "Cycles (ticks),Share (0 … 1)\n12337,0.333333333333\n9007199254740993,0.5\n");
}

TEST_F(FeatureTest, PicturesSayWhatTheyAreOf) {
  openPage(QStringLiteral("trace"));
  const QString caption = shell::provenance(window->session());
  EXPECT_TRUE(caption.startsWith(QStringLiteral("Emulated · device model"))) << caption.toStdString();
  const shell::Picture shown = window->currentPage()->picture();
  const QByteArray svg = drawnAs(shown, false, caption, "x.svg");
  EXPECT_TRUE(svg.contains("<svg"));
  EXPECT_TRUE(svg.contains(caption.toUtf8()));
  EXPECT_FALSE(svg.contains("<image")) << "drawn as vectors";
  EXPECT_TRUE(svg.contains("Trace, Call 3 (last), Iteration 0 of 0")) << "the title";
  const QByteArray png = drawnAs(shown, false, caption, "x.png");
  const QImage image = QImage::fromData(png, "PNG");
  EXPECT_EQ(image.width(), 2 * shown.widget->width());
  EXPECT_EQ(image.text(QStringLiteral("Description")), caption);
  EXPECT_FALSE(shell::writeFile(QStringLiteral("/nowhere/picture.png"), png, base::FileKind::png).ok());
}

TEST_F(FeatureTest, APictureHasTheFormatThatItsNameAsksFor) {
  openPage(QStringLiteral("trace"));
  const shell::Picture shown = window->currentPage()->picture();
  for (const auto& [name, format] : {std::pair("a.png", "png"), std::pair("a.jpg", "jpeg"),
                                     std::pair("a b.JPEG", "jpeg"), std::pair("a.png.bmp", "bmp")}) {
    QByteArray bytes = drawnAs(shown, false, QStringLiteral("caption"), name);
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::ReadOnly);
    EXPECT_EQ(QImageReader::imageFormat(&buffer), QByteArray(format)) << name;
    EXPECT_EQ(QImage::fromData(bytes).width(), 2 * shown.widget->width()) << name;
  }
  EXPECT_TRUE(drawnAs(shown, false, QStringLiteral("caption"), "a.Svg").contains("<svg"));
  for (const char* name : {"a.gif", "png", "a.png.", ".svg/a"}) {
    const auto refused = shell::pictureFormatOf(QLatin1String(name), true);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().message, std::string(name) +
                                           " does not end like a picture that can be written: choose a name "
                                           "that ends in .png, .jpg, .jpeg, .bmp or .svg.");
  }
}

TEST_F(FeatureTest, PicturesAndTablesReplaceOnlyFilesOfTheirKind) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("saved"));
  const auto content = [&] {
    QFile file(path);
    file.open(QIODevice::ReadOnly);
    return file.readAll();
  };
  const QByteArray table = "Stage,Share\n0,0.5\n", drawing = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
  ASSERT_TRUE(shell::writeFile(path, table, base::FileKind::csv).ok());
  const base::Status refused = shell::writeFile(path, drawing, base::FileKind::svg);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, path.toStdString() +
                                         " exists and is not an SVG drawing; it is left "
                                         "untouched. Choose another name.");
  EXPECT_EQ(content(), table);
  EXPECT_TRUE(shell::writeFile(path, "A,B\n1,2\n", base::FileKind::csv).ok());
  EXPECT_EQ(content(), "A,B\n1,2\n");
}

/// Clicks in real dialogs. A refusal is a message, which this closes and keeps.
TEST_F(FeatureTest, DialogsSaveTablesAndPicturesAndLeaveOtherFilesAlone) {
  openPage(QStringLiteral("system"));
  const QTemporaryDir folder;
  QStringList refusals;
  QTimer closer;
  QObject::connect(&closer, &QTimer::timeout, [&] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    if (box == nullptr) return;
    refusals << box->text();
    box->accept();
  });
  closer.start(10);
  const auto saveAs = [&](const QString& name) {
    auto* dialog = window->findChild<QFileDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->setOption(QFileDialog::DontConfirmOverwrite);
    dialog->setDirectory(folder.path());
    dialog->selectFile(name);
    ASSERT_TRUE(QMetaObject::invokeMethod(dialog, "accept"));
    const auto closed = [&] { return window->findChild<QFileDialog*>() == nullptr; };
    ASSERT_TRUE(waitFor(closed)) << name.toStdString();
  };
  const auto saveTable = [&](const QString& name) {
    std::unique_ptr<QMenu> menu(table(QStringLiteral("Links"))->makeMenu());
    for (QAction* entry : menu->actions()) {
      if (entry->text() == QStringLiteral("Save as CSV…")) entry->trigger();
    }
    saveAs(name);
  };
  const auto content = [&](const QString& name) {
    QFile file(folder.filePath(name));
    file.open(QIODevice::ReadOnly);
    return file.readAll();
  };
  const auto saved = [&](const QString& name) {
    return waitFor([&] { return window->savedNotice()->text().contains(name); });
  };
  saveTable(QStringLiteral("links.csv"));
  EXPECT_TRUE(saved(QStringLiteral("links.csv")));
  EXPECT_EQ(content(QStringLiteral("links.csv")), table(QStringLiteral("Links"))->csv().toUtf8());

  ASSERT_TRUE(
      shell::writeFile(folder.filePath(QStringLiteral("notes.txt")), "<svg/>", base::FileKind::svg).ok());
  saveTable(QStringLiteral("notes.txt"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 1; }));
  EXPECT_TRUE(
      refusals[0].contains(QStringLiteral("is not a table of comma-separated values; it is left untouched")));
  EXPECT_EQ(content(QStringLiteral("notes.txt")), "<svg/>");

  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("system.png"));
  EXPECT_TRUE(saved(QStringLiteral("system.png")));
  EXPECT_TRUE(content(QStringLiteral("system.png")).startsWith("\x89PNG"));
  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("links.csv"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 2; }));
  EXPECT_TRUE(refusals[1].contains(QStringLiteral("links.csv does not end like a picture")));
  EXPECT_TRUE(content(QStringLiteral("links.csv")).startsWith("From,To"));

  saveTable(QStringLiteral("links.jpg"));
  EXPECT_TRUE(saved(QStringLiteral("links.jpg")));
  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("links.jpg"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 3; }));
  EXPECT_TRUE(refusals[2].contains(QStringLiteral("links.jpg exists and is not a JPEG picture")));
  EXPECT_TRUE(content(QStringLiteral("links.jpg")).startsWith("From,To"));
}

}  // namespace
}  // namespace pipescope::testing

#include "views/pages/parts/charts/dot_layout.h"

#include <QProcess>
#include <QStandardPaths>
#include <algorithm>
#include <cmath>
#include <map>

namespace pipescope::pages {
namespace {

using geometry::Box;
using geometry::GraphArc;
using geometry::GraphLayout;
using geometry::GraphSize;

constexpr double kPointsPerInch = 72;  ///< a pixel of the drawing is a point of dot

QByteArray dotText(const std::vector<GraphSize>& nodes, const std::vector<GraphArc>& arcs) {
  QByteArray text = "digraph g { rankdir=TB; nodesep=0.36; ranksep=0.64; edge [arrowhead=none];\n";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    text += QStringLiteral("n%1 [shape=box fixedsize=true label=\"\" width=%2 height=%3];\n")
                .arg(i)
                .arg(nodes[i].width / kPointsPerInch)
                .arg(nodes[i].height / kPointsPerInch)
                .toLatin1();
  for (const GraphArc& arc : arcs) {
    if (arc.from != arc.to) text += QStringLiteral("n%1 -> n%2;\n").arg(arc.from).arg(arc.to).toLatin1();
  }
  return text + "}\n";
}

/// Reads the format "plain": inches, counted upwards from the lower left corner.
class PlainReader {
 public:
  PlainReader(const std::vector<GraphSize>& nodes, const std::vector<GraphArc>& arcs) : nodes_(nodes) {
    layout_.boxes.resize(nodes.size());
    layout_.arcs.resize(arcs.size());
    for (std::size_t a = 0; a < arcs.size(); ++a) index_[{arcs[a].from, arcs[a].to}] = a;
  }

  std::optional<GraphLayout> read(const QByteArray& text) {
    for (const QByteArray& line : text.split('\n')) {
      const QList<QByteArray> words = line.simplified().split(' ');
      const bool read = words[0] == "graph"  ? graph(words)
                        : words[0] == "node" ? node(words)
                        : words[0] == "edge" ? edge(words)
                                             : true;
      if (!read) return std::nullopt;
    }
    if (placed_ != nodes_.size()) return std::nullopt;
    return std::move(layout_);
  }

 private:
  static std::optional<double> number(const QByteArray& word) {
    bool good = false;
    const double value = word.toDouble(&good);
    constexpr double kMost = 1e5;
    return good && std::abs(value) < kMost ? std::optional(value) : std::nullopt;
  }
  static std::optional<std::size_t> nodeOf(const QByteArray& word) {
    bool good = false;
    const qulonglong index = word.mid(1).toULongLong(&good);
    return good && word.startsWith('n') ? std::optional(static_cast<std::size_t>(index)) : std::nullopt;
  }
  static int pixels(double inches) { return static_cast<int>(std::lround(inches * kPointsPerInch)); }

  bool graph(const QList<QByteArray>& words) {
    if (words.size() < 4) return false;
    const auto width = number(words[2]), height = number(words[3]);
    if (!width || !height) return false;
    layout_.width = pixels(*width);
    layout_.height = pixels(*height);
    return true;
  }

  bool node(const QList<QByteArray>& words) {
    if (words.size() < 4) return false;
    const auto index = nodeOf(words[1]);
    const auto x = number(words[2]), y = number(words[3]);
    if (!index || *index >= nodes_.size() || !x || !y) return false;
    const GraphSize& size = nodes_[*index];
    layout_.boxes[*index] = {pixels(*x) - size.width / 2, layout_.height - pixels(*y) - size.height / 2,
                             size.width, size.height};
    ++placed_;
    return true;
  }

  /// The points on the curve are every third one; the others are its control points.
  bool edge(const QList<QByteArray>& words) {
    if (words.size() < 4) return false;
    const auto from = nodeOf(words[1]), to = nodeOf(words[2]);
    const int count = words[3].toInt();
    if (!from || !to || count < 2 || words.size() < 4 + 2 * count) return false;
    const auto arc = index_.find({*from, *to});
    if (arc == index_.end()) return false;
    auto& points = layout_.arcs[arc->second];
    for (int i = 0; i < count; i += 3) {
      const auto x = number(words[4 + 2 * i]), y = number(words[5 + 2 * i]);
      if (!x || !y) return false;
      points.emplace_back(pixels(*x), layout_.height - pixels(*y));
    }
    return true;
  }

  const std::vector<GraphSize>& nodes_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> index_;
  GraphLayout layout_;
  std::size_t placed_ = 0;
};

}  // namespace

QString dotProgram() {
  return QStandardPaths::findExecutable(QStringLiteral("dot"));
}

std::optional<GraphLayout> dotLayout(const QString& program, const std::vector<GraphSize>& nodes,
                                     const std::vector<GraphArc>& arcs, int milliseconds) {
  if (program.isEmpty() || nodes.empty()) return std::nullopt;
  QProcess dot;
  dot.setStandardErrorFile(QProcess::nullDevice());
  dot.start(program, {QStringLiteral("-Tplain")});
  if (!dot.waitForStarted(milliseconds)) return std::nullopt;
  dot.write(dotText(nodes, arcs));
  dot.closeWriteChannel();
  if (!dot.waitForFinished(milliseconds)) {
    dot.kill();
    dot.waitForFinished();
    return std::nullopt;
  }
  if (dot.exitStatus() != QProcess::NormalExit || dot.exitCode() != 0) return std::nullopt;
  return PlainReader(nodes, arcs).read(dot.readAllStandardOutput());
}

}  // namespace pipescope::pages

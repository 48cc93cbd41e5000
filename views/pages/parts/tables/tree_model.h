#pragma once
#include <QAbstractItemModel>
#include <QPixmap>
#include <memory>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// Properties that a tree needs to know of its rows. A worker finds those of a long tree.
struct TreeShape {
  std::vector<std::vector<int>> children;  ///< children of each row
  std::vector<int> roots, places;          ///< places: the position of each row among its siblings
  std::vector<int> byDepth;                ///< number of rows of each depth
  std::vector<bool> numbers, used;         ///< columns that hold a number, and columns that hold anything
  std::vector<int> largest;                ///< row with the largest number of each column; −1: no rows
};

/// Rows of a table as a tree.
struct TreeRows {
  sections::SectionTable table;  ///< the first column has the names
  std::vector<int> parents;  ///< row above each row in the tree; −1: none. A parent precedes its children
  std::vector<int> sources;  ///< row of the table that each row was made from; −1: made for the tree, −2:
                             ///< only the other profile of a comparison has it
  std::shared_ptr<const TreeShape> shape = {};  ///< null: withShape() finds it
};
/// Number of the picture of each row.
using RowMarks = std::shared_ptr<const std::vector<int>>;
std::shared_ptr<const TreeShape> shapeOf(const TreeRows& rows);
/// The rows with their shape.
std::shared_ptr<const TreeRows> withShape(TreeRows rows);

/// Arranges rows by the parts of their name path: "layer1/conv" lies below "layer1". Rows that are made for
/// the tree have the sums of the amounts, bytes, counts, times and shares below them.
TreeRows treeOfPaths(sections::SectionTable table);

/// Folds rows of the same kind whose names differ only in numbers, such as those of the equal layers of a
/// model: "layer*/conv × 12" holds "layer1/conv" to "layer12/conv" and has their sums, and what is equal in
/// all of them. The largest come first, by the first column of times.
TreeRows treeOfEqualLayers(sections::SectionTable table);

/// Number of layers of a table from which they are shown as folded before users choose.
constexpr int kManyEqualLayers = 8;
/// Says how far treeOfEqualLayers() folds a table.
struct Folding {
  int largest = 1;  ///< rows of the largest group; 1: nothing folds
  int equal = 1;    ///< the largest number of rows of a group that take equally long, within a fiftieth
};
Folding foldingOf(const sections::SectionTable& table);

/// The tree of the target with the figures of the source's (sections::withSource). Rows are matched by the
/// path of their names; those that only the source has come last.
TreeRows treeWithSource(const TreeRows& target, const TreeRows& source, double ticks);

/// The rows as a Qt model. The roles are those of SectionTableModel.
class TreeModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  using QAbstractItemModel::QAbstractItemModel;
  /// The rows have their shape. `sameMarks`: they are the rows before, with others after them.
  void setRows(std::shared_ptr<const TreeRows> rows, double ticksPerShownUnit = 1, bool sameMarks = false);
  /// Sets the pictures, and which of them each row has. Views must be painted again.
  void setMarks(std::vector<QPixmap> pictures, RowMarks marks);
  const TreeRows& rows() const { return *rows_; }
  const TreeShape& shape() const { return *rows_->shape; }
  int rowOf(const QModelIndex& index) const { return static_cast<int>(index.internalId()); }
  QModelIndex indexOf(int row, int column = 0) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const std::vector<int>& childrenOf(const QModelIndex& parent) const;

  std::shared_ptr<const TreeRows> rows_ = withShape({});
  std::vector<QPixmap> pictures_;
  RowMarks marks_;  ///< null: rows have no pictures
  double ticksPerShownUnit_ = 1;
  std::vector<int> decimals_;  ///< of the numbers of each column
};

}  // namespace pipescope::pages

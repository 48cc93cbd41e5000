#pragma once
// Predicts integer columns from other columns of the block. For example, the next row of a lane starts where
// its last row ended, and a program takes about as long as it took last time. Only the difference is stored.
// README.md describes the layout.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/model/columns.h"
#include "profiler/store/blocks/column_codec.h"

namespace pipescope::store {

/// Prediction of `column`. Columns are given by their place in the row; kNone means that the column is not
/// used. Let x = value − value of `base`. Without `length`, x is expected to equal the x of the last row with
/// the same `key`. With `length`, it is expected to equal that x plus the length in that row. If the length
/// column has a base itself, its value is taken without that base.
struct ColumnPrediction {
  static constexpr std::uint8_t kNone = 255;
  std::uint8_t column = 0, key = kNone, base = kNone, length = kNone;
  friend bool operator==(const ColumnPrediction&, const ColumnPrediction&) = default;
};

/// Expectations of several blocks about keys before their first row: x by key, for the prediction of
/// `column`.
struct Priors {
  std::uint8_t column = 0;
  std::vector<std::int64_t> keys;  ///< ascending, each once
  std::vector<std::int64_t> values;
};

/// The predictions that may pay off for a table, by the names of its columns. The writer tries them on a
/// sample.
std::vector<ColumnPrediction> predictionsFor(const std::vector<model::Column>& columns);

/// True if the x of a key probably stays the same from one block to another.
inline bool mayHavePriors(const ColumnPrediction& prediction) {
  return prediction.key != ColumnPrediction::kNone && prediction.length == ColumnPrediction::kNone;
}
/// Returns the last x of every key in these rows. `prediction` must be one that may have priors.
Priors priorsOf(const std::vector<ColumnData>& columns, std::size_t rows, const ColumnPrediction& prediction);

/// Computes the differences of all rows. `others` are the other predicted columns of the block; `priors` are
/// those of all columns.
void residualsOf(const std::vector<ColumnData>& columns, std::size_t rows, const ColumnPrediction& prediction,
                 const std::vector<ColumnPrediction>& others, std::span<const Priors> priors,
                 std::vector<std::int64_t>& residuals);

/// Turns differences back into values, in place. `predicted` are the columns that hold differences. Returns
/// false if a column does not exist, is not an integer column, or if columns predict each other in a circle.
bool resolvePredictions(std::vector<ColumnData>& columns, std::size_t rows,
                        const std::vector<ColumnPrediction>& predicted, std::span<const Priors> priors = {});

}  // namespace pipescope::store

#pragma once
// Integer columns that other columns of their block foretell: a lane's next start is where its last row
// ended, a program takes about as long as it took last time. What is stored is the difference. Layout:
// README.md.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/model/columns.h"
#include "profiler/store/column_codec.h"

namespace pipescope::store {

/// How `column` is foretold; columns by their place in the row, kNone: not used. With x = value − value of
/// `base`: without `length`, x is expected to be what it was in the last row with the same `key`; with
/// `length`, to be that row's x plus its `length` (of a column with a base of its own: without that base).
struct Prediction {
  static constexpr std::uint8_t kNone = 255;
  std::uint8_t column = 0, key = kNone, base = kNone, length = kNone;
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// What is expected of keys before a block's first row, where several blocks share that: x by key, of the
/// prediction of `column`.
struct Priors {
  std::uint8_t column = 0;
  std::vector<std::int64_t> keys;  ///< ascending, each once
  std::vector<std::int64_t> values;
};

/// What may pay off for a table, by the names of its columns; the writer tries it on a sample.
std::vector<Prediction> predictionsFor(const std::vector<model::Column>& columns);

/// True where a key is likely to go on in one block as it did in another: it is expected to be what it was.
inline bool mayHavePriors(const Prediction& prediction) {
  return prediction.key != Prediction::kNone && prediction.length == Prediction::kNone;
}
/// What these rows leave behind: the last x of every key. `prediction`: one that may have priors.
Priors priorsOf(const std::vector<ColumnData>& columns, std::size_t rows, const Prediction& prediction);

/// The differences, for all rows. `others`: what else of the block is stored as differences. `priors`: of all
/// columns.
void residualsOf(const std::vector<ColumnData>& columns, std::size_t rows, const Prediction& prediction,
                 const std::vector<Prediction>& others, std::span<const Priors> priors,
                 std::vector<std::int64_t>& residuals);

/// Turns differences back into values, in place. `predicted`: the columns that hold differences. False:
/// columns that do not exist, are no integers, or foretell each other in a circle.
bool resolvePredictions(std::vector<ColumnData>& columns, std::size_t rows,
                        const std::vector<Prediction>& predicted, std::span<const Priors> priors = {});

}  // namespace pipescope::store

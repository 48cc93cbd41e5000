#include "profiler/store/blocks/column_prediction.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "profiler/base/wrapping.h"

namespace pipescope::store {
namespace {

using base::wrappedDifference;
using base::wrappedSum;
using Values = std::vector<std::int64_t>;

/// Value that is expected next of a key. A key that was not seen before is expected to continue the previous
/// row.
struct Place {
  std::int64_t value = 0;
  bool seen = false;
};

/// The index of a key among the priors, or the index at which it would be.
std::size_t placeIn(const Priors& priors, std::int64_t key) {
  return static_cast<std::size_t>(std::lower_bound(priors.keys.begin(), priors.keys.end(), key) -
                                  priors.keys.begin());
}
Place priorOf(const Priors* priors, std::int64_t key) {
  if (priors == nullptr) return {};
  const std::size_t at = placeIn(*priors, key);
  return at < priors->keys.size() && priors->keys[at] == key ? Place{priors->values[at], true} : Place();
}

struct OnePlace {
  Place place;
  Place& of(std::size_t) { return place; }
};
struct DensePlaces {
  const std::int64_t* keys;
  std::int64_t smallest;
  std::span<Place> places;
  Place& of(std::size_t row) {
    return places[static_cast<std::size_t>(wrappedDifference(keys[row], smallest))];
  }
};
struct SparsePlaces {
  IntegerView keys;
  const Priors* priors;
  std::unordered_map<std::int64_t, Place> places;
  Place& of(std::size_t row) {
    const auto [place, added] = places.try_emplace(keys[row]);
    if (added) place->second = priorOf(priors, keys[row]);
    return place->second;
  }
};

// Most places per row. With more, clearing them takes longer than looking keys up.
constexpr std::uint64_t kPlacesPerRow = 4;

/// Calls body(places) with the container that suits the keys. No keys: one place for all rows. `priors` may
/// be null.
template <class Body>
void withPlaces(const ColumnData* keys, std::size_t rows, const Priors* priors, Body&& body) {
  if (keys == nullptr || keys->integers.empty()) return body(OnePlace());
  if (keys->constant) return body(OnePlace{priorOf(priors, keys->integers[0])});
  const auto [smallest, largest] = extremesOf(*keys);
  const auto span = static_cast<std::uint64_t>(wrappedDifference(largest, smallest));
  if (span == 0) return body(OnePlace{priorOf(priors, smallest)});
  if (span >= kPlacesPerRow * rows) return body(SparsePlaces{IntegerView(*keys), priors, {}});
  // The memory is used again, because new memory for a block costs as much as the block.
  thread_local std::vector<Place> places;
  places.assign(static_cast<std::size_t>(span) + 1, Place());
  if (priors != nullptr) {
    for (std::size_t i = placeIn(*priors, smallest); i < priors->keys.size() && priors->keys[i] <= largest;
         ++i)
      places[static_cast<std::size_t>(wrappedDifference(priors->keys[i], smallest))] = {priors->values[i],
                                                                                        true};
  }
  body(DensePlaces{keys->integers.data(), smallest, places});
}

const Priors* priorsFor(std::span<const Priors> all, const ColumnPrediction& prediction) {
  if (!mayHavePriors(prediction)) return nullptr;
  const auto found = std::ranges::find(all, prediction.column, &Priors::column);
  return found == all.end() ? nullptr : &*found;
}

const ColumnPrediction* find(const std::vector<ColumnPrediction>& all, std::size_t column) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ColumnPrediction& p) { return p.column == column; });
  return found == all.end() ? nullptr : &*found;
}

/// True if the column is predicted from stored values only. Such a column may be the key of another one.
bool isSimple(const std::vector<ColumnPrediction>& all, const ColumnPrediction& p) {
  return p.base == ColumnPrediction::kNone && p.length == ColumnPrediction::kNone &&
         (p.key == ColumnPrediction::kNone || find(all, p.key) == nullptr);
}

bool canResolve(const std::vector<ColumnData>& columns, const std::vector<ColumnPrediction>& all,
                const ColumnPrediction& p) {
  const auto isInteger = [&](std::size_t c) {
    return c < columns.size() && columns[c].type == model::ColumnType::integer;
  };
  if (!isInteger(p.column)) return false;
  if (p.key != ColumnPrediction::kNone) {
    const ColumnPrediction* key = find(all, p.key);
    if (!isInteger(p.key) || p.key == p.column || (key != nullptr && !isSimple(all, *key))) return false;
  }
  if (p.base != ColumnPrediction::kNone) {
    const ColumnPrediction* base = find(all, p.base);
    if (!isInteger(p.base) || p.base == p.column ||
        (base != nullptr && base->base != ColumnPrediction::kNone))
      return false;
  }
  if (p.length == ColumnPrediction::kNone) return true;
  const ColumnPrediction* length = find(all, p.length);
  return isInteger(p.length) && p.length != p.column &&
         (length == nullptr || length->length == ColumnPrediction::kNone);
}

/// Turns differences into x, in place. lengthOf(row) is the length of a row.
template <class Places, class LengthOf>
void addExpected(std::span<std::int64_t> values, Places& places, const LengthOf& lengthOf) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Place& place = places.of(i);
    if (!place.seen) place = {before, true};
    values[i] = wrappedSum(values[i], place.value);
    before = wrappedSum(values[i], lengthOf(i));
    place.value = before;
  }
}

/// `lengths` and `priors` may be null.
void addExpected(ColumnData& column, const ColumnData* keys, const ColumnData* lengths,
                 const Priors* priors) {
  withPlaces(keys, column.integers.size(), priors, [&](auto places) {
    const std::span<std::int64_t> values(column.integers);
    if (lengths == nullptr || lengths->constant) {
      addExpected(values, places,
                  [length = lengths == nullptr ? 0 : lengths->integers[0]](std::size_t) { return length; });
    } else {
      addExpected(values, places, [all = lengths->integers.data()](std::size_t row) { return all[row]; });
    }
  });
}

}  // namespace

std::vector<ColumnPrediction> predictionsFor(const std::vector<model::Column>& columns) {
  const auto place = [&](std::string_view name) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == name) return static_cast<std::uint8_t>(i);
    }
    return ColumnPrediction::kNone;
  };
  const auto firstOf = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (place(name) != ColumnPrediction::kNone) return place(name);
    }
    return ColumnPrediction::kNone;
  };
  std::vector<ColumnPrediction> all;
  const auto add = [&](std::string_view column, std::uint8_t key, std::uint8_t base, std::uint8_t length) {
    if (place(column) != ColumnPrediction::kNone) all.push_back({place(column), key, base, length});
  };
  const std::uint8_t none = ColumnPrediction::kNone;
  if (place("offset") != none) {
    add("program", place("lane"), none, none);
    add("offset", place("lane"), none, place("ticks"));
    add("ticks", place("program"), none, none);
    add("min_ticks", place("program"), none, none);
    add("max_ticks", none, place("ticks"), none);
    add("bytes_in", place("program"), none, none);
    add("bytes_out", none, place("bytes_in"), none);
  } else if (place("end") != none) {
    add("start", firstOf({"lane", "device", "from_lane"}), none, place("end"));
    add("end", firstOf({"segment", "link"}), place("start"), none);
    add("from_placement", firstOf({"from_lane"}), none, none);
    add("waited_for", firstOf({"device"}), none, none);
  } else if (place("time") != none) {
    add("time", place("counter"), none, none);
  }
  return all;
}

Priors priorsOf(const std::vector<ColumnData>& columns, std::size_t rows, const ColumnPrediction& p) {
  const ColumnData& keys = columns[p.key];
  const IntegerView keyOf(keys), values(columns[p.column]);
  const auto baseOf = [base = p.base == ColumnPrediction::kNone ? nullptr : &columns[p.base]](
                          std::size_t row) { return base == nullptr ? 0 : IntegerView(*base)[row]; };
  Priors priors{p.column, {}, {}};
  const auto add = [&](std::int64_t key, std::size_t row) {
    priors.keys.push_back(key);
    priors.values.push_back(wrappedDifference(values[row], baseOf(row)));
  };
  const auto [smallest, largest] = extremesOf(keys);
  const auto span = static_cast<std::uint64_t>(wrappedDifference(largest, smallest));
  if (span < kPlacesPerRow * rows) {
    std::vector<std::size_t> lastRow(static_cast<std::size_t>(span) + 1, rows);
    for (std::size_t i = 0; i < rows; ++i)
      lastRow[static_cast<std::size_t>(wrappedDifference(keyOf[i], smallest))] = i;
    for (std::size_t place = 0; place < lastRow.size(); ++place) {
      if (lastRow[place] < rows) add(wrappedSum(smallest, static_cast<std::int64_t>(place)), lastRow[place]);
    }
    return priors;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> all;
  for (std::size_t i = 0; i < rows; ++i) all.emplace_back(keyOf[i], i);
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == all.size() || all[i + 1].first != all[i].first) add(all[i].first, all[i].second);
  }
  return priors;
}

void residualsOf(const std::vector<ColumnData>& columns, std::size_t rows, const ColumnPrediction& p,
                 const std::vector<ColumnPrediction>& others, std::span<const Priors> priors,
                 std::vector<std::int64_t>& residuals) {
  static const Values kZero{0};
  const auto viewOf = [&](std::uint8_t c) {
    return c == ColumnPrediction::kNone ? IntegerView(kZero, true) : IntegerView(columns[c]);
  };
  const ColumnPrediction* length = find(others, p.length);
  const IntegerView values = viewOf(p.column), bases = viewOf(p.base), lengths = viewOf(p.length),
                    lengthBases = viewOf(length == nullptr ? ColumnPrediction::kNone : length->base);
  residuals.resize(rows);
  const ColumnData* keys = p.key == ColumnPrediction::kNone ? nullptr : &columns[p.key];
  withPlaces(keys, rows, priorsFor(priors, p), [&](auto places) {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      Place& place = places.of(i);
      const std::int64_t x = wrappedDifference(values[i], bases[i]);
      residuals[i] = wrappedDifference(x, place.seen ? place.value : before);
      before = wrappedDifference(wrappedSum(x, lengths[i]), lengthBases[i]);
      place = {before, true};
    }
  });
}

bool resolvePredictions(std::vector<ColumnData>& columns, std::size_t rows,
                        const std::vector<ColumnPrediction>& predicted, std::span<const Priors> priors) {
  for (const ColumnPrediction& p : predicted) {
    if (!canResolve(columns, predicted, p)) return false;
  }
  for (const ColumnPrediction& p : predicted) columns[p.column].spread(rows);
  const auto columnOf = [&](std::uint8_t c) { return c == ColumnPrediction::kNone ? nullptr : &columns[c]; };
  const auto turnOf = [&](const ColumnPrediction& p) {
    return p.length != ColumnPrediction::kNone ? 2 : isSimple(predicted, p) ? 0 : 1;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (const ColumnPrediction& p : predicted) {
      if (turnOf(p) != turn) continue;
      // A key already has its values here. Several columns may share it.
      if (p.key != ColumnPrediction::kNone && !columns[p.key].extremes)
        columns[p.key].extremes = extremesOf(columns[p.key]);
      addExpected(columns[p.column], columnOf(p.key), columnOf(p.length), priorsFor(priors, p));
    }
  }
  for (const ColumnPrediction& p : predicted) {
    if (p.base == ColumnPrediction::kNone) continue;
    Values& values = columns[p.column].integers;
    const IntegerView base(columns[p.base]);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = wrappedSum(values[i], base[i]);
  }
  return true;
}

}  // namespace pipescope::store

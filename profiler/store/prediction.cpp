#include "profiler/store/prediction.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace pipescope::store {
namespace {

using Values = std::vector<std::int64_t>;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// What is expected next of each key; a key that was not seen before is expected to go on as the row before.
class Expected {
 public:
  explicit Expected(const Values* keys) : keys_(keys) {
    if (keys == nullptr || keys->empty()) return;
    const auto [low, high] = std::minmax_element(keys->begin(), keys->end());
    smallest_ = *low;
    const auto span = static_cast<std::uint64_t>(minus(*high, *low));
    constexpr std::uint64_t kMostPlaces = 1 << 16;
    if (span < kMostPlaces) places_.resize(static_cast<std::size_t>(span) + 1);
  }

  std::int64_t of(std::size_t row) {
    place_ = &single_;
    if (keys_ != nullptr) {
      const std::int64_t key = (*keys_)[row];
      place_ = places_.empty() ? &others_[key] : &places_[static_cast<std::size_t>(minus(key, smallest_))];
    }
    return place_->seen ? place_->value : before_;
  }
  /// Of the row that was asked for last.
  void next(std::int64_t value) {
    *place_ = {value, true};
    before_ = value;
  }

 private:
  struct Place {
    std::int64_t value = 0;
    bool seen = false;
  };
  const Values* keys_;
  std::int64_t smallest_ = 0, before_ = 0;
  std::vector<Place> places_;
  std::unordered_map<std::int64_t, Place> others_;
  Place single_;
  Place* place_ = &single_;
};

const Prediction* find(const std::vector<Prediction>& all, std::size_t column) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Prediction& p) { return p.column == column; });
  return found == all.end() ? nullptr : &*found;
}

/// Foretold by values that are stored themselves: such a column may be the key of another.
bool isSimple(const std::vector<Prediction>& all, const Prediction& p) {
  return p.base == Prediction::kNone && p.length == Prediction::kNone &&
         (p.key == Prediction::kNone || find(all, p.key) == nullptr);
}

bool isPossible(const std::vector<ColumnData>& columns, const std::vector<Prediction>& all, const Prediction& p) {
  const auto isInteger = [&](std::size_t c) {
    return c < columns.size() && columns[c].type == model::ColumnType::integer;
  };
  if (!isInteger(p.column)) return false;
  if (p.key != Prediction::kNone) {
    const Prediction* key = find(all, p.key);
    if (!isInteger(p.key) || p.key == p.column || (key != nullptr && !isSimple(all, *key))) return false;
  }
  if (p.base != Prediction::kNone) {
    const Prediction* base = find(all, p.base);
    if (!isInteger(p.base) || p.base == p.column || (base != nullptr && base->base != Prediction::kNone))
      return false;
  }
  if (p.length == Prediction::kNone) return true;
  const Prediction* length = find(all, p.length);
  return isInteger(p.length) && p.length != p.column && (length == nullptr || length->length == Prediction::kNone);
}

/// Differences to x, in place.
void addExpected(Values& values, const Values* keys, const Values* lengths) {
  Expected expected(keys);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = plus(values[i], expected.of(i));
    expected.next(lengths == nullptr ? values[i] : plus(values[i], (*lengths)[i]));
  }
}

}  // namespace

std::vector<Prediction> predictionsFor(const std::vector<model::Column>& columns) {
  const auto place = [&](std::string_view name) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == name) return static_cast<std::uint8_t>(i);
    }
    return Prediction::kNone;
  };
  const auto firstOf = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (place(name) != Prediction::kNone) return place(name);
    }
    return Prediction::kNone;
  };
  std::vector<Prediction> all;
  const auto add = [&](std::string_view column, std::uint8_t key, std::uint8_t base, std::uint8_t length) {
    if (place(column) != Prediction::kNone) all.push_back({place(column), key, base, length});
  };
  const std::uint8_t none = Prediction::kNone;
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

std::vector<std::int64_t> residualsOf(const std::vector<ColumnData>& columns, const Prediction& p,
                                      const std::vector<Prediction>& others) {
  const auto valuesOf = [&](std::uint8_t c) { return c == Prediction::kNone ? nullptr : &columns[c].integers; };
  const Values &values = columns[p.column].integers, *base = valuesOf(p.base), *lengths = valuesOf(p.length);
  const Prediction* length = find(others, p.length);
  const Values* lengthBase = length == nullptr ? nullptr : valuesOf(length->base);
  Expected expected(valuesOf(p.key));
  Values residuals(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t x = base == nullptr ? values[i] : minus(values[i], (*base)[i]);
    residuals[i] = minus(x, expected.of(i));
    std::int64_t next = x;
    if (lengths != nullptr) next = plus(next, (*lengths)[i]);
    if (lengthBase != nullptr) next = minus(next, (*lengthBase)[i]);
    expected.next(next);
  }
  return residuals;
}

bool resolvePredictions(std::vector<ColumnData>& columns, const std::vector<Prediction>& predicted) {
  for (const Prediction& p : predicted) {
    if (!isPossible(columns, predicted, p)) return false;
  }
  const auto valuesOf = [&](std::uint8_t c) { return c == Prediction::kNone ? nullptr : &columns[c].integers; };
  const auto turnOf = [&](const Prediction& p) {
    return p.length != Prediction::kNone ? 2 : isSimple(predicted, p) ? 0 : 1;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (const Prediction& p : predicted) {
      if (turnOf(p) == turn) addExpected(columns[p.column].integers, valuesOf(p.key), valuesOf(p.length));
    }
  }
  for (const Prediction& p : predicted) {
    if (p.base == Prediction::kNone) continue;
    Values& values = columns[p.column].integers;
    const Values& base = columns[p.base].integers;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = plus(values[i], base[i]);
  }
  return true;
}

}  // namespace pipescope::store

#include "app/run/sweep/varied_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/plan/varied_values.h"
#include "engine/config/configuration_help.h"
#include "engine/config/suggestion.h"

namespace pipescope::app {
namespace {

using base::badInput;

std::string withoutBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

}  // namespace

base::Result<std::string> keyNamed(const config::KeyTable& keys, std::string_view word) {
  std::string flag(word);
  std::ranges::replace(flag, '_', '-');
  std::vector<const config::Key*> meant = config::keysMeant(keys, word);
  if (meant.size() != 1) {
    // A flag belongs to one key, even if several keys end with the same word.
    if (const auto flagged = config::keysMeant(keys, "--" + flag); flagged.size() == 1) meant = flagged;
  }
  if (meant.size() == 1 && meant.front()->path.find("[]") == std::string::npos) return meant.front()->path;
  if (meant.size() > 1) {
    return badInput(
        fmt::format("{} may mean {} or {}: write the whole key.", word, meant[0]->path, meant[1]->path));
  }
  if (meant.size() == 1) {
    return badInput(
        fmt::format("{} stands in an array of tables, so it has no single value: vary another key.",
                    meant.front()->path));
  }
  if (word.empty()) return badInput("The name of the key is missing.");
  const std::string near = config::nearest(word, keys.paths());
  return badInput(fmt::format("There is no key {}{}", word,
                              near.empty() ? "; `pipescope run --help-keys` lists all keys."
                                           : fmt::format("; did you mean {}?", near)));
}

base::Result<VariedKey> parseVaried(const config::KeyTable& keys, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return badInput(fmt::format("--vary takes KEY=A,B,C or KEY=1..64*2, but \"{}\" was given.", text));
  VariedKey varied;
  PIPESCOPE_ASSIGN(varied.key, keyNamed(keys, withoutBlanks(std::string_view(text).substr(0, equals))));
  PIPESCOPE_ASSIGN(varied.values, variedValues(text));
  config::Configuration trial(keys);
  for (std::size_t i = 0; i < varied.values.size(); ++i) {
    const std::string& value = varied.values[i];
    if (value.empty()) return badInput(fmt::format("--vary {}: a value is empty.", text));
    if (std::find(varied.values.begin(), varied.values.begin() + static_cast<std::ptrdiff_t>(i), value) !=
        varied.values.begin() + static_cast<std::ptrdiff_t>(i))
      return badInput(fmt::format("--vary {}: the value {} is given twice.", text, value));
    if (const base::Status set = trial.setText(varied.key, value, config::Origin::flag); !set.ok())
      return badInput(fmt::format("--vary {}: {}", text, set.error().message));
  }
  return varied;
}

base::Result<std::vector<VariedKey>> parseAllVaried(const config::KeyTable& keys,
                                                    const std::vector<std::string>& texts) {
  std::vector<VariedKey> all;
  for (const std::string& text : texts) {
    PIPESCOPE_ASSIGN(VariedKey varied, parseVaried(keys, text));
    if (std::ranges::find(all, varied.key, &VariedKey::key) != all.end())
      return badInput(fmt::format("--vary names {} twice: give all its values at once.", varied.key));
    all.push_back(std::move(varied));
  }
  return all;
}

base::Result<std::int64_t> countCombinations(const std::vector<VariedKey>& keys) {
  double exact = 1;
  std::string product;
  for (const VariedKey& key : keys) {
    exact *= static_cast<double>(key.values.size());
    product += fmt::format("{}{}", product.empty() ? "" : " × ", key.values.size());
  }
  if (exact <= static_cast<double>(kMostCombinations)) return static_cast<std::int64_t>(exact);
  return badInput(fmt::format(
      "There are {:.0f} combinations ({}), but a sweep takes at most {}: vary fewer keys, or fewer values.",
      exact, product, kMostCombinations));
}

std::vector<std::string> combination(const std::vector<VariedKey>& keys, std::int64_t index) {
  std::vector<std::string> values(keys.size());
  for (std::size_t i = keys.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(keys[i].values.size());
    values[i] = keys[i].values[static_cast<std::size_t>(index % count)];
    index /= count;
  }
  return values;
}

base::Result<config::Configuration> applyCombination(const config::Configuration& configuration,
                                                     const std::vector<VariedKey>& keys,
                                                     const std::vector<std::string>& values) {
  config::Configuration changed = configuration;
  for (std::size_t i = 0; i < keys.size(); ++i)
    PIPESCOPE_TRY(changed.setText(keys[i].key, values[i], config::Origin::flag));
  return changed;
}

}  // namespace pipescope::app

#include "profiler/base/short_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>

namespace pipescope::base {
namespace {

struct NamePart {
  std::string before;  ///< the separator before it
  std::vector<std::string> words;
  friend bool operator==(const NamePart&, const NamePart&) = default;
};

std::vector<std::string> wordsIn(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

constexpr std::array<std::string_view, 2> kSeparators = {", ", " · "};

std::vector<NamePart> partsOf(const std::string& name) {
  std::vector<NamePart> parts;
  std::string before;
  for (std::size_t at = 0; at <= name.size();) {
    std::size_t end = name.size();
    std::string_view next;
    for (const std::string_view separator : kSeparators) {
      const std::size_t found = name.find(separator, at);
      if (found < end) end = found, next = separator;
    }
    parts.push_back({before, wordsIn(name.substr(at, end - at))});
    before = next;
    if (next.empty()) break;
    at = end + next.size();
  }
  return parts;
}

using Names = std::vector<std::vector<NamePart>>;

/// Drops the words after the first one that are at the same place in this part of all names.
void dropCommonWords(Names& names, std::size_t part) {
  const std::vector<std::string> first = names.front()[part].words;
  const auto sameCount = [&](const auto& name) { return name[part].words.size() == first.size(); };
  if (!std::all_of(names.begin(), names.end(), sameCount)) return;
  for (std::size_t word = first.size(); word-- > 1;) {
    const auto same = [&](const auto& name) { return name[part].words[word] == first[word]; };
    if (!std::all_of(names.begin(), names.end(), same)) continue;
    for (auto& name : names)
      name[part].words.erase(name[part].words.begin() + static_cast<std::ptrdiff_t>(word));
  }
}

void dropCommonParts(Names& names) {
  for (std::size_t part = names.front().size(); part-- > 0;) {
    const NamePart first = names.front()[part];
    const bool common =
        std::all_of(names.begin(), names.end(), [&](const auto& name) { return name[part] == first; });
    if (!common) {
      dropCommonWords(names, part);
      continue;
    }
    for (auto& name : names) name.erase(name.begin() + static_cast<std::ptrdiff_t>(part));
  }
}

std::string joined(const std::vector<NamePart>& parts) {
  std::string name;
  for (const NamePart& part : parts) {
    if (!name.empty()) name += part.before;
    for (std::size_t word = 0; word < part.words.size(); ++word)
      name += (word == 0 ? "" : " ") + part.words[word];
  }
  return name;
}

}  // namespace

std::string withoutPartsOf(const std::string& whole, const std::string& name) {
  const auto key = [](const NamePart& part) { return part.words; };
  const std::vector<NamePart> known = partsOf(whole);
  std::vector<NamePart> parts = partsOf(name);
  const auto other = std::find_if(parts.begin(), parts.end(), [&](const NamePart& part) {
    return std::none_of(known.begin(), known.end(),
                        [&](const NamePart& each) { return key(each) == key(part); });
  });
  if (other == parts.begin() || other == parts.end()) return name;
  return joined({other, parts.end()});
}

namespace {

/// The two sides of "rank 0 → rank 1" are names of their own.
constexpr std::string_view kArrow = " → ";

std::vector<std::string> shortSides(const std::vector<std::string>& names) {
  std::vector<std::string> sides;
  for (const std::string& name : names) {
    const std::size_t arrow = name.find(kArrow);
    sides.push_back(name.substr(0, arrow));
    if (arrow != std::string::npos) sides.push_back(name.substr(arrow + kArrow.size()));
  }
  sides = shortNames(sides);
  std::vector<std::string> shorter;
  std::size_t next = 0;
  for (const std::string& name : names) {
    std::string text = sides[next++];
    if (name.find(kArrow) != std::string::npos) text += std::string(kArrow) + sides[next++];
    shorter.push_back(std::move(text));
  }
  return shorter;
}

}  // namespace

std::vector<std::string> shortNames(const std::vector<std::string>& names) {
  const auto hasArrow = [](const std::string& name) { return name.find(kArrow) != std::string::npos; };
  if (std::any_of(names.begin(), names.end(), hasArrow)) return shortSides(names);
  // A system of 100,000 chips has as many names without parts.
  const auto hasParts = [](const std::string& name) {
    return std::ranges::any_of(
        kSeparators, [&](std::string_view separator) { return name.find(separator) != std::string::npos; });
  };
  if (std::ranges::none_of(names, hasParts)) return names;
  std::map<std::size_t, std::vector<std::size_t>> byCount;
  Names all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back(partsOf(names[i]));
    if (all.back().size() > 1) byCount[all.back().size()].push_back(i);
  }
  const auto most = std::max_element(byCount.begin(), byCount.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == byCount.end()) return names;
  Names alike;
  for (const std::size_t i : most->second) alike.push_back(all[i]);
  if (std::all_of(alike.begin(), alike.end(), [&](const auto& name) { return name == alike.front(); }))
    return names;
  dropCommonParts(alike);
  std::vector<std::string> shorter = names;
  for (std::size_t i = 0; i < alike.size(); ++i) shorter[most->second[i]] = joined(alike[i]);
  return shorter;
}

}  // namespace pipescope::base

#pragma once
#include <QString>
#include <utility>
#include <vector>

namespace pipescope::shell {

/// The sentence that explains a word of the field. Upper case and plurals are found too. Empty if the word is
/// unknown.
QString glossaryOf(const QString& word);
/// All words and their sentences, in the order of resources/help/glossary.md.
const std::vector<std::pair<QString, QString>>& glossary();

}  // namespace pipescope::shell

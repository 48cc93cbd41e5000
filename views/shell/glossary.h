#pragma once
#include <QString>
#include <utility>
#include <vector>

namespace pipescope::shell {

/// The sentence for a word of the field, whatever its case and also in the plural; empty: no such word.
QString glossaryOf(const QString& word);
/// All words with their sentences, in the order of resources/help/glossary.md.
const std::vector<std::pair<QString, QString>>& glossary();

}  // namespace pipescope::shell

#pragma once
// The help as the window shows it: the Markdown files of resources/help, and the sections of the reports.
#include <QString>
#include <vector>

namespace pipescope::shell {

/// A file of the help.
struct HelpTopic {
  QString name, title, markdown;
};

/// A part of a topic, from its heading to the next one. The heading of the whole topic is its first part.
struct HelpSection {
  QString topic, title;
  /// The anchor of the heading. A heading of the third level has that of the second level before it:
  /// "stages/the-bubble".
  QString anchor;
  int level = 1;
  QString text;  ///< Markdown without the heading
};

/// A part of the help in which a search found all of its words.
struct HelpHit {
  const HelpSection* section = nullptr;
  QString context;  ///< the line that has the first of the words, or the first line
};

class HelpBook {
 public:
  explicit HelpBook(std::vector<HelpTopic> topics);
  /// The help of this program.
  static const HelpBook& builtIn();

  const std::vector<HelpTopic>& topics() const { return topics_; }
  /// All parts, topic by topic, in the order of their headings.
  const std::vector<HelpSection>& sections() const { return sections_; }
  const HelpTopic* topic(const QString& name) const;
  /// The part with this anchor; an empty anchor is the first part of the topic. Null: there is none. A link
  /// may leave the anchor of the second level out.
  const HelpSection* section(const QString& topic, const QString& anchor) const;
  /// The part that explains a panel or a table with this title on a page: of the topic "pages", or else the
  /// table of a section of the reports, first of the section that has the page's name. Null: there is none.
  const HelpSection* panel(const QString& page, const QString& title) const;
  /// The parts that have all words, in upper or lower case. Parts with the words in their headings come
  /// first.
  std::vector<HelpHit> find(const QString& words) const;

 private:
  std::vector<HelpTopic> topics_;
  std::vector<HelpSection> sections_;
};

/// The anchor that GitHub gives a heading: "The bubble" has "the-bubble".
QString helpAnchor(const QString& heading);

}  // namespace pipescope::shell

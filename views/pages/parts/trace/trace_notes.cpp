#include "views/pages/parts/trace/trace_notes.h"

#include <QInputDialog>
#include <algorithm>

namespace pipescope::pages {

TraceNotes::TraceNotes(shell::PageContext& context, timeline::TimelineCanvas& canvas, QWidget* parent)
    : QObject(parent), context_(context), canvas_(canvas), parent_(parent) {}

void TraceNotes::show(std::vector<model::Note> notes) {
  notes_ = std::move(notes);
  std::vector<timeline::Annotations::Flag> flags;
  for (const model::Note& note : notes_) flags.push_back({note.start, QString::fromStdString(note.text)});
  canvas_.setFlags(std::move(flags));
}

void TraceNotes::ask(const geometry::TimeScale& scale, base::Ticks middle) {
  if (canvas_.scene().empty()) return;
  if (!context_.session.canKeepNotes())
    return Q_EMIT failed(tr("Notes cannot be kept in this profile, because it is read-only."));
  const geometry::TimelineItem item = canvas_.selected();
  model::Note note;
  for (const model::Note& old : notes_) note.id = std::max(note.id, old.id + 1);
  note.start = item ? item.start : middle;
  note.end = item ? item.end : note.start;
  if (item && item.device >= 0)
    note.device = canvas_.scene().model()->trace->devices[static_cast<std::size_t>(item.device)].id;
  auto* dialog = new QInputDialog(parent_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Note"));
  dialog->setLabelText(tr("Note at %1 (an empty text removes it)")
                           .arg(QString::fromStdString(formatDuration(note.start, scale))));
  connect(dialog, &QInputDialog::textValueSelected, this,
          [this, note](const QString& written) { keep(note, written); });
  dialog->open();
}

void TraceNotes::keep(model::Note note, const QString& written) {
  std::vector<model::Note> notes = notes_;
  notes.erase(
      std::remove_if(notes.begin(), notes.end(), [&](const auto& old) { return old.start == note.start; }),
      notes.end());
  note.text = written.trimmed().toStdString();
  if (!note.text.empty()) notes.push_back(note);
  context_.session.keepNotes(this, std::move(notes), [this](const base::Status& done) {
    if (done.ok()) return Q_EMIT kept();
    Q_EMIT failed(QString::fromStdString(done.error().message));
  });
}

}  // namespace pipescope::pages

#include "ui/model/shelf_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "runtime/chat/correct_text.h"
#include "runtime/contract/document_cache.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class ShelfText {
  Q_DECLARE_TR_FUNCTIONS(Shelf)
};

}  // namespace

QString shelfRow(const runtime::ShelvedDocument& document) {
  quint64 n_tokens = 0;
  for (const kvcache::SavedCache& cache : document.caches)
    n_tokens = std::max<quint64>(n_tokens, cache.n_tokens);
  QString row = textOf(document.title);
  if (n_tokens > 0) row += ShelfText::tr(" · %1 tokens").arg(formatCount(qint64(n_tokens)));
  return document.is_kept ? row + ShelfText::tr(" · kept") : row;
}

QString shelfDetails(const runtime::ShelvedDocument& document) {
  QString text;
  for (const kvcache::SavedCache& cache : document.caches) {
    const auto note = runtime::DocumentNote::of(cache.note);
    text += (text.isEmpty() ? QString() : QStringLiteral("\n")) +
            ShelfText::tr("Read by %1 with %2").arg(textOf(note.model), textOf(note.recipe));
  }
  return text.isEmpty() ? ShelfText::tr("Not read yet") : text;
}

QString readText(const runtime::ReadReport& report) {
  const QString read =
      ShelfText::tr("Read %1 tokens in %2.")
          .arg(formatCount(qint64(report.n_tokens)), formatSeconds(report.ms / 1000));
  if (report.n_shelf == 0) return read;
  const QString taken = formatCount(qint64(report.n_shelf));
  const QString text =
      report.n_tokens == 0
          ? ShelfText::tr("%1 tokens taken from the shelf, nothing read.").arg(taken)
          : ShelfText::tr("%1 tokens taken from the shelf.").arg(taken) + u' ' + read;
  const std::string loss = runtime::no_gain_text(report.reuse);
  return loss.empty() ? text : text + u' ' + textOf(loss);
}

}  // namespace satchel::ui

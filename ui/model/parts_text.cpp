#include "ui/model/parts_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "runtime/chat/episodes_text.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString trParts(const char* text) {
  return QCoreApplication::translate("PartsText", text);
}

}  // namespace

QString documentPartsText(const Message& document) {
  const int n = document.documentParts, nRead = document.documentPartsRead;
  if (n <= 1) return {};
  if (nRead < 0) return trParts("%1 parts").arg(formatCount(n));
  if (nRead < n) return trParts("%1 of %2 parts read").arg(formatCount(nRead), formatCount(n));
  return trParts("read in %1 parts").arg(formatCount(n));
}

QString answerPartsText(const runtime::SeenEpisodes& episodes) {
  QString text;
  if (const std::string seen = runtime::describe(episodes); !seen.empty())
    text += trParts(" · from %1 of the older chat").arg(textOf(seen));
  if (const std::string quoted = runtime::describe_quoted(episodes); !quoted.empty())
    text += trParts(" · quotes %1").arg(textOf(quoted));
  if (episodes.n_unread == 1) text += trParts(" · 1 part was not read yet");
  if (episodes.n_unread > 1)
    text += trParts(" · %1 parts were not read yet").arg(formatCount(qint64(episodes.n_unread)));
  return text;
}

QString partsNote(const PartsShown& shown) {
  const auto nUnread = std::ranges::count_if(shown.parts.parts, &runtime::OlderPart::is_unread);
  const QString note = trParts("Ticked: what the answer saw.");
  if (nUnread == 0) return note;
  const QString unread = nUnread == 1
                             ? trParts("1 part is not read yet")
                             : trParts("%1 parts are not read yet").arg(formatCount(nUnread));
  return note + u' ' +
         trParts("%1: that is done while the chat is idle, or when a question needs it.")
             .arg(unread);
}

QString partTag(const PartsShown& shown, int part) {
  if (shown.parts.parts[std::size_t(part)].is_unread) return trParts("not read yet");
  return shown.quoted.contains(part) ? trParts("quoted") : QString();
}

QList<int> partsSeenLast(const runtime::OlderParts& parts) {
  QList<int> seen;
  for (std::size_t i = 0; i < parts.parts.size(); ++i)
    if (parts.parts[i].is_seen) seen.append(int(i));
  return seen;
}

QString unreadNotice(const std::vector<runtime::PartsRead>& documents) {
  const runtime::PartsRead all = runtime::of_all(documents);
  if (all.n_read == all.n_all) return {};
  return trParts(
      "The unread parts are read while the chat is idle, or when a question needs them.");
}

}  // namespace satchel::ui

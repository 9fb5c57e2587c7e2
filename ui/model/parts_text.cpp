#include "ui/model/parts_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "runtime/chat/episodes_text.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

class PartsText {
  Q_DECLARE_TR_FUNCTIONS(PartsText)
};

QList<int> numbersOf(const std::vector<std::size_t>& parts) {
  return {parts.begin(), parts.end()};
}

}  // namespace

QString documentPartsText(const Message& document) {
  const int n = document.documentParts, nRead = document.documentPartsRead;
  if (n <= 1) return {};
  if (nRead < 0) return PartsText::tr("%1 parts").arg(formatCount(n));
  if (nRead < n)
    return PartsText::tr("%1 of %2 parts read").arg(formatCount(nRead), formatCount(n));
  return PartsText::tr("read in %1 parts").arg(formatCount(n));
}

QString answerPartsText(const runtime::SeenEpisodes& episodes) {
  QString text;
  if (!episodes.seen.empty())
    text += PartsText::tr(" · from %1 of %2 of the older chat")
                .arg(partsText(numbersOf(episodes.seen)), formatCount(qint64(episodes.n_all)));
  if (!episodes.quoted.empty())
    text += PartsText::tr(" · quotes %1").arg(partsText(numbersOf(episodes.quoted)));
  if (episodes.n_unread == 1) text += PartsText::tr(" · 1 part was not read yet");
  if (episodes.n_unread > 1)
    text +=
        PartsText::tr(" · %1 parts were not read yet").arg(formatCount(qint64(episodes.n_unread)));
  return text;
}

QString partsNote(const PartsShown& shown) {
  const auto nUnread = std::ranges::count_if(shown.parts.parts, &runtime::OlderPart::is_unread);
  const QString note = PartsText::tr("Ticked: what the answer saw.");
  if (nUnread == 0) return note;
  const QString unread = nUnread == 1
                             ? PartsText::tr("1 part is not read yet")
                             : PartsText::tr("%1 parts are not read yet").arg(formatCount(nUnread));
  return note + u' ' +
         PartsText::tr("%1: that is done while the chat is idle, or when a question needs it.")
             .arg(unread);
}

QString partTag(const PartsShown& shown, int part) {
  if (shown.parts.parts[std::size_t(part)].is_unread) return PartsText::tr("not read yet");
  return shown.quoted.contains(part) ? PartsText::tr("quoted") : QString();
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
  return PartsText::tr(
      "The unread parts are read while the chat is idle, or when a question needs them.");
}

}  // namespace satchel::ui

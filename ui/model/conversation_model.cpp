#include "ui/model/conversation_model.h"

#include <algorithm>
#include <utility>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/parts_text.h"
#include "ui/model/quote_text.h"

namespace satchel::ui {
namespace {

MessageQuote quoteOf(const runtime::AnswerQuote& found, const QString& answer) {
  MessageQuote quote;
  quote.begin = charactersOf(answer, found.said.begin);
  quote.end = charactersOf(answer, found.said.end);
  quote.document = found.document.value;
  quote.title = textOf(found.title);
  quote.passageBegin = found.passage.begin;
  quote.passageEnd = found.passage.end;
  quote.page = int(found.page);
  return quote;
}

}  // namespace

int ConversationModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (role != Qt::AccessibleTextRole) return {};
  const Message& message = m_rows[index.row()];
  QString version = message.mark == MessageMark::None ? QString() : u' ' + markText(message.mark);
  const PackedNote& packed = message.packed;
  if (!packed.isEmpty())
    version += QStringLiteral(" %1. %2 %3").arg(packed.title, packed.text, packed.cost);
  if (!message.versions.isEmpty()) version += u' ' + tr("Version %1.").arg(versionText(message));
  if (message.role != runtime::Role::user) return tr("Answer: %1").arg(message.text) + version;
  if (message.documentTitle.isEmpty()) return tr("You: %1").arg(message.text) + version;
  const QString parts = documentPartsText(message);
  return (parts.isEmpty() ? tr("You: %1").arg(message.documentTitle)
                          : tr("You: %1, %2").arg(message.documentTitle, parts)) +
         version;
}

// A document is attached anew, and its answer is none of the model's.
void ConversationModel::add(const Message& message) {
  const bool isUsers = message.role == runtime::Role::user;
  const bool isAnswer = !isUsers && !m_rows.isEmpty() && m_rows.back().documentTitle.isEmpty();
  m_rows.append(message);
  m_rows.back().key = ++m_keysGiven;
  m_rows.back().canReplace =
      message.id != 0 && (isUsers ? message.documentTitle.isEmpty() : isAnswer);
}

void ConversationModel::tellChanged(int row) {
  Q_EMIT dataChanged(index(row), index(row));
}

void ConversationModel::load(const QList<Message>& messages) {
  beginResetModel();
  m_rows.clear();
  m_held.clear();
  m_attended.clear();
  m_attendedSums = {};
  m_rows.reserve(messages.size());
  for (const Message& message : messages) add(message);
  endResetModel();
}

void ConversationModel::append(const Message& message) {
  const int row = rowCount();
  beginInsertRows({}, row, row);
  add(message);
  endInsertRows();
}

// Ids rise from row to row; an answer that was not begun has none.
void ConversationModel::replaceBehind(qint64 last, const QList<Message>& messages) {
  int kept = rowCount();
  while (kept > 0 && (m_rows[kept - 1].id == 0 || m_rows[kept - 1].id > last)) --kept;
  if (kept < rowCount()) {
    beginRemoveRows({}, kept, rowCount() - 1);
    m_rows.resize(kept);
    endRemoveRows();
  }
  for (const Message& message : messages) append(message);
}

void ConversationModel::setVersions(const std::vector<runtime::MessageVersions>& messages) {
  for (int row = 0; row < rowCount(); ++row) {
    const auto found = std::ranges::find(messages, runtime::MessageId{m_rows[row].id},
                                         &runtime::MessageVersions::message);
    QList<qint64> versions;
    if (found != messages.end())
      for (const runtime::MessageId version : found->versions) versions.append(version.value);
    if (m_rows[row].versions == versions) continue;
    m_rows[row].versions = versions;
    tellChanged(row);
  }
}

void ConversationModel::setMarks(const runtime::MarksChanged& marks) {
  const auto has = [](const std::vector<runtime::MessageId>& ids, qint64 id) {
    return std::ranges::find(ids, runtime::MessageId{id}) != ids.end();
  };
  for (int row = 0; row < rowCount(); ++row) {
    Message& message = m_rows[row];
    const MessageMark mark = has(marks.forgotten, message.id) ? MessageMark::Forgotten
                             : has(marks.pinned, message.id)  ? MessageMark::Pinned
                                                              : MessageMark::None;
    if (std::exchange(message.mark, mark) != mark) tellChanged(row);
  }
}

void ConversationModel::setQuotes(const runtime::QuotesFound& found) {
  for (int row = 0; row < rowCount(); ++row) {
    Message& message = m_rows[row];
    if (message.role == runtime::Role::user || message.state == runtime::MessageState::streaming ||
        (found.answer.value != 0 && found.answer.value != message.id))
      continue;
    QList<MessageQuote> quotes;
    for (const runtime::AnswerQuote& quote : found.quotes)
      if (quote.answer.value == message.id) quotes.append(quoteOf(quote, message.text));
    if (std::exchange(message.quotes, quotes) != quotes) tellChanged(row);
  }
}

void ConversationModel::setHeld(const runtime::HeldText& text) {
  m_held.clear();
  for (const runtime::HeldMessage& message : text.messages)
    if (const int row = rowOf(message.message); row >= 0)
      m_held[m_rows[row].id] = heldStretches(message, m_rows[row].text);
  Q_EMIT heldChanged();
}

void ConversationModel::setAttended(const runtime::AttendedText& text) {
  m_attended.clear();
  for (const runtime::AttendedMessage& message : text.messages)
    if (const int row = rowOf(message.message); row >= 0)
      m_attended[m_rows[row].id] = attendedStretches(message, text.n_tokens, m_rows[row].text);
  m_attendedSums = ui::attendedSums(text);
  Q_EMIT heldChanged();
}

kvcache::HeldToken ConversationModel::heldInMean() const {
  HeldMean all;
  for (const QList<HeldStretch>& stretches : m_held)
    for (const HeldStretch& one : stretches) all.add(one.held, float(one.end - one.begin));
  return all.mean();
}

const Message* ConversationModel::documentOf(const MessageQuote& quote) const {
  const int row = rowOf({quote.document});
  return row < 0 || m_rows[row].documentTitle.isEmpty() ? nullptr : &m_rows[row];
}

qint64 ConversationModel::version(int row, int step) const {
  const Message& message = m_rows[row];
  const qsizetype wanted = message.versions.indexOf(message.id) + step;
  return message.versions.isEmpty() ? 0 : message.versions.value(wanted, 0);
}

int ConversationModel::lastRow(const std::function<bool(const Message&)>& fits) const {
  int row = rowCount() - 1;
  while (row >= 0 && !fits(m_rows[row])) --row;
  return row;
}

void ConversationModel::beginAnswer(const Message& answer) {
  Q_ASSERT(!isStreaming());
  Message streaming = answer;
  streaming.role = runtime::Role::assistant;
  streaming.state = runtime::MessageState::streaming;
  append(streaming);
}

void ConversationModel::appendDelta(const QString& delta) {
  Q_ASSERT(isStreaming());
  Message& message = m_rows.back();
  if (message.text.isEmpty() && !message.thoughts.isEmpty()) message.thoughtNote = tr("Thought");
  message.text += delta;
  tellChanged(rowCount() - 1);
}

void ConversationModel::appendThought(const QString& delta) {
  Q_ASSERT(isStreaming());
  Message& message = m_rows.back();
  message.thoughts += delta;
  message.thoughtNote = tr("Thinking…");
  tellChanged(rowCount() - 1);
}

void ConversationModel::finishAnswer(runtime::MessageState state, const QString& footnote,
                                     const QString& thoughtNote) {
  if (!isStreaming()) return;
  Message& message = m_rows.back();
  message.state = state;
  message.footnote = footnote;
  if (!message.thoughts.isEmpty())
    message.thoughtNote = thoughtNote.isEmpty() ? tr("Thought") : thoughtNote;
  tellChanged(rowCount() - 1);
  Q_EMIT answerFinished(rowCount() - 1);
}

void ConversationModel::setSeen(const runtime::SeenEpisodes& episodes) {
  if (!isStreaming()) return;
  Message& message = m_rows.back();
  message.partsAll = int(episodes.n_all);
  for (const std::size_t part : episodes.seen) message.partsSeen.append(int(part));
  for (const std::size_t part : episodes.quoted) message.partsQuoted.append(int(part));
}

int ConversationModel::rowOf(runtime::MessageId id) const {
  for (int row = 0; row < rowCount(); ++row)
    if (m_rows[row].id == id.value) return row;
  return -1;
}

void ConversationModel::setParts(const runtime::DocumentParts& document) {
  const int row = rowOf(document.document);
  if (row < 0) return;
  m_rows[row].documentParts = int(document.n_parts);
  tellChanged(row);
}

void ConversationModel::setPartsRead(const std::vector<runtime::PartsRead>& documents) {
  for (const runtime::PartsRead& document : documents) {
    const int row = rowOf(document.document);
    if (row < 0 || m_rows[row].documentParts != int(document.n_all) ||
        m_rows[row].documentPartsRead == int(document.n_read))
      continue;
    m_rows[row].documentPartsRead = int(document.n_read);
    tellChanged(row);
  }
}

void ConversationModel::setThoughts(const runtime::MessageThoughts& found) {
  const int row = rowOf(found.answer);
  if (row < 0) return;
  m_rows[row].thoughts = textOf(found.thoughts.text);
  m_rows[row].thoughtNote =
      tr("Thought · %1 tokens").arg(formatCount(qint64(found.thoughts.n_tokens)));
  tellChanged(row);
}

void ConversationModel::setThoughtsOpen(int row, bool open) {
  if (row < 0 || row >= rowCount() || m_rows[row].showsThoughts == open) return;
  m_rows[row].showsThoughts = open;
  tellChanged(row);
}

void ConversationModel::setExpanded(int row, bool expanded) {
  if (row < 0 || row >= rowCount() || m_rows[row].isExpanded == expanded) return;
  m_rows[row].isExpanded = expanded;
  tellChanged(row);
}

void ConversationModel::setPacked(qint64 key, const PackedNote& note) {
  for (int row = 0; row < rowCount(); ++row) {
    if (m_rows[row].key != key || m_rows[row].packed == note) continue;
    m_rows[row].packed = note;
    tellChanged(row);
  }
}

bool ConversationModel::isStreaming() const {
  return !m_rows.isEmpty() && m_rows.back().state == runtime::MessageState::streaming;
}

}  // namespace satchel::ui

#include "ui/model/conversation_model.h"

#include <algorithm>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {

int ConversationModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Row& row = m_rows[index.row()];
  switch (role) {
    case Qt::AccessibleTextRole:
      return row.message.role == runtime::Role::user
                 ? tr("You: %1").arg(row.message.documentTitle.isEmpty()
                                         ? row.message.text
                                         : row.message.documentTitle)
                 : tr("Answer: %1").arg(row.message.text);
    case TextRole:
      return row.message.text;
    case AuthorRole:
      return int(row.message.role);
    case StateRole:
      return int(row.message.state);
    case DocumentTitleRole:
      return row.message.documentTitle;
    case FootnoteRole:
      return row.message.footnote;
    case ThoughtsRole:
      return row.message.thoughts;
    case ThoughtNoteRole:
      return row.message.thoughtNote;
    case ThoughtsOpenRole:
      return row.thoughtsOpen;
    case KeyRole:
      return row.key;
    case ExpandedRole:
      return row.expanded;
    default:
      return {};
  }
}

ConversationModel::Row ConversationModel::makeRow(const Message& message) {
  return {message, ++m_keysGiven, false, false};
}

void ConversationModel::load(const QList<Message>& messages) {
  beginResetModel();
  m_rows.clear();
  m_rows.reserve(messages.size());
  for (const Message& message : messages) m_rows.append(makeRow(message));
  endResetModel();
}

void ConversationModel::append(const Message& message) {
  const int row = rowCount();
  beginInsertRows({}, row, row);
  m_rows.append(makeRow(message));
  endInsertRows();
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
  Message& message = m_rows.back().message;
  if (message.text.isEmpty() && !message.thoughts.isEmpty()) message.thoughtNote = tr("Thought");
  message.text += delta;
  const QModelIndex last = index(rowCount() - 1);
  Q_EMIT dataChanged(last, last, {TextRole, ThoughtNoteRole});
}

void ConversationModel::appendThought(const QString& delta) {
  Q_ASSERT(isStreaming());
  Message& message = m_rows.back().message;
  message.thoughts += delta;
  message.thoughtNote = tr("Thinking…");
  const QModelIndex last = index(rowCount() - 1);
  Q_EMIT dataChanged(last, last, {ThoughtsRole, ThoughtNoteRole});
}

void ConversationModel::finishAnswer(runtime::MessageState state, const QString& footnote,
                                     const QString& thoughtNote) {
  if (!isStreaming()) return;
  Message& message = m_rows.back().message;
  message.state = state;
  message.footnote = footnote;
  if (!message.thoughts.isEmpty())
    message.thoughtNote = thoughtNote.isEmpty() ? tr("Thought") : thoughtNote;
  const QModelIndex last = index(rowCount() - 1);
  Q_EMIT dataChanged(last, last, {StateRole, FootnoteRole, ThoughtNoteRole});
}

void ConversationModel::setThoughts(const runtime::MessageThoughts& found) {
  const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& each) {
    return each.message.id == found.answer.value;
  });
  if (row == m_rows.end()) return;
  row->message.thoughts = textOf(found.thoughts.text);
  row->message.thoughtNote =
      tr("Thought · %1 tokens").arg(formatCount(qint64(found.thoughts.n_tokens)));
  const QModelIndex changed = index(int(row - m_rows.begin()));
  Q_EMIT dataChanged(changed, changed, {ThoughtsRole, ThoughtNoteRole});
}

void ConversationModel::setThoughtsOpen(int row, bool open) {
  if (row < 0 || row >= rowCount() || m_rows[row].thoughtsOpen == open) return;
  m_rows[row].thoughtsOpen = open;
  const QModelIndex changed = index(row);
  Q_EMIT dataChanged(changed, changed, {ThoughtsOpenRole});
}

void ConversationModel::setExpanded(int row, bool expanded) {
  if (row < 0 || row >= rowCount() || m_rows[row].expanded == expanded) return;
  m_rows[row].expanded = expanded;
  const QModelIndex changed = index(row);
  Q_EMIT dataChanged(changed, changed, {ExpandedRole});
}

bool ConversationModel::isStreaming() const {
  return !m_rows.isEmpty() && m_rows.back().message.state == runtime::MessageState::streaming;
}

}  // namespace satchel::ui

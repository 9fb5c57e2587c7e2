#include "ui/model/found_model.h"

#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

// A place in the bytes as one in the text.
qsizetype placeOf(const std::string& bytes, std::size_t at) {
  return textOf(std::string_view(bytes).substr(0, at)).size();
}

// In one line: what was found has line breaks where the message has them.
QString inOneLine(QString text) {
  for (QChar& letter : text)
    if (letter.isSpace()) letter = u' ';
  return text;
}

}  // namespace

int FoundModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant FoundModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const FoundPassage& passage = m_rows[index.row()];
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole)
    return tr("%1: %2").arg(passage.title, passage.text);
  return {};
}

void FoundModel::load(const std::vector<runtime::Found>& found) {
  beginResetModel();
  m_rows.clear();
  for (const runtime::Found& one : found) {
    if (one.message.value == 0) continue;
    FoundPassage passage{.chat = one.chat.value,
                         .message = one.message.value,
                         .title = textOf(one.chat_name),
                         .text = inOneLine(textOf(one.passage)),
                         .hits = {}};
    for (const auto& [from, to] : one.hits)
      passage.hits.append({placeOf(one.passage, from), placeOf(one.passage, to)});
    m_rows.append(passage);
  }
  endResetModel();
}

}  // namespace satchel::ui

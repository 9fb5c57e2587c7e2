#include "ui/model/chat_finder.h"

#include <algorithm>
#include <climits>

#include "ui/model/conversation_model.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

// Between two words: blanks, at most one end of a line, marks of Markdown around either.
constexpr QLatin1String kBetweenWords(R"([*_~`]*[^\S\n]*(?:\n[^\S\n]*|[^\S\n])[*_~`]*)");

QRegularExpression patternOf(const QString& words) {
  QStringList escaped;
  for (const QString& word : words.split(u' ', Qt::SkipEmptyParts))
    escaped.append(QRegularExpression::escape(word));
  return QRegularExpression(
      escaped.join(kBetweenWords),
      QRegularExpression::CaseInsensitiveOption | QRegularExpression::UseUnicodePropertiesOption);
}

}  // namespace

ChatFinder::ChatFinder(const ConversationModel* conversation, QObject* parent)
    : QObject(parent), m_conversation(conversation) {
  const auto refresh = [this](int first, int last) {
    if (!isOn()) return;
    const Place before = m_current < 0 ? Place{-1, 0} : m_places[m_current];
    dropRows(first, last);
    lookThrough(first, std::min(last, m_conversation->rowCount() - 1));
    keepCurrent(before);
  };
  connect(conversation, &QAbstractItemModel::dataChanged, this,
          [refresh](const QModelIndex& top, const QModelIndex& bottom) {
            refresh(top.row(), bottom.row());
          });
  connect(conversation, &QAbstractItemModel::rowsInserted, this,
          [this, refresh](const QModelIndex&, int first, int) {
            refresh(first, m_conversation->rowCount() - 1);
          });
  connect(conversation, &QAbstractItemModel::rowsRemoved, this,
          [refresh](const QModelIndex&, int first, int) { refresh(first, INT_MAX); });
  connect(conversation, &QAbstractItemModel::modelReset, this, &ChatFinder::lookThroughAll);
}

void ChatFinder::look(const QString& words, int fromRow) {
  m_pattern = patternOf(words.simplified());
  m_places.clear();
  m_current = -1;
  if (isOn()) lookThrough(0, m_conversation->rowCount() - 1);
  if (!m_places.isEmpty()) {
    const auto first = std::ranges::lower_bound(m_places, Place{fromRow, 0});
    m_current = first == m_places.end() ? 0 : first - m_places.begin();
  }
  Q_EMIT changed();
  if (m_current >= 0) Q_EMIT currentChanged();
}

void ChatFinder::step(int by) {
  if (m_places.isEmpty()) return;
  m_current = (m_current + by + m_places.size()) % m_places.size();
  Q_EMIT changed();
  Q_EMIT currentChanged();
}

int ChatFinder::currentRow() const {
  return m_current < 0 ? -1 : m_places[m_current].row;
}

int ChatFinder::currentIn(int row) const {
  if (currentRow() != row) return -1;
  const auto first = std::ranges::lower_bound(m_places, Place{row, 0});
  return int(m_current - (first - m_places.begin()));
}

QString ChatFinder::countText() const {
  if (!isOn()) return {};
  if (m_places.isEmpty()) return tr("Not found");
  return tr("%1 of %2").arg(formatCount(m_current + 1), formatCount(m_places.size()));
}

void ChatFinder::dropRows(int first, int last) {
  m_places.removeIf([=](const Place& place) { return place.row >= first && place.row <= last; });
}

void ChatFinder::lookThrough(int first, int last) {
  QList<Place> found;
  for (int row = first; row <= last; ++row)
    for (auto it = m_pattern.globalMatch(m_conversation->message(row).text); it.hasNext();)
      found.append({row, it.next().capturedStart()});
  const auto place = std::ranges::lower_bound(m_places, Place{first, 0});
  const qsizetype at = place - m_places.begin();
  m_places.insert(at, found.size(), {});
  std::ranges::copy(found, m_places.begin() + at);
}

void ChatFinder::keepCurrent(const Place& before) {
  const auto same = std::ranges::lower_bound(m_places, before);
  m_current = m_places.isEmpty()       ? -1
              : same == m_places.end() ? m_places.size() - 1
                                       : same - m_places.begin();
  Q_EMIT changed();
}

void ChatFinder::lookThroughAll() {
  if (!isOn()) return;
  m_places.clear();
  lookThrough(0, m_conversation->rowCount() - 1);
  m_current = m_places.isEmpty() ? -1 : 0;
  Q_EMIT changed();
}

}  // namespace satchel::ui

// FoundModel: the passages that a search found, the best first.
#pragma once

#include <QAbstractListModel>
#include <QList>

#include "ui/model/engine_types.h"

namespace satchel::ui {

struct FoundPassage {
  ChatKey chat = 0;
  qint64 message = 0;  // 0: the chat's title
  QString title, text;
  QList<std::pair<qsizetype, qsizetype>> hits;  // in the text: from, to
};

class FoundModel : public QAbstractListModel {
  Q_OBJECT

 public:
  using QAbstractListModel::QAbstractListModel;

  int rowCount(const QModelIndex& parent = {}) const override;
  // What screen readers say; the list asks for passage().
  QVariant data(const QModelIndex& index, int role) const override;

  // Passages of titles are left out: the list of chats shows them.
  void load(const std::vector<runtime::Found>& found);
  const FoundPassage& passage(int row) const { return m_rows[row]; }

 private:
  QList<FoundPassage> m_rows;
};

}  // namespace satchel::ui

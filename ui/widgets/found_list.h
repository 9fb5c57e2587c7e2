// FoundList: the passages that a search found, each with its chat's title, what was found lit.
#pragma once

#include <QListView>
#include <QStyledItemDelegate>

namespace satchel::ui {

class FoundModel;

class FoundDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  FoundDelegate(const FoundModel* model, QObject* parent);
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const FoundModel* m_model;  // not owned
};

class FoundList : public QListView {
  Q_OBJECT

 public:
  // model: not owned
  explicit FoundList(FoundModel* model, QWidget* parent = nullptr);
};

}  // namespace satchel::ui

// ChatListModel: the chats of the library, newest first; above them those kept at the top.
#pragma once

#include <QAbstractListModel>
#include <QList>
#include <QStringList>

#include "ui/model/engine_types.h"

namespace satchel::ui {

class ChatListModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role {
    TitleRole = Qt::DisplayRole,
    KeyRole = Qt::UserRole,
    ChangedRole,
    CurrentRole,
    FolderRole,
    AtTopRole
  };

  using QAbstractListModel::QAbstractListModel;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

  void load(QList<ChatEntry> chats);
  // Puts the chat where it belongs; adds it if it is not there.
  void put(const ChatEntry& chat);
  void remove(ChatKey chat);
  void setCurrent(ChatKey chat);

  QStringList folders() const;  // in the order of the alphabet, each once
  QString folderOf(ChatKey chat) const;
  bool isAtTop(ChatKey chat) const;
  ChatKey current() const { return m_current; }
  int rowOf(ChatKey chat) const;  // -1: not there

 Q_SIGNALS:
  // The user gave another title; the list shows it when the library has it.
  void renameAsked(satchel::ui::ChatKey chat, const QString& title);

 private:
  QList<ChatEntry> m_rows;
  ChatKey m_current = 0;
};

}  // namespace satchel::ui

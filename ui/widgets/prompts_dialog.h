// PromptsDialog: the texts that people keep under names: found by name, put into the message,
// edited (Ctrl+Shift+P).
//   keys  in the field of the names: Down goes to the list, Enter puts the first one in
#pragma once

#include <QDialog>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>

#include "runtime/chat/saved_prompts.h"

class QLineEdit;
class QListView;
class QPlainTextEdit;
class QPushButton;

namespace satchel::ui {

class PromptsDialog : public QDialog {
  Q_OBJECT

 public:
  explicit PromptsDialog(QWidget* parent = nullptr);

  // The one that is shown stays so where it is still there.
  void setPrompts(const std::vector<runtime::SavedPrompt>& prompts);

  QLineEdit* filter() { return m_filter; }
  QListView* list() { return m_list; }
  QLineEdit* name() { return m_name; }
  QPlainTextEdit* text() { return m_text; }
  QPushButton* insertButton() { return m_insert; }
  QPushButton* saveButton() { return m_save; }
  QPushButton* deleteButton() { return m_delete; }
  QPushButton* newButton() { return m_new; }

 Q_SIGNALS:
  void chosen(const QString& text);
  void keepAsked(const QString& name, const QString& text);
  void removeAsked(const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeNames();
  QWidget* makeText();
  void connectAll();
  void showAt(const QModelIndex& index);
  void begin();
  void save();
  void insert();
  void refresh();

  QStandardItemModel m_prompts;  // text: Qt::UserRole
  QSortFilterProxyModel m_filtered;
  QString m_shown;  // the name of the one that is; empty: a new one
  QLineEdit* m_filter;
  QListView* m_list;
  QLineEdit* m_name;
  QPlainTextEdit* m_text;
  QPushButton* m_new;
  QPushButton* m_delete;
  QPushButton* m_save;
  QPushButton* m_insert;
};

}  // namespace satchel::ui

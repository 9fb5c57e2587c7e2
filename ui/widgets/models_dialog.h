// ModelsDialog: the models on this machine, what each one is and whether it fits; import by
// dropping a file, download by its address (Ctrl+Shift+M).
#pragma once

#include <QDialog>

class QFormLayout;
class QLabel;
class QLineEdit;
class QListView;
class QProgressBar;
class QPushButton;

namespace satchel::ui {

class ModelLibrary;
struct ModelDetails;

class ModelsDialog : public QDialog {
  Q_OBJECT

 public:
  // library: not owned. current: the model that is open, chosen first
  ModelsDialog(ModelLibrary* library, const QString& folder, const QString& current,
               QWidget* parent = nullptr);

  QListView* list() { return m_list; }
  QPushButton* openButton() { return m_open; }
  QPushButton* importButton() { return m_import; }
  QPushButton* fetchButton() { return m_fetch; }
  QLineEdit* address() { return m_address; }
  QLineEdit* sha256() { return m_sha256; }
  QString detailsText() const;  // the rows, a line each
  QString fetchText() const;

 Q_SIGNALS:
  void opened(const QString& path);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* makeModels(const QString& folder);
  QWidget* makeDetails();
  QWidget* makeFetch();
  void connectAll();
  QString chosen() const;
  void choose(const QString& path);
  void showChosen();
  void showRows(const QString& title, const QList<std::pair<QString, QString>>& rows);
  void chooseFile();
  void refreshFetch();

  ModelLibrary* m_library;
  QListView* m_list;
  QLabel* m_title;
  QWidget* m_details = nullptr;
  QFormLayout* m_form = nullptr;
  QPushButton* m_open;
  QPushButton* m_import;
  QLineEdit* m_address;
  QLineEdit* m_sha256;
  QPushButton* m_fetch;
  QProgressBar* m_progress;
  QLabel* m_fetchText;
};

}  // namespace satchel::ui

// DocumentImports: reads documents on one thread of its own, one after the other, in the order in
// which they were added.
//   stop     what is being read is asked to stop at once; of it, and of what waits, nothing more is
//            told
//   threads  methods and signals belong to the thread the object lives in
#pragma once

#include <QObject>
#include <QStringList>
#include <QThreadPool>
#include <stop_token>

#include "ui/model/document_file.h"

namespace satchel::ui {

class DocumentImports : public QObject {
  Q_OBJECT

 public:
  explicit DocumentImports(QObject* parent = nullptr);
  ~DocumentImports() override;  // stops, and waits for the thread

  // For files that are not plain text.
  void setReader(const DocumentReader& reader) { m_reader = reader; }
  bool takes(const QString& path) const;  // by its ending
  QStringList endings() const;            // lower case
  void add(const QString& path);
  bool isBusy() const { return !m_paths.isEmpty(); }
  // The names of the files that are not read then.
  QStringList stop();

 Q_SIGNALS:
  void busyChanged();
  void begun(const QString& title);  // where it may take long
  void imported(const satchel::ui::DocumentFile& document);
  void failed(const QString& code, const QString& message);

 private:
  void beginNext();
  void end(const Result<DocumentFile>& document);

  DocumentReader m_reader;
  QStringList m_paths;  // the first is being read
  std::stop_source m_stop;
  QThreadPool m_thread;
};

}  // namespace satchel::ui

// DocumentFile: a text file the user attached, read into memory.
//   errors  DOC_OPEN, DOC_LIMIT (16 MiB, the limit of a message), DOC_TYPE (not text), DOC_EMPTY
#pragma once

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <functional>
#include <stop_token>

#include "kernels/base/result.h"

namespace satchel::ui {

// Reads documents that are not plain text; the program has it (app/documents).
struct DocumentReader {
  QStringList endings;  // of their files: "pdf", "docx"; lower case
  // Takes a while, but ends soon when it is stopped; of any thread, one call at a time.
  std::function<Result<QString>(const QString& path, std::stop_token stop)> read;

  bool takes(const QString& path) const;
};

struct DocumentFile {
  QString title;  // the file's name
  QString text;
  bool wasRecoded = false;  // not UTF-8; read as Windows-1252

  static Result<DocumentFile> read(const QString& path);
  static QStringList endings();                  // txt, md, markdown, text
  static bool isSupported(const QString& path);  // by its ending

  Q_DECLARE_TR_FUNCTIONS(DocumentFile)
};

}  // namespace satchel::ui

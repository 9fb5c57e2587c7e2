// DocumentFile: a text file the user attached, read into memory.
//   errors  DOC_OPEN, DOC_LIMIT (16 MiB, the limit of a message), DOC_TYPE (not text), DOC_EMPTY
#pragma once

#include <QString>

#include "kernels/base/result.h"

namespace satchel::ui {

struct DocumentFile {
  QString title;  // the file's name
  QString text;
  bool wasRecoded = false;  // not UTF-8; read as Windows-1252

  static Result<DocumentFile> read(const QString& path);
  static bool isSupported(const QString& path);  // by its ending: txt, md, markdown, text
};

}  // namespace satchel::ui

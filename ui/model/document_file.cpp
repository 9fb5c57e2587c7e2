#include "ui/model/document_file.h"

#include <QFile>
#include <QFileInfo>
#include <QStringDecoder>
#include <array>

namespace satchel::ui {
namespace {

constexpr qint64 kDocumentBytesMax = 16 << 20;

// Where Windows-1252 differs from Latin-1: 0x80 … 0x9f (0: not in use there).
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

QString fromWindows1252(const QByteArray& bytes) {
  QString text = QString::fromLatin1(bytes);
  for (QChar& c : text)
    if (c.unicode() >= 0x80 && c.unicode() < 0xa0) {
      const char16_t code = kWindows1252[c.unicode() - 0x80u];
      c = code != 0 ? QChar(code) : QChar(QChar::ReplacementCharacter);
    }
  return text;
}

Error documentError(ErrorKind kind, const char* code, const QString& message) {
  return {kind, code, message.toStdString()};
}

}  // namespace

bool DocumentReader::takes(const QString& path) const {
  return endings.contains(QFileInfo(path).suffix().toLower());
}

bool DocumentFile::isSupported(const QString& path) {
  return endings().contains(QFileInfo(path).suffix().toLower());
}

QStringList DocumentFile::endings() {
  return {QStringLiteral("txt"), QStringLiteral("md"), QStringLiteral("markdown"),
          QStringLiteral("text")};
}

Result<DocumentFile> DocumentFile::read(const QString& path) {
  const QString name = QFileInfo(path).fileName();
  if (!isSupported(path))
    return documentError(ErrorKind::unsupported, "DOC_TYPE",
                         tr("\"%1\" is not a text or Markdown file (.txt, .md). "
                            "Nothing was attached.")
                             .arg(name));
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly))
    return documentError(ErrorKind::not_found, "DOC_OPEN",
                         tr("\"%1\" cannot be read: %2.").arg(name, file.errorString()));
  if (file.size() > kDocumentBytesMax)
    return documentError(
        ErrorKind::unsupported, "DOC_LIMIT",
        tr("\"%1\" is larger than 16 MiB. Attach a smaller part of it.").arg(name));
  const QByteArray bytes = file.read(kDocumentBytesMax + 1);
  if (bytes.contains('\0'))
    return documentError(ErrorKind::unsupported, "DOC_TYPE",
                         tr("\"%1\" is not a text file: it contains zero bytes.").arg(name));
  DocumentFile document;
  document.title = name;
  QStringDecoder utf8(QStringDecoder::Utf8);
  document.text = utf8(bytes);
  if (utf8.hasError()) {
    document.text = fromWindows1252(bytes);
    document.wasRecoded = true;
  }
  document.text.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
  if (document.text.trimmed().isEmpty())
    return documentError(ErrorKind::invalid, "DOC_EMPTY", tr("\"%1\" is empty.").arg(name));
  return document;
}

}  // namespace satchel::ui

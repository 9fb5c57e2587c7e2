#include "ui/model/document_imports.h"

#include <QFileInfo>
#include <exception>
#include <utility>

#include "ui/model/engine_values.h"

namespace satchel::ui {
namespace {

QString titleOf(const QString& path) {
  return QFileInfo(path).fileName();
}

Result<DocumentFile> read(const DocumentReader& reader, const QString& path,
                          const std::stop_token& stop) {
  if (!reader.takes(path)) return DocumentFile::read(path);
  SATCHEL_TRY_ASSIGN(const QString text, reader.read(path, stop));
  return DocumentFile{.title = titleOf(path), .text = text};
}

// The thread's top.
Result<DocumentFile> readGuarded(const DocumentReader& reader, const QString& path,
                                 const std::stop_token& stop) {
  try {
    return read(reader, path, stop);
  } catch (const std::exception& stranger) {
    return Error{ErrorKind::internal, "INTERNAL", stranger.what()};
  }
}

}  // namespace

DocumentImports::DocumentImports(QObject* parent) : QObject(parent) {
  m_thread.setMaxThreadCount(1);
}

// Tells nobody: those who listen may be half gone.
DocumentImports::~DocumentImports() {
  m_stop.request_stop();
  m_thread.clear();
  m_thread.waitForDone();
}

bool DocumentImports::takes(const QString& path) const {
  return DocumentFile::isSupported(path) || m_reader.takes(path);
}

QStringList DocumentImports::endings() const {
  return DocumentFile::endings() + m_reader.endings;
}

void DocumentImports::add(const QString& path) {
  m_paths.append(path);
  if (m_paths.size() > 1) return;
  beginNext();
  Q_EMIT busyChanged();
}

void DocumentImports::beginNext() {
  const QString path = m_paths.first();
  if (m_reader.takes(path)) Q_EMIT begun(titleOf(path));
  m_thread.start([this, path, reader = m_reader, stop = m_stop] {
    const Result<DocumentFile> document = readGuarded(reader, path, stop.get_token());
    QMetaObject::invokeMethod(
        this,
        [this, document, stop] {
          if (!stop.stop_requested()) end(document);
        },
        Qt::QueuedConnection);
  });
}

// Who hears of it may stop the next ones, or add some.
void DocumentImports::end(const Result<DocumentFile>& document) {
  m_paths.removeFirst();
  isBusy() ? beginNext() : Q_EMIT busyChanged();
  if (document.ok())
    Q_EMIT imported(*document);
  else
    Q_EMIT failed(textOf(document.error().code), textOf(document.error().message));
}

QStringList DocumentImports::stop() {
  if (!isBusy()) return {};
  m_stop.request_stop();
  m_stop = std::stop_source();
  m_thread.clear();
  QStringList titles;
  for (const QString& path : std::exchange(m_paths, {})) titles.append(titleOf(path));
  Q_EMIT busyChanged();
  return titles;
}

}  // namespace satchel::ui

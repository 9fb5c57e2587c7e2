#include "ui/model/model_library.h"

#include <QFileInfo>
#include <chrono>
#include <memory>
#include <utility>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

constexpr std::chrono::milliseconds kTellEvery{100};

QString countOf(std::uint64_t n) {
  if (n >= 1'000'000'000)
    return ModelLibrary::tr("%1 billion").arg(formatDecimal(double(n) / 1e9, 1));
  return ModelLibrary::tr("%1 million").arg(formatDecimal(double(n) / 1e6, 0));
}

QString fitText(const ModelFit& fit) {
  if (!fit.fits) return ModelLibrary::tr("does not fit");
  return ModelLibrary::tr("%1 tokens in %2")
      .arg(formatCount(qint64(fit.tokens)), formatBytes(fit.cacheBytes));
}

QString templateText(const runtime::FileFacts& facts) {
  if (!facts.has_template) return ModelLibrary::tr("none: it continues what you write");
  return facts.chat_template.empty() ? ModelLibrary::tr("one that is not known")
                                     : textOf(facts.chat_template);
}

}  // namespace

ModelLibrary::ModelLibrary(ModelTools tools, QObject* parent)
    : QAbstractListModel(parent), m_tools(std::move(tools)) {
  m_inThread.moveToThread(&m_thread);
  m_inFetchThread.moveToThread(&m_fetchThread);
  m_thread.setObjectName(QStringLiteral("models"));
  m_fetchThread.setObjectName(QStringLiteral("fetch"));
  m_thread.start();
  m_fetchThread.start();
}

ModelLibrary::~ModelLibrary() {
  m_lookStop.request_stop();
  m_fetchStop.request_stop();
  for (QThread* thread : {&m_thread, &m_fetchThread}) {
    thread->quit();
    thread->wait();
  }
}

int ModelLibrary::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ModelLibrary::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const ModelChoice& model = m_rows[index.row()];
  switch (role) {
    case Qt::DisplayRole:
      return tr("%1   %2").arg(model.title, formatBytes(model.bytes));
    case Qt::ToolTipRole:
      return tipText(model.path);
    case PathRole:
      return model.path;
    default:
      return {};
  }
}

int ModelLibrary::rowOf(const QString& path) const {
  for (int row = 0; row < rowCount(); ++row)
    if (m_rows[row].path == path) return row;
  return -1;
}

void ModelLibrary::refresh() {
  beginResetModel();
  m_rows = m_tools.list ? m_tools.list() : QList<ModelChoice>();
  endResetModel();
}

void ModelLibrary::look(const QString& path) {
  m_lookStop.request_stop();
  m_lookStop = std::stop_source();
  if (!m_tools.look) return;
  QMetaObject::invokeMethod(
      &m_inThread,
      [this, path, stop = m_lookStop.get_token()] {
        if (stop.stop_requested()) return;
        auto found = std::make_shared<Result<ModelDetails>>(m_tools.look(path, stop));
        QMetaObject::invokeMethod(
            this,
            [this, path, stop, found] {
              if (stop.stop_requested()) return;
              if (found->ok())
                Q_EMIT detailsFound(path, found->value());
              else
                Q_EMIT detailsFailed(path, textOf(found->error().message));
            },
            Qt::QueuedConnection);
      },
      Qt::QueuedConnection);
}

void ModelLibrary::import(const QString& path) {
  fetch(QFileInfo(path).fileName(), [this, path](std::stop_token stop, const FetchFn& progress) {
    return m_tools.import(path, std::move(stop), progress);
  });
}

void ModelLibrary::download(const QString& url, const QString& sha256) {
  fetch(url.section(u'?', 0, 0).section(u'/', -1),
        [this, url = url.trimmed(), sha256 = sha256.trimmed()](std::stop_token stop,
                                                               const FetchFn& progress) {
          return m_tools.download(url, sha256, std::move(stop), progress);
        });
}

// It is told at most so often: the window has more to do.
void ModelLibrary::fetch(
    const QString& name,
    const std::function<Result<QString>(std::stop_token, const FetchFn&)>& work) {
  if (m_isFetching) return;
  m_isFetching = true;
  m_fetchName = name;
  m_fetchShare = -1;
  m_fetchText = tr("%1: connecting…").arg(name);
  m_fetchStop = std::stop_source();
  Q_EMIT fetchChanged();
  QMetaObject::invokeMethod(
      &m_inFetchThread,
      [this, work, stop = m_fetchStop.get_token()] {
        auto last = std::chrono::steady_clock::now() - kTellEvery;
        const FetchFn progress = [this, &last](const FetchProgress& now) {
          const auto at = std::chrono::steady_clock::now();
          if (at - last < kTellEvery) return;
          last = at;
          QMetaObject::invokeMethod(
              this,
              [this, now] {
                if (!m_isFetching) return;
                m_fetchShare = now.total > 0 ? double(now.done) / double(now.total) : -1;
                m_fetchText = now.total > 0 ? tr("%1: %2 of %3")
                                                  .arg(m_fetchName, formatBytes(now.done),
                                                       formatBytes(now.total))
                                            : tr("%1: %2").arg(m_fetchName, formatBytes(now.done));
                Q_EMIT fetchChanged();
              },
              Qt::QueuedConnection);
        };
        auto done = std::make_shared<Result<QString>>(work(stop, progress));
        QMetaObject::invokeMethod(
            this, [this, done] { endFetch(*done); }, Qt::QueuedConnection);
      },
      Qt::QueuedConnection);
}

void ModelLibrary::endFetch(const Result<QString>& done) {
  m_isFetching = false;
  m_fetchShare = done.ok() ? 1 : -1;
  if (done.ok())
    m_fetchText = tr("%1 is in the library.").arg(m_fetchName);
  else if (done.error().kind == ErrorKind::cancelled)
    m_fetchText = tr("Stopped. What came is kept: the same address goes on there.");
  else
    m_fetchText = textOf(done.error().message);
  if (done.ok()) refresh();
  Q_EMIT fetchChanged();
  if (done.ok()) Q_EMIT fetched(*done);
}

void ModelLibrary::stopFetching() {
  m_fetchStop.request_stop();
}

QList<std::pair<QString, QString>> ModelLibrary::rowsOf(const ModelDetails& details) {
  const runtime::FileFacts& facts = details.facts;
  QList<std::pair<QString, QString>> rows = {
      {tr("Architecture"),
       facts.architecture.empty() ? tr("not named") : textOf(facts.architecture)},
      {tr("Size"),
       tr("%1 parameters, %2, mostly %3")
           .arg(countOf(facts.n_parameters), formatBytes(facts.n_bytes), textOf(facts.weights))},
      {tr("Chat template"), templateText(facts)},
      {tr("Licence"), facts.licence.empty() ? tr("the file names none") : textOf(facts.licence)}};
  if (facts.n_context > 0)
    rows.insert(1, {tr("Context"), tr("%1 tokens").arg(formatCount(qint64(facts.n_context)))});
  if (!facts.unsupported.empty()) rows.append({tr("Does not run"), textOf(facts.unsupported)});
  if (details.freeBytes > 0)
    rows.append(
        {tr("Memory"), tr("%1 for the weights, %2 free")
                           .arg(formatBytes(details.weightBytes), formatBytes(details.freeBytes))});
  for (const ModelFit& fit : details.fits) rows.append({fit.preset, fitText(fit)});
  if (!details.fitError.isEmpty()) rows.append({tr("Fits"), details.fitError});
  return rows;
}

}  // namespace satchel::ui

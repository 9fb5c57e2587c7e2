// ModelLibrary: the models on this machine: which there are, what each one is and whether it fits,
// how one comes here. What takes a while is done on a thread of its own, one thing at a time.
//   threads  methods and signals belong to the main thread
#pragma once

#include <QAbstractListModel>
#include <QThread>
#include <functional>
#include <stop_token>

#include "kernels/base/result.h"
#include "runtime/file_facts.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

// What one preset makes of a model under the memory limit.
struct ModelFit {
  QString preset;          // as people read it: "Full"
  quint64 cacheBytes = 0;  // for `tokens`
  std::size_t tokens = 0;  // that fit, up to the model's context
  bool fits = false;       // the weights and so many tokens do
};
struct ModelDetails {
  runtime::FileFacts facts;
  QList<ModelFit> fits;  // empty: not known
  QString fitError;      // why
  quint64 weightBytes = 0, freeBytes = 0;
};
struct FetchProgress {
  quint64 done = 0, total = 0;  // bytes; total 0: not known
};
using FetchFn = std::function<void(const FetchProgress&)>;

// What the program lends it; each may be called on its thread.
struct ModelTools {
  std::function<QList<ModelChoice>()> list;
  std::function<Result<ModelDetails>(const QString& path, std::stop_token stop)> look;
  // Into the model folder; where it lies then.
  std::function<Result<QString>(const QString& path, std::stop_token stop, const FetchFn&)> import;
  std::function<Result<QString>(const QString& url, const QString& sha256, std::stop_token stop,
                                const FetchFn&)>
      download;
};

class ModelLibrary : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { PathRole = Qt::UserRole };

  explicit ModelLibrary(ModelTools tools, QObject* parent = nullptr);
  ~ModelLibrary() override;  // stops what is being done and waits for it

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  const ModelChoice& choice(int row) const { return m_rows[row]; }
  int rowOf(const QString& path) const;  // -1: not there

  // Lists them anew.
  void refresh();
  // Tells detailsFound() of the model; in place of the one asked for last.
  void look(const QString& path);
  void import(const QString& path);
  void download(const QString& url, const QString& sha256);
  void stopFetching();
  bool isFetching() const { return m_isFetching; }
  // Of what is being fetched, and after it what became of it.
  const QString& fetchText() const { return m_fetchText; }
  double fetchShare() const { return m_fetchShare; }  // below 0: not known

  // The details in words: a label and what stands by it.
  static QList<std::pair<QString, QString>> rowsOf(const ModelDetails& details);

 Q_SIGNALS:
  void detailsFound(const QString& path, const satchel::ui::ModelDetails& details);
  void detailsFailed(const QString& path, const QString& message);
  void fetchChanged();
  // It is in the list.
  void fetched(const QString& path);

 private:
  void fetch(const QString& name,
             const std::function<Result<QString>(std::stop_token, const FetchFn&)>& work);
  void endFetch(const Result<QString>& done);

  ModelTools m_tools;
  QList<ModelChoice> m_rows;
  QThread m_thread;       // of looks
  QObject m_inThread;     // lives there
  QThread m_fetchThread;  // of imports and downloads: a look need not wait for them
  QObject m_inFetchThread;
  std::stop_source m_lookStop, m_fetchStop;
  bool m_isFetching = false;
  QString m_fetchName, m_fetchText;
  double m_fetchShare = -1;
};

}  // namespace satchel::ui

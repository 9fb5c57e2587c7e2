#include "ui/model/in_process_engine.h"

#include "ui/model/engine_worker.h"

namespace satchel::ui {

InProcessEngine::InProcessEngine(std::unique_ptr<storage::Store> store, const EngineHost& host,
                                 QObject* parent)
    : EngineClient(parent), m_worker(new EngineWorker(std::move(store), host)) {
  m_worker->moveToThread(&m_thread);
  connect(&m_thread, &QThread::finished, m_worker, &QObject::deleteLater);
  relaySignals();
  m_thread.setObjectName(QStringLiteral("engine"));
  m_thread.start();
}

InProcessEngine::~InProcessEngine() {
  stop();
  m_previewStop.request_stop();
  m_idleStop.request_stop();
  // Behind everything that was asked for: a message still waiting is put into the library first.
  QMetaObject::invokeMethod(
      m_worker, [thread = &m_thread] { thread->quit(); }, Qt::QueuedConnection);
  m_thread.wait();
}

void InProcessEngine::relaySignals() {
  connect(m_worker, &EngineWorker::modelOpened, this, &EngineClient::modelOpened);
  connect(m_worker, &EngineWorker::modelSwitched, this, &EngineClient::modelSwitched);
  connect(m_worker, &EngineWorker::modelClosed, this, &EngineClient::modelClosed);
  connect(m_worker, &EngineWorker::chatsListed, this, &EngineClient::chatsListed);
  connect(m_worker, &EngineWorker::chatOpened, this, &EngineClient::chatOpened);
  connect(m_worker, &EngineWorker::chatEntered, this, &EngineClient::chatEntered);
  connect(m_worker, &EngineWorker::chatChanged, this, &EngineClient::chatChanged);
  connect(m_worker, &EngineWorker::chatDeleted, this, &EngineClient::chatDeleted);
  connect(m_worker, &EngineWorker::resumed, this, &EngineClient::resumed);
  connect(m_worker, &EngineWorker::messageAdded, this, &EngineClient::messageAdded);
  connect(m_worker, &EngineWorker::progressed, this, &EngineClient::progressed);
  connect(m_worker, &EngineWorker::answerStarted, this, &EngineClient::answerStarted);
  connect(m_worker, &EngineWorker::thoughtsFound, this, &EngineClient::thoughtsFound);
  connect(m_worker, &EngineWorker::thoughtArrived, this, &EngineClient::thoughtArrived);
  connect(m_worker, &EngineWorker::pieceArrived, this, &EngineClient::pieceArrived);
  connect(m_worker, &EngineWorker::answerFinished, this, &EngineClient::answerFinished);
  connect(m_worker, &EngineWorker::documentRead, this, &EngineClient::documentRead);
  connect(m_worker, &EngineWorker::cacheChanged, this, &EngineClient::cacheChanged);
  connect(m_worker, &EngineWorker::previewed, this, &EngineClient::previewed);
  connect(m_worker, &EngineWorker::chatPreviewed, this, &EngineClient::chatPreviewed);
  connect(m_worker, &EngineWorker::chatApplied, this, &EngineClient::chatApplied);
  connect(m_worker, &EngineWorker::ledgerChanged, this, &EngineClient::ledgerChanged);
  connect(m_worker, &EngineWorker::noticed, this, &EngineClient::noticed);
  connect(m_worker, &EngineWorker::saved, this, &EngineClient::saved);
  connect(m_worker, &EngineWorker::failed, this, &EngineClient::failed);
}

// work: called as work(worker, stop token) on the engine's thread
template <class Work>
void InProcessEngine::post(Request request, Work work) {
  postWith(m_stop.get_token(), request, std::move(work));
}

// Whatever only looks or may wait makes way for it.
template <class Work>
void InProcessEngine::postWith(const std::stop_token& token, Request request, Work work) {
  m_idleStop.request_stop();
  m_previewStop.request_stop();
  QMetaObject::invokeMethod(
      m_worker,
      [worker = m_worker, request, work = std::move(work), token] {
        worker->guard(request, [&] { work(*worker, token); });
      },
      Qt::QueuedConnection);
  postIdle();
}

void InProcessEngine::postIdle() {
  m_idleStop = std::stop_source();
  QMetaObject::invokeMethod(
      m_worker,
      [worker = m_worker, token = m_idleStop.get_token()] {
        worker->guard(Request::Idle, [&] { worker->idle(token); });
      },
      Qt::QueuedConnection);
}

void InProcessEngine::openModel(const QString& path) {
  post(Request::OpenModel, [path](EngineWorker& worker, const std::stop_token& token) {
    worker.openModel(path, token);
  });
}

void InProcessEngine::useCpu() {
  post(Request::UseCpu,
       [](EngineWorker& worker, const std::stop_token& token) { worker.useCpu(token); });
}

void InProcessEngine::listChats() {
  post(Request::ListChats,
       [](EngineWorker& worker, const std::stop_token&) { worker.listChats(); });
}

void InProcessEngine::newChat(const ChatSettings& settings) {
  post(Request::NewChat,
       [settings](EngineWorker& worker, const std::stop_token&) { worker.newChat(settings); });
}

void InProcessEngine::openChat(ChatKey chat) {
  post(Request::OpenChat, [chat](EngineWorker& worker, const std::stop_token& token) {
    worker.openChat(chat, token);
  });
}

void InProcessEngine::renameChat(ChatKey chat, const QString& title) {
  post(Request::RenameChat, [chat, title](EngineWorker& worker, const std::stop_token&) {
    worker.renameChat(chat, title);
  });
}

void InProcessEngine::deleteChat(ChatKey chat) {
  post(Request::DeleteChat,
       [chat](EngineWorker& worker, const std::stop_token&) { worker.deleteChat(chat); });
}

void InProcessEngine::restoreChat(ChatKey chat) {
  post(Request::RestoreChat,
       [chat](EngineWorker& worker, const std::stop_token&) { worker.restoreChat(chat); });
}

void InProcessEngine::send(const QString& text) {
  post(Request::Send,
       [text](EngineWorker& worker, const std::stop_token& token) { worker.send(text, token); });
}

void InProcessEngine::attachDocument(const QString& title, const QString& text) {
  post(Request::AttachDocument, [title, text](EngineWorker& worker, const std::stop_token& token) {
    worker.attachDocument(title, text, token);
  });
}

// Not a request of its own: it ends no idle work.
void InProcessEngine::setThinking(bool thinks) {
  QMetaObject::invokeMethod(
      m_worker, [worker = m_worker, thinks] { worker->setThinking(thinks); }, Qt::QueuedConnection);
}

void InProcessEngine::stop() {
  m_stop.request_stop();
  m_stop = std::stop_source();
}

void InProcessEngine::preview(quint64 budgetBytes) {
  post(Request::Preview, [budgetBytes](EngineWorker& worker, const std::stop_token&) {
    worker.preview(budgetBytes);
  });
}

void InProcessEngine::previewChat(const ChatSettings& settings) {
  const std::stop_source source;
  postWith(source.get_token(), Request::PreviewChat,
           [settings](EngineWorker& worker, const std::stop_token& token) {
             worker.previewChat(settings, token);
           });
  m_previewStop = source;
}

void InProcessEngine::applyToChat(const ChatSettings& settings) {
  post(Request::ApplyToChat, [settings](EngineWorker& worker, const std::stop_token& token) {
    worker.applyToChat(settings, token);
  });
}

void InProcessEngine::pauseIdle() {
  m_idleStop.request_stop();
}

void InProcessEngine::resumeIdle() {
  if (m_idleStop.stop_requested()) postIdle();
}

}  // namespace satchel::ui

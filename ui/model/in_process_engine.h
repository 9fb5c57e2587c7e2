// InProcessEngine: EngineClient over an engine in this process, on a thread of its own.
//   stop     reaches what was asked for before it, running or waiting, and nothing that comes after
//   closing  the destructor stops what runs, saves what was made, and waits for both
#pragma once

#include <QThread>
#include <memory>
#include <stop_token>

#include "storage/store.h"
#include "ui/model/engine_client.h"

namespace satchel::ui {

class EngineWorker;

class InProcessEngine final : public EngineClient {
  Q_OBJECT

 public:
  // store: opened for writing
  explicit InProcessEngine(std::unique_ptr<storage::Store> store, const EngineHost& host = {},
                           QObject* parent = nullptr);
  ~InProcessEngine() override;

  void openModel(const QString& path) override;
  void useCpu() override;
  void listChats() override;
  void newChat(const ChatSettings& settings) override;
  void openChat(ChatKey chat) override;
  void renameChat(ChatKey chat, const QString& title) override;
  void deleteChat(ChatKey chat) override;
  void restoreChat(ChatKey chat) override;
  void send(const QString& text) override;
  void attachDocument(const QString& title, const QString& text) override;
  void setThinking(bool thinks) override;
  void stop() override;
  void preview(quint64 budgetBytes) override;
  void previewChat(const ChatSettings& settings) override;
  void applyToChat(const ChatSettings& settings) override;
  void pauseIdle() override;
  void resumeIdle() override;

 private:
  template <class Work>
  void post(Request request, Work work);
  template <class Work>
  void postWith(const std::stop_token& token, Request request, Work work);
  void postIdle();
  void relaySignals();

  QThread m_thread;
  EngineWorker* m_worker;  // lives in m_thread; deleted when it ends
  std::stop_source m_stop;
  std::stop_source m_previewStop;  // of the preview of the chat asked for last
  std::stop_source m_idleStop;     // of the idle work posted last
};

}  // namespace satchel::ui

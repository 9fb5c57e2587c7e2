// InProcessEngine: EngineClient over a chat service in this process, on a thread of its own. One
// chat is open at a time.
//   search   has a thread of its own beside that
//   stop     reaches what was asked for before it, running or waiting, and nothing that comes after
//   closing  the destructor stops what runs, saves what was made, and waits for both; service,
//            engine and store end on their thread
#pragma once

#include <QThread>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "runtime/chat/chat_service.h"
#include "ui/model/engine_client.h"

namespace satchel::ui {

// Writes a chat's words to a file, in the format that its ending names. Any thread.
using ChatWriter = std::function<Result<WrittenChat>(
    runtime::ChatLibrary& library, const runtime::Chat& chat, const QString& path)>;

class InProcessEngine final : public EngineClient {
  Q_OBJECT

 public:
  // store: opened for writing
  explicit InProcessEngine(std::unique_ptr<runtime::ChatStore> store,
                           runtime::EngineOptions options = {}, QObject* parent = nullptr);
  ~InProcessEngine() override;
  // Before the first exportChat().
  void setChatWriter(ChatWriter writer) { m_writer = std::move(writer); }

  void openModel(const QString& path) override;
  void useCpu() override;
  void listChats() override;
  void newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) override;
  void openChat(ChatKey chat) override;
  void renameChat(ChatKey chat, const QString& title) override;
  void setFolder(ChatKey chat, const QString& folder) override;
  void setAtTop(ChatKey chat, bool isAtTop) override;
  void keepStopped(ChatKey chat, qint64 answer) override;
  void deleteChat(ChatKey chat) override;
  void restoreChat(ChatKey chat) override;
  void deleteNow(ChatKey chat) override;
  void deleteCopy(const QString& name) override;
  void listDeleted() override;
  void exportChat(ChatKey chat, const QString& path) override;
  void search(const QString& words) override;
  void send(const QString& text) override;
  void sendInstead(qint64 message, const QString& text) override;
  void correct(qint64 message, const QString& text) override;
  void readExactly() override;
  void answerAgain(qint64 answer) override;
  void answerLast() override;
  void switchTo(qint64 version) override;
  void setMark(qint64 message, MessageMark mark) override;
  void askAll(const QString& question) override;
  void attachDocument(const QString& title, const QString& text) override;
  void listShelf() override;
  void keepDocument(const QString& id) override;
  void removeDocument(const QString& id) override;
  void attachShelved(const QString& id) override;
  void setAnswers(const runtime::AnswerSettings& answers) override;
  void listPrompts() override;
  void keepPrompt(const QString& name, const QString& text) override;
  void removePrompt(const QString& name) override;
  void setThinking(bool thinks) override;
  void goOn() override;
  void findQuotes(qint64 answer) override;
  void showHeld() override;
  void showAttended() override;
  void listParts() override;
  void nameParts(const std::vector<std::size_t>& parts) override;
  void estimatePresets(quint64 budgetBytes) override;
  void previewChat(const ChatSettings& settings) override;
  void applyToChat(const ChatSettings& settings) override;
  void stop() override;
  void pauseIdle() override;
  void resumeIdle() override;

 private:
  using Call = runtime::ChatCall;
  // On the engine's thread, behind what was posted before.
  template <class Work>
  void post(Work work);
  // The same, for what was asked for: work(call) on m_service. Whatever only looks or may wait
  // makes way.
  template <class Work>
  void request(runtime::ChatTask task, const std::stop_token& stop, Work work);
  template <class Work>
  void request(runtime::ChatTask task, Work work) {  // that stop() reaches
    request(task, m_stop.get_token(), std::move(work));
  }
  template <class Work>
  void guard(runtime::ChatTask task, const Work& work);
  void postIdle();

  // --- on the engine's thread
  void beginChat(const ChatSettings& settings, const runtime::AnswerSettings& answers,
                 const Call& call);
  runtime::Sampling sampling() const;  // of the open chat
  void applyThinking();                // to the answers to come of the open chat
  Result<runtime::MemoryRequest> requestFor(const ChatSettings& settings) const;
  Result<void> writeChat(ChatKey key, const QString& path);
  void fail(runtime::ChatTask task, const Error& error);

  QThread m_thread;
  QObject m_inThread;  // lives there
  QThread m_searchThread;
  QObject m_inSearchThread;  // likewise: what is looked for waits for no answer
  std::unique_ptr<runtime::ChatService> m_service;
  ChatWriter m_writer;
  std::stop_source m_stop;
  std::stop_source m_previewStop;   // of the preview of the chat asked for last
  std::stop_source m_attendedStop;  // of showAttended(), asked for last
  std::stop_source m_idleStop;      // of the idle work posted last
  std::stop_source m_searchStop;    // of the search asked for last

  // --- of the engine's thread
  runtime::ChatSink m_sink;    // tells the window
  runtime::ChatHandle m_open;  // the window's chat; 0: none yet
  bool m_hasThinkingSwitch = false;
  bool m_thinks = true;
};

}  // namespace satchel::ui

// EngineWorker: the engine's work, on the engine's thread: one model, one open chat, one store.
// InProcessEngine calls its slots there one after the other.
//   files    engine_worker.cpp  models and chats · engine_worker_turns.cpp  what is said in them ·
//            engine_worker_memory.cpp  what the open chat holds: told, kept, packed, changed
//   owns     Store, Engine, Session; let go in that order from the last
//   errors   of every layer below become failed(); nothing is thrown through to the event loop
//   order    a message is in the library before the model sees it (Session); a chat enters the
//            library just before its first message and leaves it if that is refused
//   threads  all methods on its own thread; a Stop comes in through the token of the request
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "runtime/engine.h"
#include "ui/model/chat_library.h"
#include "ui/model/engine_types.h"
#include "ui/model/measured.h"
#include "ui/model/open_chat.h"

namespace satchel::ui {

class EngineWorker : public QObject {
  Q_OBJECT

 public:
  // store: its messages and caches; not null
  EngineWorker(std::unique_ptr<storage::Store> store, const EngineHost& host);
  ~EngineWorker() override;

  void openModel(const QString& path, std::stop_token stop);
  void useCpu(std::stop_token stop);
  void listChats();
  void newChat(const ChatSettings& settings);
  void openChat(ChatKey chat, std::stop_token stop);
  void renameChat(ChatKey chat, const QString& title);
  void deleteChat(ChatKey chat);
  void restoreChat(ChatKey chat);
  void setThinking(bool thinks) { m_thinks = thinks; }
  void send(const QString& text, std::stop_token stop);
  void attachDocument(const QString& title, const QString& text, std::stop_token stop);
  void preview(quint64 budgetBytes);
  void previewChat(const ChatSettings& settings, std::stop_token stop);
  void applyToChat(const ChatSettings& settings, std::stop_token stop);
  // Work that may wait, of the open chat; ends at once when asked to.
  void idle(std::stop_token stop);
  // Runs `work`; what a stranger throws becomes failed().
  void guard(Request request, const std::function<void()>& work);

 Q_SIGNALS:
  void modelOpened(const satchel::ui::ModelInfo& model);
  void modelSwitched(const satchel::ui::ModelInfo& model);
  void modelClosed();
  void chatsListed(const QList<satchel::ui::ChatEntry>& chats);
  void chatOpened(const satchel::ui::OpenedChat& chat);
  void chatEntered(const satchel::ui::ChatEntry& chat);
  void chatChanged(const satchel::ui::ChatEntry& chat);
  void chatDeleted(const satchel::ui::ChatEntry& chat);
  void resumed(const satchel::runtime::ResumeReport& report);
  void thoughtsFound(const QList<satchel::ui::MessageThoughts>& thoughts);
  void messageAdded(const satchel::ui::Message& message);
  void progressed(const satchel::ui::ReadingProgress& progress);
  void answerStarted(const satchel::ui::Message& answer);
  void thoughtArrived(const QString& piece);
  void pieceArrived(const QString& piece);
  void answerFinished(const satchel::runtime::GenerateReport& report);
  void documentRead(const satchel::runtime::ReadReport& report);
  void cacheChanged(const satchel::ui::CacheState& state);
  void previewed(const satchel::ui::Previews& previews);
  void chatPreviewed(const satchel::ui::ChatPreview& preview);
  void chatApplied(const satchel::ui::AppliedSettings& applied);
  void ledgerChanged(const satchel::ui::ChatLedger& ledger);
  void noticed(const QString& text);
  void saved(const satchel::kvcache::SaveReport& report);
  void failed(const satchel::ui::EngineError& error);

 private:
  Result<ModelInfo> loadModel(const std::string& path, std::stop_token stop);
  Result<std::unique_ptr<runtime::Engine>> openEngine(const std::string& path);
  bool isCrowdedOut(const Result<std::unique_ptr<runtime::Engine>>& other) const;
  void letModelGo();
  Result<void> takeModelBack(std::stop_token stop);
  ModelInfo take(std::unique_ptr<runtime::Engine> engine, const std::string& path);
  Result<void> beginChat(const ChatSettings& settings);
  Result<void> openSaved(ChatKey chat, std::stop_token stop);
  Result<void> switchModelFor(const storage::Chat& chat, std::stop_token stop);
  Result<void> reopenChat(std::stop_token stop);  // after another engine was opened
  Result<void> resumeOpen(std::stop_token stop);
  // What add(session) commits; the chat enters the library with it if it is its first.
  template <class Ids, class Add>
  Result<Ids> commit(const QString& title, std::stop_token stop, const Add& add);
  Result<void> moveToCpu(std::stop_token stop);
  Result<void> applyThinking();  // of the answers to come, to the session; needs one
  Result<void> answer(const QString& text, std::stop_token stop);
  // To the last message, which is in the library.
  Result<void> reply(std::stop_token stop);
  Result<void> readDocument(const QString& title, const QString& text, std::stop_token stop);
  Result<ChatPreview> planFor(const ChatSettings& settings, std::stop_token stop);
  Result<void> apply(const ChatSettings& settings, std::stop_token stop);
  // The chat opens like this next time.
  Result<void> keepSettings();
  runtime::ProgressFn progressFn(std::function<void()> onGenerate = {});
  void save();
  void keepMeasured(const runtime::ReadReport& report);
  void tellThoughts();
  void tellStore();
  void tellCache();  // and what made it smaller
  // The value by its signal, the error by failed().
  template <class Value>
  void tell(Request request, const Result<Value>& result,
            void (EngineWorker::*signal)(const Value&));
  void tellError(Request request, const Error& error);
  void check(Request request, const Result<void>& done);  // an error becomes failed()

  ChatLibrary m_chats;
  Measured m_measured;
  EngineHost m_host;
  std::unique_ptr<runtime::Engine> m_engine;
  std::string m_modelPath;     // of the engine, or of the one that had to go
  bool m_isModelTold = false;  // the window believes that a model is open
  bool m_isAnothers = false;   // the next error is of a model that did not open beside the open one
  bool m_isFirstModel = true;
  bool m_thinks = true;
  std::unique_ptr<OpenChat> m_open;
  kvcache::MessageId m_unanswered;  // the open chat's last question while its answer is not whole
};

template <class Value>
void EngineWorker::tell(Request request, const Result<Value>& result,
                        void (EngineWorker::*signal)(const Value&)) {
  if (result.ok()) {
    Q_EMIT(this->*signal)(*result);
  } else {
    tellError(request, result.error());
  }
}

}  // namespace satchel::ui

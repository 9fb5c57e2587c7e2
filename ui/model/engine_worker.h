// EngineWorker: the engine's work, on the engine's thread: one model, one open chat, one store.
// InProcessEngine calls its slots there one after the other.
//   owns     Store, Engine, Session; let go in that order from the last
//   errors   of every layer below become failed(); nothing is thrown through to the event loop
//   order    a message is in the library before the model sees it (Session); a chat enters the
//            library just before its first message and leaves it if that is refused
//   threads  all methods on its own thread; a Stop comes in through the token of the request
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "runtime/engine.h"
#include "storage/store.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

class EngineWorker : public QObject {
  Q_OBJECT

 public:
  // store: its messages and caches; not null
  explicit EngineWorker(std::unique_ptr<storage::Store> store, std::size_t threadCount);
  ~EngineWorker() override;

  void openModel(const QString& path);
  void listChats();
  void newChat(const ChatSettings& settings);
  void openChat(ChatKey chat, std::stop_token stop);
  void renameChat(ChatKey chat, const QString& title);
  void deleteChat(ChatKey chat);
  void restoreChat(ChatKey chat);
  void send(const QString& text, std::stop_token stop);
  void attachDocument(const QString& title, const QString& text, std::stop_token stop);
  void preview(quint64 budgetBytes);
  // Work that may wait, of the open chat; ends at once when asked to.
  void idle(std::stop_token stop);
  // Runs `work`; what a stranger throws becomes failed().
  void guard(Request request, const std::function<void()>& work);

 Q_SIGNALS:
  void modelOpened(const satchel::ui::ModelInfo& model);
  void modelSwitched(const satchel::ui::ModelInfo& model);
  void chatsListed(const QList<satchel::ui::ChatEntry>& chats);
  void chatOpened(const satchel::ui::OpenedChat& chat);
  void chatEntered(const satchel::ui::ChatEntry& chat);
  void chatChanged(const satchel::ui::ChatEntry& chat);
  void chatDeleted(const satchel::ui::ChatEntry& chat);
  void resumed(const satchel::runtime::ResumeReport& report);
  void messageAdded(const satchel::ui::Message& message);
  void progressed(const satchel::ui::ReadingProgress& progress);
  void answerStarted(const satchel::ui::Message& answer);
  void pieceArrived(const QString& piece);
  void answerFinished(const satchel::runtime::GenerateReport& report);
  void documentRead(const satchel::runtime::ReadReport& report);
  void cacheChanged(const satchel::ui::CacheState& state);
  void previewed(const satchel::ui::Previews& previews);
  void noticed(const QString& text);
  void saved(const satchel::kvcache::SaveReport& report);
  void failed(const satchel::ui::EngineError& error);

 private:
  struct Open;  // the chat that is open

  Result<ModelInfo> loadModel(const std::string& path);
  Result<void> beginChat(const ChatSettings& settings);
  Result<void> openSaved(ChatKey chat, std::stop_token stop);
  Result<void> switchModelFor(const storage::Chat& chat);
  Result<void> resumeOpen(std::stop_token stop);
  Result<void> makeSession();
  // For the first message: makes the row in the library and the session.
  Result<void> enterLibrary(const QString& title);
  void leaveLibrary();
  void tellStore();
  Result<void> answer(const QString& text, std::stop_token stop);
  Result<void> readDocument(const QString& title, const QString& text, std::stop_token stop);
  Result<Previews> makePreviews(quint64 budgetBytes);
  Result<ChatEntry> entryOf(ChatKey chat);
  runtime::ProgressFn progressFn(std::function<void()> onGenerate = {});
  void save();
  void tellCache();
  void tellError(Request request, const Error& error);
  // What was measured outlives the program, as settings of the library.
  void remember(const runtime::ReadReport& report);
  double rememberedMsPerToken();
  runtime::Fidelity rememberedFidelity();

  std::unique_ptr<storage::Store> m_store;
  std::size_t m_threadCount;
  std::unique_ptr<runtime::Engine> m_engine;
  std::string m_modelPath;
  bool m_isFirstModel = true;
  std::unique_ptr<Open> m_open;
};

}  // namespace satchel::ui

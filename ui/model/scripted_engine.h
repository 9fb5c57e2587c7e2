// ScriptedEngine: an EngineClient for tests and pictures that makes nothing up: what it says was
// put into its script. Keeps chats in memory.
//   use      set the script, make requests, then play(): each step emits one signal, with it the
//            ledger where the chat's memory may have changed. A request that needs no script (newChat,
//            renameChat …) answers at once.
#pragma once

#include <QList>
#include <QStringList>
#include <deque>
#include <functional>
#include <map>

#include "ui/model/engine_client.h"

namespace satchel::ui {

class ScriptedEngine final : public EngineClient {
  Q_OBJECT

 public:
  struct Script {
    ModelInfo model;
    Previews previews;     // answered with the budget that was asked
    QStringList thoughts;  // before the pieces
    QStringList pieces = {QStringLiteral("Noted.")};
    runtime::GenerateReport answer;  // text and n_tokens are filled in
    runtime::ReadReport document;
    QList<ReadingProgress> progress;  // before an answer, a document or a resume
    runtime::ResumeReport resume;
    CacheState cache;              // after each answer, document, resume and change
    ChatLedger ledger;             // with each of them
    runtime::MemoryChange change;  // what other settings would do to the chat, and do
    // One a step while nothing else is to be played and idle work is not paused; the last one is
    // told as done. What was told last stands in `cache`.
    QList<CacheState> packing;
    QList<EngineError> errors;  // the next requests of that kind fail, once each
  };

  using EngineClient::EngineClient;

  Script script;

  void openModel(const QString& path) override;
  void useCpu() override;  // the open chat is opened again; where it fails the model is gone
  void listChats() override;
  void newChat(const ChatSettings& settings) override;
  void openChat(ChatKey chat) override;
  void renameChat(ChatKey chat, const QString& title) override;
  void deleteChat(ChatKey chat) override;
  void restoreChat(ChatKey chat) override;
  void send(const QString& text) override;
  void attachDocument(const QString& title, const QString& text) override;
  void setThinking(bool thinks) override { m_thinks = thinks; }
  void stop() override;
  void preview(quint64 budgetBytes) override;
  void previewChat(const ChatSettings& settings) override;
  void applyToChat(const ChatSettings& settings) override;
  void pauseIdle() override;
  void resumeIdle() override { m_isIdlePaused = false; }

  // Emits the next signals of what was asked; false: there are none.
  bool play(int steps = 1);
  void playAll();
  // A chat that is already in the library.
  ChatKey addChat(const QString& title, const QDateTime& changed, const QList<Message>& messages,
                  const ChatSettings& settings = {});

  const ChatSettings& settings() const { return m_open.settings; }
  int stopsAsked() const { return m_stopsAsked; }
  const QList<ChatSettings>& previewsAsked() const { return m_previewsAsked; }  // of the open chat
  bool isIdlePaused() const { return m_isIdlePaused; }
  bool thinks() const { return m_thinks; }

 private:
  // Ends packing; false: the script has this request fail.
  bool begins(Request request);
  void enterLibrary(const QString& title);
  void playProgress();
  void then(std::function<void()> step) { m_steps.push_back(std::move(step)); }
  void finishAnswer(runtime::Finish finish);
  bool packOn();
  void endPacking();
  void tellCache();

  std::deque<std::function<void()>> m_steps;
  std::map<ChatKey, OpenedChat> m_library;
  std::map<ChatKey, OpenedChat> m_deleted;
  OpenedChat m_open;
  QString m_answer, m_thought;
  qint64 m_pieceCount = 0;
  bool m_isAnswering = false;
  bool m_isIdlePaused = false;
  bool m_thinks = true;
  ChatKey m_lastKey = 0;
  int m_stopsAsked = 0;
  QList<ChatSettings> m_previewsAsked;
};

}  // namespace satchel::ui

// EngineClient: the engine as the window sees it. Every request returns at once; what comes of it
// is a signal.
//   order    requests are done one after the other, in the order they were made; stop() overtakes
//   idle     what may wait (packing) is done when nothing is asked for, piece by piece; a request or
//            pauseIdle() ends it at once, and what was packed stays packed
//   errors   failed(): the request changed nothing that is not shown by another signal before it
//   threads  methods and signals belong to the thread the client lives in
//   made as  ScriptedEngine (tests), InProcessEngine (a worker thread)
#pragma once

#include <QObject>
#include <QString>

#include "ui/model/engine_types.h"

namespace satchel::ui {

class EngineClient : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // Ends the chat that is open, loads the model.
  virtual void openModel(const QString& path) = 0;
  // The model goes on with the CPU, from now on; the open chat as it was saved. A message of it that
  // has no whole answer is answered anew. May be asked for again after it failed: what was not done
  // yet is tried again.
  virtual void useCpu() = 0;
  virtual void listChats() = 0;
  // The chat enters the library with its first message.
  virtual void newChat(const ChatSettings& settings) = 0;
  virtual void openChat(ChatKey chat) = 0;
  virtual void renameChat(ChatKey chat, const QString& title) = 0;
  // Takes the chat out of the list; restoreChat() brings it back.
  virtual void deleteChat(ChatKey chat) = 0;
  virtual void restoreChat(ChatKey chat) = 0;
  // To the open chat: commits the message, reads what is unread, answers.
  virtual void send(const QString& text) = 0;
  // Commits the document with its answer "Noted." and reads it.
  virtual void attachDocument(const QString& title, const QString& text) = 0;
  // Whether the answers to come are thought about, where the model has the switch.
  virtual void setThinking(bool thinks) = 0;
  // Ends reading or answering; what was made is kept.
  virtual void stop() = 0;
  virtual void preview(quint64 budgetBytes) = 0;
  // What these settings would do to the open chat; changes nothing. It may take seconds and makes
  // way for whatever is asked for next: then it has failed as cancelled.
  //   settings  with a limit in bytes, not 0
  virtual void previewChat(const ChatSettings& settings) = 0;
  // The open chat goes on with them; where that takes reading it again, that is done now.
  virtual void applyToChat(const ChatSettings& settings) = 0;
  // No idle work, until resumeIdle() or the next request is done.
  virtual void pauseIdle() = 0;
  virtual void resumeIdle() = 0;

 Q_SIGNALS:
  void modelOpened(const satchel::ui::ModelInfo& model);
  // openChat() met a chat of another model and opened that one for it, or useCpu() the same again, or
  // a model that did not open had taken the place of this one, which is back; its chat follows.
  void modelSwitched(const satchel::ui::ModelInfo& model);
  // The model had to be let go, for the CPU or for another: failed() follows, or modelSwitched() where
  // it came back. What waits to be read was for another model.
  void modelClosed();
  void chatsListed(const QList<satchel::ui::ChatEntry>& chats);
  // With messages: resumed() or failed() follows.
  void chatOpened(const satchel::ui::OpenedChat& chat);
  // The open chat had its first message and is in the library now.
  void chatEntered(const satchel::ui::ChatEntry& chat);
  // Title or time changed, or the chat is back.
  void chatChanged(const satchel::ui::ChatEntry& chat);
  void chatDeleted(const satchel::ui::ChatEntry& chat);
  void resumed(const satchel::runtime::ResumeReport& report);
  // Of the open chat, after resumed(); nothing where nothing was thought.
  void thoughtsFound(const QList<satchel::ui::MessageThoughts>& thoughts);
  void messageAdded(const satchel::ui::Message& message);
  void progressed(const satchel::ui::ReadingProgress& progress);
  void answerStarted(const satchel::ui::Message& answer);
  void thoughtArrived(const QString& piece);  // before the first piece
  void pieceArrived(const QString& piece);
  void answerFinished(const satchel::runtime::GenerateReport& report);
  void documentRead(const satchel::runtime::ReadReport& report);
  void cacheChanged(const satchel::ui::CacheState& state);
  void previewed(const satchel::ui::Previews& previews);
  void chatPreviewed(const satchel::ui::ChatPreview& preview);
  void chatApplied(const satchel::ui::AppliedSettings& applied);
  // Of the open chat, before the report of what made it grow.
  void ledgerChanged(const satchel::ui::ChatLedger& ledger);
  // For people: something that is no failure but should be known.
  void noticed(const QString& text);
  void saved(const satchel::kvcache::SaveReport& report);
  void failed(const satchel::ui::EngineError& error);
};

}  // namespace satchel::ui

// EngineClient: the engine as the window sees it. Every request returns at once; what comes of it
// is told by happened().
//   order    requests are done one after the other, in the order they were made; stop() overtakes
//   idle     what may wait (packing) is done when nothing is asked for, piece by piece; a request
//            or pauseIdle() ends it at once, and what was packed stays packed
//   errors   runtime::Failed: the request changed nothing that is not told by another event before
//            it
//   end      ended(): the process of the engine is no more. All that was asked for has failed, and
//            no model and no chat is open; the next request starts another
//   threads  methods and signals belong to the thread the client lives in
//   made as  InProcessEngine (a thread of this process), ChildEngine (a process of its own),
//            ScriptedEngine (tests)
#pragma once

#include <QObject>

#include "runtime/chat/chat_events.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

class EngineClient : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // Closes the chat that is open, loads the model.
  virtual void openModel(const QString& path) = 0;
  // The model goes on with the CPU, from now on; the open chat as it was saved. A message of it
  // that has no whole answer is answered anew. May be asked for again after it failed. After
  // ended(): every model that is opened from now on is.
  virtual void useCpu() = 0;
  virtual void listChats() = 0;
  // The chat enters the library with its first message.
  virtual void newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) = 0;
  virtual void openChat(ChatKey chat) = 0;
  virtual void renameChat(ChatKey chat, const QString& title) = 0;
  virtual void setFolder(ChatKey chat, const QString& folder) = 0;  // empty: none
  virtual void setAtTop(ChatKey chat, bool isAtTop) = 0;            // of the list
  virtual void keepStopped(ChatKey chat, qint64 answer) = 0;        // the user stopped it
  // Takes the chat out of the list; restoreChat() brings it back, deleteNow() deletes it for good.
  virtual void deleteChat(ChatKey chat) = 0;
  virtual void restoreChat(ChatKey chat) = 0;
  virtual void deleteNow(ChatKey chat) = 0;
  // Of the copies that listDeleted() tells, for good.
  virtual void deleteCopy(const QString& name) = 0;
  virtual void listDeleted() = 0;
  // Writes its words to a file, also while an answer is made (ChatWriter); Noticed tells that it is
  // done.
  virtual void exportChat(ChatKey chat, const QString& path) = 0;
  // In the messages of all chats; takes the place of what was looked for before, and waits for no
  // answer.
  virtual void search(const QString& words) = 0;
  // To the open chat: commits the message, reads what is unread, answers. A document in parts that
  // is being read makes way for it, as for askAll() and listParts(): the rest is read while idle.
  virtual void send(const QString& text) = 0;
  // The user's message says this instead, and is answered. What followed stays as another version.
  virtual void sendInstead(qint64 message, const QString& text) = 0;
  // Another answer in place of this one.
  virtual void answerAgain(qint64 answer) = 0;
  // An answer to the open chat's last message, which has none.
  virtual void answerLast() = 0;
  // The user's message says this instead, and what follows it stays (ChatService::correct).
  virtual void correct(qint64 message, const QString& text) = 0;
  // What was kept so is read again.
  virtual void readExactly() = 0;
  // Goes on with this message in the place of another (runtime::MessageVersions).
  virtual void switchTo(qint64 version) = 0;
  // Pins a message, takes the pin off (None), or has the model forget it, for good.
  virtual void setMark(qint64 message, MessageMark mark) = 0;
  // As send(), where the chat is longer than the model's context: each part is asked by itself
  // first, and what they say is committed as a document before the question.
  virtual void askAll(const QString& question) = 0;
  // Commits the document with its answer "Noted." and reads it.
  virtual void attachDocument(const QString& title, const QString& text) = 0;
  // Tells the shelf (runtime::ShelfListed); the other two change it first.
  virtual void listShelf() = 0;
  virtual void keepDocument(const QString& id) = 0;
  virtual void removeDocument(const QString& id) = 0;
  // As attachDocument(), with a document of the shelf.
  virtual void attachShelved(const QString& id) = 0;
  // How the open chat is answered from now on (runtime::AnswersChanged); of a new one also its
  // system prompt.
  virtual void setAnswers(const runtime::AnswerSettings& answers) = 0;
  // Tells the saved prompts (runtime::PromptsListed); the other two change them first.
  virtual void listPrompts() = 0;
  virtual void keepPrompt(const QString& name, const QString& text) = 0;
  virtual void removePrompt(const QString& name) = 0;
  // Whether the answers to come are thought about, where the model has the switch. Ends no idle
  // work.
  virtual void setThinking(bool thinks) = 0;
  // The open chat goes on beyond the model's context, from now on; one that was too long to be
  // resumed is resumed.
  virtual void goOn() = 0;
  // Tells what that answer of the open chat repeats of its documents, 0: what each does
  // (runtime::QuotesFound).
  virtual void findQuotes(qint64 answer) = 0;
  // Tells how the open chat's words are held (runtime::HeldText).
  virtual void showHeld() = 0;
  // Tells what its newest answer looked at (runtime::AttendedText). It may take seconds and makes
  // way for whatever else is asked for, but a preview: then it has failed as cancelled.
  virtual void showAttended() = 0;
  // Tells the open chat's parts (runtime::OlderParts).
  virtual void listParts() = 0;
  // The next message's answer sees these; none: those that it needs.
  virtual void nameParts(const std::vector<std::size_t>& parts) = 0;
  virtual void estimatePresets(quint64 budgetBytes) = 0;
  // What these settings would do to the open chat; changes nothing. It may take seconds and makes
  // way for whatever is asked for next: then it has failed as cancelled.
  //   settings  with a limit in bytes, not 0
  virtual void previewChat(const ChatSettings& settings) = 0;
  // The open chat goes on with them; where that takes reading it again, that is done now.
  virtual void applyToChat(const ChatSettings& settings) = 0;

  // Ends reading or answering; what was made is kept.
  virtual void stop() = 0;
  // No idle work, until resumeIdle() or the next request is done.
  virtual void pauseIdle() = 0;
  virtual void resumeIdle() = 0;

 Q_SIGNALS:
  void happened(const satchel::runtime::ChatEvent& event);
  // error  ENGINE_ENDED, or why the chats cannot be opened any more
  void ended(const satchel::Error& error);
};

}  // namespace satchel::ui

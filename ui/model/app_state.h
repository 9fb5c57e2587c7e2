// AppState: what the window is about: one engine, one open chat, and what is being done now. Leads
// the engine's events into the models and the user's requests to the engine; the widgets only show
// it.
//   files    app_state.cpp  what the user asks for · app_state_engine.cpp  what the engine tells ·
//            app_state_beyond.cpp  both, where a chat is longer than the model's context ·
//            app_state_versions.cpp  both, where something is said otherwise ·
//            app_state_search.cpp  both, of what is looked for ·
//            app_state_quotes.cpp  both, of what answers repeat of documents ·
//            app_state_held.cpp  both, of how the words are held and what an answer looked at ·
//            app_state_answers.cpp  both, of how the chat is answered, and of folders ·
//            app_state_end.cpp  both, where the engine's process ended
//   states   Loading -> Opening -> Ready <-> Reading -> Answering -> Ready; Ready <-> Applying
//            (other settings); NoModel when opening failed, or going on with the CPU did, or the
//            engine ended: then what is on the screen stays to be read, as do the words of a chat
//            that could not be opened
//   invariant  a request is made only in a state that allows it; the widgets ask canSend() …
#pragma once

#include <QObject>
#include <QTimer>
#include <chrono>

#include "kernels/base/clock.h"
#include "ui/model/chat_list_model.h"
#include "ui/model/context_question.h"
#include "ui/model/conversation_model.h"
#include "ui/model/document_imports.h"
#include "ui/model/engine_client.h"
#include "ui/model/found_model.h"
#include "ui/model/memory_panel_state.h"
#include "ui/model/packed_notes.h"
#include "ui/model/reading_clock.h"
#include "ui/model/resume_state.h"

namespace satchel::ui {

class AppState : public QObject {
  Q_OBJECT

 public:
  enum class Phase { NoModel, Loading, Ready, Opening, Reading, Answering, Applying };

  // engine, clock: not owned
  AppState(EngineClient* engine, const Clock* clock, QObject* parent = nullptr);

  ConversationModel* conversation() { return &m_conversation; }
  ChatListModel* chats() { return &m_chats; }
  FoundModel* found() { return &m_found; }
  MemoryPanelState* memory() { return &m_memory; }

  Phase phase() const { return m_phase; }
  bool isBusy() const;
  // Also while a document in parts is read, once there is a part to be asked: it makes way.
  bool canSend() const {
    return m_phase == Phase::Ready || (m_partsReading.hasPart && !m_partsReading.makesWay);
  }
  bool canStop() const { return doesEngineStop() || m_imports.isBusy(); }
  const runtime::ModelFacts& model() const { return m_model; }
  // What who writes must know of the open model, in a sentence; mostly nothing.
  QString modelNote() const;
  // With what it computes, short and in a sentence, which says why it is not the GPU.
  QString deviceName() const;
  QString deviceNote() const;
  const ChatEntry& chat() const { return m_chat; }
  // What it tells the model first, and how its answers are made.
  const runtime::AnswerSettings& answers() const { return m_answers; }
  const ReadingClock& reading() const { return m_reading; }
  const ResumeState& resume() const { return m_resume; }
  // Asked in place of an error, until it is answered or something else is begun.
  const ContextQuestion& question() const { return m_question; }
  QString questionText() const { return m_question.text(m_model.n_context); }
  // The chat has older parts, which can be listed, named and asked.
  bool hasParts() const { return m_memory.isBeyond(); }
  // What the next question is to be answered from, in a sentence; empty: from what it needs.
  QString namedText() const;
  // The chat taken out of the list last, while it can be brought back.
  const ChatEntry& deleted() const { return m_deleted; }

  void openModel(const QString& path);
  // On with the CPU after the GPU failed; not but on the user's word. Again, where that failed.
  void useCpu();
  // The engine's process ended, and nothing was begun since; or opening was stopped, and there is
  // no model.
  bool isEngineLost() const { return m_isEngineLost; }
  // Then: model and chat are opened again.
  void retry();
  void newChat();
  void newChatWith(const runtime::AnswerSettings& answers);
  // Of the open chat; the system prompt only while it has no message.
  void setAnswers(const runtime::AnswerSettings& answers);
  // Texts that are kept under names: promptsListed().
  void listPrompts();
  void keepPrompt(const QString& name, const QString& text);
  void removePrompt(const QString& name);
  void setFolder(ChatKey chat, const QString& folder);
  void setAtTop(ChatKey chat, bool isAtTop);
  void openChat(ChatKey chat);
  // Looks for the words in all messages: found(). Too few letters find nothing.
  void search(const QString& words);
  // Opens the chat where it is not open, and shows the message: messageWanted().
  void openFound(int row);
  void renameChat(ChatKey chat, const QString& title);
  void deleteChat(ChatKey chat);
  void restoreDeleted();
  void forgetDeleted();
  // Of those deleted before: deletedListed(), one is brought back, one goes for good.
  void listDeleted();
  void restoreChat(ChatKey chat);
  void deleteNow(ChatKey chat);
  void deleteCopy(const QString& name);
  // Its words, as JSON where the name ends so, else as Markdown; a file there is replaced.
  void exportChat(ChatKey chat, const QString& path);
  void send(const QString& text);
  // Waits its turn where something else is being done; Stop and errors empty the queue.
  void attachDocument(const QString& title, const QString& text);
  // Files are read beside the window, in their order, and attached then.
  void attachFile(const QString& path);
  void setDocumentReader(const DocumentReader& reader) { m_imports.setReader(reader); }
  bool takesDocument(const QString& path) const { return m_imports.takes(path); }
  QStringList documentEndings() const { return m_imports.endings(); }  // lower case
  // Documents that chats have read: shelfListed(). One of them is attached, if that can be now.
  void listShelf();
  void attachShelved(const QString& id, const QString& title);
  void keepDocument(const QString& id);
  void removeDocument(const QString& id);
  void stop();  // the user asks for it
  // Ends what is being done, for another chat or model, or because the window closes: what is cut
  // off by that is offered when the chat is opened again.
  void leave();
  // The answers to come are thought about, where the model has the switch. It begins on.
  void setThinking(bool thinks);
  // The user writes: packing makes way at once, and goes on when nothing was written for a while.
  void noteTyping();
  void setTypingRest(std::chrono::milliseconds rest) { m_typingRest.setInterval(rest); }
  // The open chat goes on with these settings.
  void applyToChat(const ChatSettings& settings);
  void dismissResume();
  void goOn();      // beyond the context, with what was refused there
  void stopHere();  // the question goes
  // The parts of the open chat: partsListed().
  void listParts();
  // The next question's answer sees these, numbered from 0; none: those that it needs.
  void nameParts(const QList<int>& parts);
  // What can be said otherwise is (Message::canReplace), and switched to what it was before.
  bool canReplace(int row) const {
    return m_phase == Phase::Ready && row >= 0 && m_conversation.message(row).canReplace;
  }
  // False: not now.
  bool sendInstead(qint64 message, const QString& text);
  bool correct(qint64 message, const QString& text);
  void readExactly();
  void answerAgain(int row);
  void answerLast();                      // the last message; again, where its answer is not whole
  void continueAnswer();                  // asks for the rest of it, in a word
  void switchVersion(int row, int step);  // to an older one: -1, a newer one: 1
  // Of a message that the model has read; a document in parts has no mark.
  bool canMark(int row) const;
  void setMark(int row, MessageMark mark);
  // The question that the row answers; empty: there is none.
  QString questionOf(int row) const;
  // The same, once more.
  void askAgain(int row, const QList<int>& parts);
  // Each part by itself, then an answer from what they say. False: not now; the notice says why.
  bool askAll(const QString& question);
  // What the conversation shows on its words; kept up to date as that changes. Of Heat that is
  // with each answer: it is what the newest one looked at, in memory as it was then.
  HeldLook heldLook() const { return m_heldLook; }
  void setHeldLook(HeldLook look);
  QString heldSummary() const;
  void showError(const QString& code, const QString& message);

 Q_SIGNALS:
  void phaseChanged();
  void canSendChanged();  // within a phase
  void chatChanged();     // another chat is open, or its title changed
  void progressChanged();
  void resumeChanged();
  void answersChanged();
  void promptsListed(const satchel::runtime::PromptsListed& listed);
  void deletedChanged();
  void deletedListed(const satchel::ui::DeletedList& deleted);
  void shelfListed(const satchel::runtime::ShelfListed& shelf);
  void listingFailed();  // of chats, deleted ones or not
  void foundChanged();
  void messageWanted(int row);
  void heldLookChanged();
  void questionChanged();
  void namedChanged();
  void partsListed(const satchel::runtime::OlderParts& parts);
  // The chat goes on: the text that was refused at its end is to be sent.
  void sendAsked();
  void errorShown(const QString& code, const QString& message);
  // The error shown just now is the GPU's, and useCpu() would help; or no model is open any more
  // for the chat that is shown: useCpu() tries again.
  void cpuOffered();
  // The error shown just now came of the end of the engine: retry().
  void retryOffered();
  // The chat that was opened ends with a message that answerLast() answers, or, after retry(), with
  // an answer that the end took. text: that it is missing
  void answerOffered(const QString& text, const QString& label);
  // It ends with a part of an answer: continueAnswer().
  void continuationOffered(const QString& text);
  // Something else is being done now than what the last error was about.
  void workBegun();
  // What the user wrote was not taken: it belongs back into the input box. Instead of a message:
  // as an edit of that one.
  void textRefused(const QString& text);
  void editRefused(qint64 message, const QString& text);
  void noticeShown(const QString& text);

 private:
  // What the engine tells; each looks for the events that are its own.
  void see(const runtime::ChatEvent& event);
  void seeModelsAndChats(const runtime::ChatEvent& event);
  void seeAnswers(const runtime::ChatEvent& event);
  void seeMemory(const runtime::ChatEvent& event);
  void seeQuotes(const runtime::ChatEvent& event);
  void seeAnswerSettings(const runtime::ChatEvent& event);
  void seeHeld(const runtime::ChatEvent& event);
  void showHeld();
  void forgetAttended();
  void findQuotes(runtime::MessageId answer);
  void onEngineEnded(const Error& error);
  void offerRetry();
  void offerAnswer();
  void setPhase(Phase phase);
  void setIdle();
  bool canTryAgain() const;
  void showNoChat();
  void takeChat(const ChatEntry& chat);
  void finishWork();
  void attachNext();
  void connectImports();
  void refuseDocument(const QString& title);
  bool doesEngineStop() const;
  void beginAsking(const QString& text);
  void onPartsListed(const runtime::OlderParts& parts);
  void onReplaced(const runtime::MessagesReplaced& replaced);
  void onCorrected(const runtime::CorrectReport& report);
  void onReadExactly(const runtime::ExactReport& report);
  void onFound(const runtime::PassagesFound& found);
  void showWanted();
  void onMemory(const runtime::ChatMemory& memory);
  void onModelOpened(const runtime::ModelFacts& model);
  void onChatOpened(const runtime::ChatOpened& opened);
  void onChatShown(const runtime::ChatShown& shown);
  void load(const std::vector<runtime::StoredMessage>& messages);
  void onChatsListed(const runtime::ChatsListed& listed);
  void onChatRemoved(const ChatEntry& chat);
  void onResumed(const runtime::ResumeReport& report);
  void onAdded(const runtime::StoredMessage& added);
  void onAnswerFinished(const runtime::GenerateReport& report);
  void endDocument();
  void onDocumentRead(const runtime::ReadReport& report);
  void previewChat(const ChatSettings& settings);
  void onApplied(const runtime::MemoryChanged& changed);
  void onFailed(const runtime::Failed& failed);
  bool isReplaced(const runtime::Failed& failed) const;
  void refuseText();
  void endFailed(runtime::ChatTask task);
  void showFailed(const runtime::Failed& failed);
  void showStopped(runtime::ChatTask task, const QString& notAttached);
  void onReclaimed(const std::vector<runtime::LedgerEntry>& steps, quint64 limitBytes);
  void ask(ContextQuestion question);
  void dropQuestion();
  void onContextEnded();
  void onWentOn();
  void setNamed(const QList<int>& parts);

  EngineClient* m_engine;
  const Clock* m_clock;
  ConversationModel m_conversation;
  ChatListModel m_chats;
  FoundModel m_found;
  QString m_searched;     // the words looked for last
  FoundPassage m_wanted;  // to be shown once its chat is open; chat 0: none
  MemoryPanelState m_memory;
  Phase m_phase = Phase::NoModel;
  bool m_isOnlyShown = false;  // the chat on the screen could not be opened: NoModel, if idle
  runtime::ModelFacts m_model;
  QString m_modelAsked;  // open, or asked for last
  bool m_isEngineLost = false;
  int m_endsInARow = 0;            // of the engine, without a whole answer or document between
  bool m_isKnownOnCpu = false;     // what was open when it ended
  bool m_isAnswerOffered = false;  // once the chat is open again
  bool m_isStopAsked = false;      // of an answer, by the user; until the engine tells its end
  // Why an opening ends early. Newer: another one, or a model's, took its place.
  enum class Cut { None, ByUser, Newer } m_openingCut = Cut::None;
  ChatKey m_chatAsked = 0;  // until it is open: its words are there, and its model
  ChatEntry m_chat;
  runtime::AnswerSettings m_answers;
  ReadingClock m_reading;
  ResumeState m_resume;
  ChatEntry m_deleted;
  QList<std::pair<QString, QString>> m_waiting;  // documents: title, text
  // Until its message is in the library.
  QString m_sentText;
  qint64 m_replacedMessage = 0;  // by that text; 0: it is a new one
  int m_switchedRow = -1;        // whose version is being switched
  std::pair<QString, QString> m_sentDocument;
  // The document in parts that is being read.
  struct PartsReading {
    runtime::MessageId document = {};  // 0: none
    bool hasPart = false;              // one has been read
    bool makesWay = false;             // for a question, which is read and answered next
  };
  PartsReading m_partsReading;
  HeldLook m_heldLook = HeldLook::Off;
  QTimer m_heldDue;  // runs while what is shown of it is older than the cache
  enum class Look { Unknown, Asked, Known, Failed } m_attended = Look::Unknown;
  QString m_attendedProblem;  // why it failed
  ContextQuestion m_question;
  ContextQuestion m_goingOn;  // what is being done about it
  QList<int> m_named;
  PackedNotes m_packed{&m_conversation};
  QTimer m_typingRest;           // runs while the user writes
  bool m_hasIdleFailed = false;  // since the last request: not tried again before
  DocumentImports m_imports;     // goes first: it waits for what is read
};

}  // namespace satchel::ui

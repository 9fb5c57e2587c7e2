// ScriptedEngine: an EngineClient for tests and pictures that makes nothing up: what it says was
// put into its script. Keeps chats in memory.
//   use      set the script, make requests, then play(): each step tells one event, with it the
//            ledger where the chat's memory may have changed. A request that needs no script
//            (newChat, renameChat …) answers at once.
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
    runtime::ModelFacts model;
    runtime::PresetEstimates previews;  // answered with the budget that was asked
    QStringList thoughts;               // before the deltas
    QStringList deltas = {QStringLiteral("Noted.")};
    runtime::GenerateReport answer;  // text and n_tokens are filled in
    runtime::ReadReport document;
    std::size_t n_document_parts = 1;  // in which a document is read; each is told after a step
    std::string notes;                 // what all parts say to askAll(); empty: nothing
    runtime::OlderParts parts;
    runtime::ShelfListed shelf;
    std::vector<runtime::AnswerQuote> quotes;  // told by findQuotes(), once there are some
    runtime::HeldText held;                    // told by showHeld()
    runtime::AttendedText attended;            // told by showAttended(), a step later
    runtime::MessageId replacedBehind;         // where sendInstead() and answerAgain() cut the chat
    qint64 nextId = 0;                         // of what they add, rising
    runtime::MessagesReplaced switched;        // told by switchTo()
    runtime::VersionsChanged versions;         // at the end of all three
    runtime::CorrectReport corrected;          // told after `switched` and `versions`
    runtime::ExactReport exact;
    bool endsContext = false;           // the end of what comes next is the context's, until goOn()
    QList<runtime::Progress> progress;  // before an answer, a document or a resume
    runtime::ResumeReport resume;
    runtime::ChatMemory cache;      // after each answer, document, resume and change
    runtime::LedgerChanged ledger;  // with each of them
    runtime::MemoryChange change;   // what other settings would do to the chat, and do
    // One a step while nothing else is to be played and idle work is not paused; the last one is
    // told as done. What was told last stands in `cache`.
    QList<runtime::ChatMemory> packing;
    // When the messages of a chat that is opened were written, and their tokens; 0: not known.
    struct Written {
      qint64 ms = 0;
      std::size_t n_tokens = 0;
    };
    QList<Written> written;
    QList<runtime::LibraryCopy> copies;  // those that updates left
    bool isDeletedListLate = false;      // listDeleted() is not answered
    QList<runtime::Failed> errors;       // the next requests of that kind fail, once each
  };

  using EngineClient::EngineClient;

  Script script;

  void openModel(const QString& path) override;
  void useCpu() override;  // the open chat is opened again; where it fails the model is gone
  void listChats() override;
  void newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) override;
  void openChat(ChatKey chat) override;
  void renameChat(ChatKey chat, const QString& title) override;
  void setFolder(ChatKey chat, const QString& folder) override;
  void setAtTop(ChatKey chat, bool isAtTop) override;
  void keepStopped(ChatKey chat, qint64 answer) override;
  void deleteChat(ChatKey chat) override;
  void restoreChat(ChatKey chat) override;
  void deleteNow(ChatKey chat) override { m_deleted.erase(chat); }
  void deleteCopy(const QString& name) override;
  void listDeleted() override;
  void exportChat(ChatKey chat, const QString& path) override {
    m_exported = QString::number(chat) + QStringLiteral(": ") + path;
  }
  void search(const QString& words) override { m_searched.append(words); }
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
  void listShelf() override { tell(script.shelf); }
  void keepDocument(const QString& id) override { m_shelfAsked = QStringLiteral("keep ") + id; }
  void removeDocument(const QString& id) override { m_shelfAsked = QStringLiteral("remove ") + id; }
  void attachShelved(const QString& id) override { attachDocument(id, {}); }
  void setAnswers(const runtime::AnswerSettings& answers) override;
  void listPrompts() override { tell(runtime::PromptsListed{m_prompts}); }
  void keepPrompt(const QString& name, const QString& text) override;
  void removePrompt(const QString& name) override;
  void setThinking(bool thinks) override { m_thinks = thinks; }
  void goOn() override;
  void findQuotes(qint64 answer) override;
  void showHeld() override;
  void showAttended() override;
  void listParts() override { tell(script.parts); }
  void nameParts(const std::vector<std::size_t>& parts) override { m_namedParts = parts; }
  void estimatePresets(quint64 budgetBytes) override;
  void previewChat(const ChatSettings& settings) override;
  void applyToChat(const ChatSettings& settings) override;
  void stop() override;
  void pauseIdle() override;
  void resumeIdle() override { m_isIdlePaused = false; }

  // Emits the next signals of what was asked; false: there are none.
  bool play(int steps = 1);
  void playAll();
  // A chat that is already in the library.
  ChatKey addChat(const QString& title, const QDateTime& changed, const QList<Message>& messages,
                  const ChatSettings& settings = {});

  // What the library has of a chat that was made while playing.
  void saveMessages(ChatKey chat, const QList<Message>& messages) {
    m_library.at(chat).messages = messages;
  }

  void tell(const runtime::ChatEvent& event) { Q_EMIT happened(event); }
  // As if the engine's process were no more: nothing of what was asked for comes.
  void end(const std::string& why = "The engine crashed.");
  // Said again, as it is in the script now.
  void tellModelSwitched();
  void tellLedger();

  const ChatSettings& settings() const { return m_open.settings; }
  int deletedAsked() const { return m_deletedAsked; }  // how often
  int stopsAsked() const { return m_stopsAsked; }
  const QList<ChatSettings>& previewsAsked() const { return m_previewsAsked; }  // of the open chat
  bool isIdlePaused() const { return m_isIdlePaused; }
  bool thinks() const { return m_thinks; }
  const std::vector<std::size_t>& namedParts() const { return m_namedParts; }
  const QString& exported() const { return m_exported; }  // "3: /a/b.md"
  const QStringList& searched() const { return m_searched; }
  // What was asked for last: "instead 3: text", "correct 3: text", "exactly",
  // "again 4", "last", "switch 5".
  const QString& replaceAsked() const { return m_replaceAsked; }
  // "keep ID", "remove ID"
  const QString& shelfAsked() const { return m_shelfAsked; }
  int heldAsked() const { return m_heldAsked; }  // how often
  int attendedAsked() const { return m_attendedAsked; }
  const QList<qint64>& quotesAsked() const { return m_quotesAsked; }  // of which answers
  // What was asked of all parts last.
  const QString& askedAll() const { return m_askedAll; }

 private:
  struct SavedChat {
    ChatEntry entry;
    ChatSettings settings;
    QList<Message> messages;
    runtime::AnswerSettings answers = {};
  };
  runtime::ChatOpened shownOf(const SavedChat& chat) const;
  // Ends packing; false: the script has this request fail.
  bool begins(runtime::ChatTask task);
  // What is being read in parts is left, and `then` comes next.
  void makeWay();
  void answer(qint64 id = 0);
  void tellPartsRead(std::size_t n, std::size_t all);
  void enterLibrary(const QString& title);
  void playProgress();
  void then(std::function<void()> step) { m_steps.push_back(std::move(step)); }
  void finishAnswer(runtime::Finish finish);
  bool packOn();
  void endPacking();
  void thenTell(runtime::ChatEvent event);
  void tellCache();

  std::deque<std::function<void()>> m_steps;
  std::map<ChatKey, SavedChat> m_library;
  std::map<ChatKey, SavedChat> m_deleted;
  SavedChat m_open;
  QString m_answer, m_thought;
  QString m_askedAll, m_replaceAsked, m_shelfAsked;
  QString m_exported;
  std::vector<runtime::SavedPrompt> m_prompts;
  QStringList m_searched;
  int m_heldAsked = 0, m_attendedAsked = 0;
  QList<qint64> m_quotesAsked;
  qint64 m_deltaCount = 0;
  bool m_readsParts = false;
  bool m_isAnswering = false;
  bool m_isOpening = false;
  bool m_isIdlePaused = false;
  bool m_thinks = true;
  std::vector<std::size_t> m_namedParts;
  ChatKey m_lastKey = 0;
  int m_stopsAsked = 0;
  int m_deletedAsked = 0;
  runtime::MarksChanged m_marks;
  QList<ChatSettings> m_previewsAsked;
};

}  // namespace satchel::ui

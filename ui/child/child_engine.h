// ChildEngine: EngineClient over an engine in a process of its own (engine_child.h), so that what
// ends that process (a driver, the kernel where memory runs out) leaves the window, and no word is
// lost: messages are in the library before the model sees them.
//   states   none -> (open(), or a request) started -> opened -> none, by ended()
//   starts   a request starts the engine where there is none. After kStartsMost that ended before
//            they told anything only openModel() and openChat() do, which the user asks for
//   key      of encrypted chats: goes through the pipe, never on the command line
//   closing  the destructor closes the pipe and waits, as InProcessEngine does, but for
//            kEngineEndSeconds at most
#pragma once

#include <QProcess>
#include <QStringList>
#include <map>
#include <memory>
#include <string>

#include "ui/child/wire.h"
#include "ui/model/engine_client.h"
#include "ui/model/engine_setup.h"

namespace satchel::ui {

inline constexpr int kStartsMost = 3;  // chosen
// Time to save what an engine holds when it ends: some GB to a slow disk. Chosen, not measured.
inline constexpr unsigned kEngineEndSeconds = 120;

class ChildEngine final : public EngineClient {
  Q_OBJECT

 public:
  // program, arguments: a program that calls engineChild()
  ChildEngine(QString program, QStringList arguments, EngineSetup setup, QObject* parent = nullptr);
  // This program once more.
  explicit ChildEngine(EngineSetup setup, QObject* parent = nullptr);
  ~ChildEngine() override;

  // Starts it and waits until the chats are open: for before there is a window.
  //   errors  those of storage::Store::open, ENGINE_ENDED
  Result<void> open();
  qint64 processId() const { return m_process ? m_process->processId() : 0; }  // 0: none
  int startsTried() const { return m_startsTried; }

  void openModel(const QString& path) override;
  void useCpu() override;
  void listChats() override;
  void newChat(const ChatSettings& settings, const runtime::AnswerSettings& answers) override;
  void openChat(ChatKey chat) override;
  void renameChat(ChatKey chat, const QString& title) override;
  void setFolder(ChatKey chat, const QString& folder) override;
  void setAtTop(ChatKey chat, bool isAtTop) override;
  void keepStopped(ChatKey chat, qint64 answer) override;
  void exportChat(ChatKey chat, const QString& path) override;
  void deleteChat(ChatKey chat) override;
  void restoreChat(ChatKey chat) override;
  void deleteNow(ChatKey chat) override;
  void deleteCopy(const QString& name) override;
  void listDeleted() override;
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
  // Sends the request; starts the engine where there is none.
  template <auto kMethod, class... Args>
  void ask(const Args&... args);
  // Only where there is one: it needs none for this.
  template <auto kMethod, class... Args>
  void askIfThere(const Args&... args);
  // Now, and first thing to every engine that is started: what holds from now on.
  template <auto kMethod, class... Args>
  void askAlways(const Args&... args);
  void start();
  void say(const std::string& message);
  void hear();
  void end(Error error);
  Error endOf(const QProcess& process) const;

  QString m_program;
  QStringList m_arguments;
  EngineSetup m_setup;
  std::unique_ptr<QProcess> m_process;  // none: it ended, or was not started yet
  Frames m_frames;
  std::map<std::size_t, std::string> m_standing;  // what holds, by its place in kRequests
  bool m_isOpen = false;                          // the chats are
  int m_startsTried = 0;                          // since one told something
  Error m_end;                                    // why the last one did
};

}  // namespace satchel::ui

// OpenChat: the chat that is open: with what it runs, and its session once it has one.
//   states   new (not in the library) -> entered, with its first message -> left again if that is
//            refused; saved (in the library, no session) -> resumed
//   owns     its Session, which uses the engine and the library: both outlive it
//   errors   storage's and the session's
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/engine.h"
#include "ui/model/chat_library.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

class OpenChat {
 public:
  static Result<std::unique_ptr<OpenChat>> begin(const ChatSettings& settings);
  static Result<std::unique_ptr<OpenChat>> of(const storage::Chat& chat);

  // Its row in the library, and a session. Nothing where it has one.
  Result<void> enter(ChatLibrary& chats, runtime::Engine& engine, const std::string& modelPath,
                     const QString& title);
  // Takes back enter().
  Result<void> leave(ChatLibrary& chats);
  // A session over the chat's messages. After an error there is none, unless Stop ended it: then the
  // words are loaded and not all are read.
  //   needs  a chat of the library without a session
  Result<runtime::ResumeReport> resume(ChatLibrary& chats, runtime::Engine& engine,
                                       std::stop_token stop, const runtime::ProgressFn& progress);

  // Its session goes, before the engine does; it can be resumed again.
  void letGo() { m_session.reset(); }

  // What other settings would do to it.
  Result<runtime::MemoryChange> preview(const ChatSettings& settings, std::stop_token stop);
  // It goes on with them; what has no session yet begins with them. After an error it may have one of
  // them or both all the same, and not be read: settings() says what the session has.
  Result<runtime::MemoryChange> apply(const ChatSettings& settings, std::stop_token stop,
                                      const runtime::ProgressFn& progress);

  kvcache::ChatId id() const { return m_id; }  // 0: not in the library yet
  bool isSaved() const { return m_id.value != 0; }
  runtime::Session* session() { return m_session.get(); }  // nullptr: none yet
  const ChatSettings& settings() const { return m_settings; }
  OpenedChat opened() const;  // without entry and messages
  // With what it is to be opened next time.
  storage::ChatSetup setup(const runtime::Engine& engine, const std::string& modelPath) const;
  // needs   a session
  CacheState cacheState() const;
  ChatLedger ledger() const;  // needs a session

 private:
  explicit OpenChat(kvcache::Recipe recipe) : m_recipe(std::move(recipe)) {}
  Result<runtime::MemoryWish> wishOf(const ChatSettings& settings) const;
  Result<void> makeSession(ChatLibrary& chats, runtime::Engine& engine);

  kvcache::Recipe m_recipe;
  ChatSettings m_settings;
  std::optional<std::string> m_system;
  kvcache::ChatId m_id;
  std::unique_ptr<runtime::Session> m_session;
};

}  // namespace satchel::ui

// KnownChat: a chat that the server holds or has on disk, with its words, by which a request that
// tells a whole conversation finds the chat that has read it.
//   rule     only what is exactly the same is the same: message by message, role and text; calls of
//            tools by name and arguments, however they are spaced; what a form marked, where that
//            is known: who spells a result has none. Thoughts are no part of it
#pragma once

#include <list>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/serve/chat_request.h"
#include "runtime/chat/chat_service.h"

namespace satchel::serve {

struct KnownChat {
  std::string id;  // the client's, or one that was made up: by set_id()
  std::string id_hash;
  std::string group;  // prompt_cache_key
  std::optional<std::string> system;
  std::optional<runtime::TextMarks> system_marks = {};  // none: a store has it without
  std::string recipe;                                   // as JSON
  std::vector<Said> said;                               // without the system text
  runtime::ChatId saved;                                // 0: not on disk
  // While it is open; 0: it is closed.
  runtime::ChatHandle handle;
  std::vector<runtime::MessageId> ids;  // of `said`
  runtime::MessageId system_id;  // of the system text, where that is a message; 0: it is none
  std::uint64_t used = 0;        // rises
  bool may_have_idle_work = false;
  bool is_taken = false;           // by a request that is answered, or waits for memory
  std::stop_token client = {};     // of that request: stopped when its client has left
  std::size_t promised_bytes = 0;  // while it answers: that it may come to hold

  bool is_open() const { return handle.value != 0; }
};

void set_id(KnownChat& chat, std::string id);
// Of any text.
inline constexpr std::size_t kHashDigits = 16;
std::string short_hash(std::string_view text);

// form  of their calls
std::size_t n_common(const std::vector<Said>& a, const std::vector<Said>& b, const ToolForm& form);

// recipe  as JSON; "": any
struct Wanted {
  const ChatRequest& request;
  std::string recipe;
};
bool fits(const KnownChat& chat, const Wanted& wanted);
// Of those of the request's group, the one with most of its first messages in common; of several
// one that has no others. One that is taken is worth waiting for where they have much text in
// common, or where its client has left: that one may be asking again. nullptr: none has any.
KnownChat* best_match(std::list<KnownChat>& chats, const Wanted& wanted);
// Where there is none: an open one that has read the same system text, if that is long; one that
// is taken if no other has.
KnownChat* same_system(std::list<KnownChat>& chats, const Wanted& wanted);

// How a store names it.
std::string name_of(const KnownChat& chat);
void read_name(const std::string& name, KnownChat& chat);
std::string fresh_id(const std::string& prefix);

}  // namespace satchel::serve

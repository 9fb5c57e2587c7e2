// ResponseIds: what the id of a response names, so that a request may carry only what is new. The
// id itself says which chat it was and how far it went: it holds as long as the chat is known, also
// after a restart.
//   kept     hashes of the last answers, so that an id whose answer was made anew in its session is
//            not taken for the new one; after a restart it is
//   threads  any
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "app/serve/known_chat.h"

namespace satchel::serve {

class ResponseIds {
 public:
  // Of the answer to a request, which has all messages of its chat.
  static std::string make(const std::string& session, const ChatRequest& request);
  // answer  as its chat has it; "": none
  void keep(const std::string& id, const std::string& answer);
  // Puts what went before into the request that names it: messages, system texts of the input, not
  // the instructions. False: there is no such response.
  bool recall(const std::list<KnownChat>& chats, ChatRequest& request) const;

  static constexpr std::size_t kAnswersMax = 4096;  // chosen: half a megabyte

 private:
  bool has_answer(const std::string& id, const std::string& answer) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;  // hashes by id
  std::deque<std::string> order_;               // of the ids, the oldest first
};

}  // namespace satchel::serve

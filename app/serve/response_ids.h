// ResponseIds: what the id of a response names, so that a request may carry only what is new. The
// id itself says which chat it was and how far it went: it holds as long as the chat is known, also
// after a restart.
//   kept     hashes of the last answers, so that an id whose answer was made anew in its session is
//            not taken for the new one; after a restart it is. And the last responses, whole
//   threads  any
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "app/serve/known_chat.h"

namespace satchel::serve {

class ResponseIds {
 public:
  // form  of the calls in the chats
  explicit ResponseIds(const ToolForm& form = *runtime::tool_forms().front()) : form_(form) {}
  // Of the answer to a request, which has all messages of its chat.
  static std::string make(const std::string& session, const ChatRequest& request);
  // answer    as its chat has it; "": none
  // response  as it was told
  void keep(const std::string& id, const std::string& answer, std::string response);
  // Puts what went before into the request that names it: messages, system texts of the input, not
  // the instructions. False: there is no such response.
  bool recall(const std::list<KnownChat>& chats, ChatRequest& request) const;
  // As it was told, if its chat still has it; "": there is no such response, or it is not kept.
  std::string response(const std::list<KnownChat>& chats, const std::string& id) const;

  static constexpr std::size_t kAnswersMax = 4096;             // chosen: half a megabyte of hashes
  static constexpr std::size_t kResponseBytesMax = 16u << 20;  // of all that are whole; chosen

 private:
  struct Kept {
    std::string answer;    // its hash
    std::string response;  // "": not whole any more
  };
  // Where in its chat a response stands; it has checked that it does.
  struct Place;
  std::optional<Place> find(const std::list<KnownChat>& chats, const std::string& id) const;
  bool has_answer(const std::string& id, const std::string& answer) const;
  void drop_oldest();

  const ToolForm& form_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;  // by id
  std::deque<std::string> order_;     // of the ids, the oldest first …
  std::size_t n_not_whole_ = 0;       // … of which so many are not whole
  std::size_t response_bytes_ = 0;
};

}  // namespace satchel::serve

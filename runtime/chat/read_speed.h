// ReadSpeed: how fast a model reads on this machine, kept as a setting of the library. What was
// measured of a chat is kept by its session.
#pragma once

#include <string>

#include "runtime/contract/chat_store.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

class ReadSpeed {
 public:
  // store: outlives it; nullptr: nothing is kept
  explicit ReadSpeed(ChatStore* store) : store_(store) {}

  // A report of too few tokens says nothing and changes nothing.
  Result<void> keep(const std::string& fingerprint, const ReadReport& report);
  double ms_per_token(const std::string& fingerprint);  // 0: not known

 private:
  ChatStore* store_;
};

}  // namespace satchel::runtime

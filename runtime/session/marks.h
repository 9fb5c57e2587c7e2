// Marks: the messages of a chat that are pinned or forgotten. They are the chat's, not the cache's:
// kept in the journal, so that a text that is read again is treated as it was.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/session/message.h"

namespace satchel::runtime {

// The journal's note of them.
inline constexpr std::string_view kMarksNote = "marks";

class Marks {
 public:
  enum class Mark { pinned, forgotten };

  bool empty() const { return marks_.empty(); }
  bool has(MessageId message, Mark mark) const;
  // A message that was forgotten stays so.
  void set(MessageId message, Mark mark);
  void unpin(MessageId message);
  void add(const Marks& others);

  // "pinned 12\nforgotten 15\n"; lines that are none are left out.
  std::string text() const;
  static Marks of(std::string_view text);
  // On the same messages under other ids: the i-th of `its` is the i-th of `ours`.
  Marks copied(std::span<const MessageId> its, std::span<const MessageId> ours) const;
  void show_in(std::span<SessionMessage> messages) const;

 private:
  std::map<MessageId, Mark> marks_;
};

}  // namespace satchel::runtime

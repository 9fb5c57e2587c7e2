#include "runtime/session/marks.h"

#include <algorithm>
#include <charconv>

namespace satchel::runtime {
namespace {

constexpr std::string_view kPinned = "pinned ", kForgotten = "forgotten ";

}  // namespace

bool Marks::has(MessageId message, Mark mark) const {
  const auto found = marks_.find(message);
  return found != marks_.end() && found->second == mark;
}

void Marks::set(MessageId message, Mark mark) {
  const auto [found, is_new] = marks_.try_emplace(message, mark);
  if (mark == Mark::forgotten) found->second = mark;
}

void Marks::unpin(MessageId message) {
  if (has(message, Mark::pinned)) marks_.erase(message);
}

void Marks::add(const Marks& others) {
  for (const auto& [message, mark] : others.marks_) set(message, mark);
}

std::string Marks::text() const {
  std::string text;
  for (const auto& [message, mark] : marks_)
    text += std::string(mark == Mark::pinned ? kPinned : kForgotten) +
            std::to_string(message.value) + "\n";
  return text;
}

Marks Marks::of(std::string_view text) {
  Marks marks;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool is_pinned = line.starts_with(kPinned);
    if (!is_pinned && !line.starts_with(kForgotten)) continue;
    line.remove_prefix((is_pinned ? kPinned : kForgotten).size());
    std::int64_t id = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), id);
    if (read.ec == std::errc() && read.ptr == line.data() + line.size())
      marks.set({id}, is_pinned ? Mark::pinned : Mark::forgotten);
  }
  return marks;
}

void Marks::show_in(std::span<SessionMessage> messages) const {
  for (SessionMessage& message : messages) {
    message.is_pinned = has(message.id, Mark::pinned);
    message.is_forgotten = has(message.id, Mark::forgotten);
  }
}

Marks Marks::copied(std::span<const MessageId> its, std::span<const MessageId> ours) const {
  Marks marks;
  for (std::size_t i = 0; i < std::min(its.size(), ours.size()); ++i)
    if (const auto found = marks_.find(its[i]); found != marks_.end())
      marks.set(ours[i], found->second);
  return marks;
}

}  // namespace satchel::runtime

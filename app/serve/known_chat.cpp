#include "app/serve/known_chat.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "kvcache/base/hash.h"

namespace satchel::serve {
namespace {

// Less is read in less time than a branch or a wait takes. Chosen, not measured.
constexpr std::size_t kMuchTextBytes = 1024;

bool is_much(const std::vector<Said>& said, std::size_t n) {
  std::size_t n_bytes = 0;
  for (std::size_t i = 0; i < n; ++i) n_bytes += said[i].text.size();
  return n_bytes >= kMuchTextBytes;
}

}  // namespace

std::string short_hash(std::string_view text) {
  return kvcache::to_hex(kvcache::hash_bytes(std::as_bytes(std::span(text))))
      .substr(0, kHashDigits);
}

void set_id(KnownChat& chat, std::string id) {
  chat.id_hash = short_hash(id);
  chat.id = std::move(id);
}

std::size_t n_common(const std::vector<Said>& a, const std::vector<Said>& b, const ToolForm& form) {
  // Calls may be marked in one and not in the other: they are read again.
  const auto has_same_marks = [](const Said& one, const Said& other) {
    return one.role == runtime::Role::assistant || !one.knows_marks || !other.knows_marks ||
           one.marks == other.marks;
  };
  const auto is_same = [&](const Said& one, const Said& other) {
    return one.role == other.role && has_same_marks(one, other) &&
           is_same_text(one.text, other.text, form);
  };
  return static_cast<std::size_t>(std::ranges::mismatch(a, b, is_same).in1 - a.begin());
}

bool fits(const KnownChat& chat, const Wanted& wanted) {
  return chat.system == wanted.request.system &&
         chat.system_marks.value_or(wanted.request.system_marks) == wanted.request.system_marks &&
         (wanted.recipe.empty() || wanted.recipe == chat.recipe);
}

KnownChat* best_match(std::list<KnownChat>& chats, const Wanted& wanted) {
  KnownChat* best = nullptr;
  auto best_rank = std::tuple(std::size_t{0}, false, false, std::uint64_t{0});
  for (KnownChat& chat : chats) {
    if (chat.group != wanted.request.group || !fits(chat, wanted)) continue;
    const std::size_t n = n_common(chat.said, wanted.request.messages, *wanted.request.form);
    const auto rank = std::tuple(n, n == chat.said.size(), chat.is_open(), chat.used);
    if (n == 0 || rank <= best_rank) continue;
    if (chat.is_taken && !chat.client.stop_requested() && !is_much(chat.said, n)) continue;
    best = &chat;
    best_rank = rank;
  }
  return best;
}

KnownChat* same_system(std::list<KnownChat>& chats, const Wanted& wanted) {
  if (wanted.request.system.value_or("").size() < kMuchTextBytes) return nullptr;
  KnownChat* answering = nullptr;
  for (KnownChat& chat : chats) {
    if (!chat.is_open() || chat.group != wanted.request.group || !fits(chat, wanted)) continue;
    if (!chat.is_taken) return &chat;
    answering = &chat;
  }
  return answering;
}

std::string name_of(const KnownChat& chat) {
  return chat.group.empty() ? chat.id : chat.id + "/" + chat.group;
}

void read_name(const std::string& name, KnownChat& chat) {
  const std::size_t end = std::min(name.find('/'), name.size());
  set_id(chat, name.substr(0, end));
  chat.group = end < name.size() ? name.substr(end + 1) : "";
}

std::string fresh_id(const std::string& prefix) {
  std::array<unsigned char, 12> bytes = {};
  (void)!getrandom(bytes.data(), bytes.size(), 0);  // so few are always given
  std::string id = prefix;
  for (const unsigned char byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

}  // namespace satchel::serve

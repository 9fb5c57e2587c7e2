#include "app/serve/response_ids.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace satchel::serve {
namespace {

constexpr std::string_view kPrefix = "resp_";
constexpr std::size_t kNumberDigits = 8;

// numbers  as the id has them, so that they cannot be changed by themselves
std::string hash_of(std::string_view numbers, const std::optional<std::string>& system,
                    std::span<const Said> messages, const ToolForm& form) {
  std::string all = std::string(numbers) + (system ? "1" + *system : "0");
  for (const Said& said : messages) {
    const std::string text = comparable_text(said.text, form);
    all +=
        (said.role == runtime::Role::user ? "u" : "m") + std::to_string(text.size()) + ":" + text;
  }
  return short_hash(all);
}

std::string digits_of(std::size_t number) {
  std::array<char, 2 * sizeof number> digits = {};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), number, 16);
  const std::string text(digits.begin(), end);
  return std::string(kNumberDigits - std::min(kNumberDigits, text.size()), '0') + text;
}

// What an id says of its response.
struct Named {
  std::string_view chat, messages;  // hashes: of the session's id; of what was said
  std::string_view numbers;         // as they stand in it:
  std::size_t n_messages = 0;
  std::size_t system_at = 0, system_end = 0;  // what is inherited of the system text
};

std::optional<Named> read_id(std::string_view id) {
  constexpr std::size_t kBytes = kPrefix.size() + 2 * kHashDigits + 4 * kNumberDigits;
  if (id.size() != kBytes || !id.starts_with(kPrefix)) return std::nullopt;
  id.remove_prefix(kPrefix.size());
  Named named{.chat = id.substr(0, kHashDigits),
              .messages = id.substr(kHashDigits, kHashDigits),
              .numbers = id.substr(2 * kHashDigits, 3 * kNumberDigits)};
  std::string_view rest = named.numbers;
  for (std::size_t* const number : {&named.n_messages, &named.system_at, &named.system_end}) {
    const std::string_view part = rest.substr(0, kNumberDigits);
    rest.remove_prefix(kNumberDigits);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *number, 16);
    if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  }
  return named;
}

// Between the request's own system texts: behind its instructions, before what its input has.
void inherit(std::string_view earlier, ChatRequest& request) {
  if (earlier.empty()) return;
  const std::string system = request.system.value_or("");
  const bool has_more = request.system_own < system.size();
  std::string text = system.substr(0, request.system_own);
  if (!text.empty() && !has_more) text += kSystemJoin;
  const std::size_t own = text.size();
  text += earlier;
  if (has_more) text += std::string(kSystemJoin) + system.substr(request.system_own);
  request.system_own = own;
  request.system_end = text.size();
  request.system = std::move(text);
}

}  // namespace

std::string ResponseIds::make(const std::string& session, const ChatRequest& request) {
  const std::string numbers = digits_of(request.messages.size()) + digits_of(request.system_own) +
                              digits_of(request.system_end);
  return std::string(kPrefix) + short_hash(session) +
         hash_of(numbers, request.system, request.messages, *request.form) + numbers +
         fresh_id("").substr(0, kNumberDigits);
}

void ResponseIds::keep(const std::string& id, const std::string& answer, std::string response) {
  const std::lock_guard hold(mutex_);
  const std::size_t n_bytes = response.size();
  if (!kept_.emplace(id, Kept{short_hash(answer), std::move(response)}).second) return;
  order_.push_back(id);
  response_bytes_ += n_bytes;
  while (response_bytes_ > kResponseBytesMax) {
    std::string& oldest = kept_.at(order_[n_not_whole_++]).response;
    response_bytes_ -= std::exchange(oldest, {}).size();
  }
  if (order_.size() > kAnswersMax) drop_oldest();
}

void ResponseIds::drop_oldest() {
  const auto oldest = kept_.find(order_.front());
  response_bytes_ -= oldest->second.response.size();
  kept_.erase(oldest);
  order_.pop_front();
  n_not_whole_ -= n_not_whole_ > 0 ? 1u : 0u;
}

bool ResponseIds::has_answer(const std::string& id, const std::string& answer) const {
  const std::lock_guard hold(mutex_);
  const auto kept = kept_.find(id);
  return kept == kept_.end() ? !answer.empty() : kept->second.answer == short_hash(answer);
}

struct ResponseIds::Place {
  const KnownChat& chat;
  std::span<const Said> messages;  // up to its answer
  std::string_view system;         // of it, what is inherited
};

std::optional<ResponseIds::Place> ResponseIds::find(const std::list<KnownChat>& chats,
                                                    const std::string& id) const {
  const std::optional<Named> named = read_id(id);
  if (!named) return std::nullopt;
  const auto found = std::ranges::find(chats, named->chat, &KnownChat::id_hash);
  if (found == chats.end() || found->said.size() < named->n_messages) return std::nullopt;
  const std::span<const Said> said = found->said;
  const std::span<const Said> rest = said.subspan(named->n_messages);
  const bool is_answered = !rest.empty() && rest.front().role == runtime::Role::assistant;
  if (hash_of(named->numbers, found->system, said.first(named->n_messages), form_) !=
          named->messages ||
      !has_answer(id, is_answered ? rest.front().text : ""))
    return std::nullopt;
  Place place{.chat = *found,
              .messages = said.first(named->n_messages + (is_answered ? 1 : 0)),
              .system = ""};
  if (found->system && named->system_at < named->system_end &&
      named->system_end <= found->system->size())
    place.system = std::string_view(*found->system)
                       .substr(named->system_at, named->system_end - named->system_at);
  return place;
}

bool ResponseIds::recall(const std::list<KnownChat>& chats, ChatRequest& request) const {
  const std::optional<Place> place = find(chats, request.previous);
  if (!place) return false;
  inherit(place->system, request);
  request.messages.insert(request.messages.begin(), place->messages.begin(), place->messages.end());
  if (request.group.empty()) request.group = place->chat.group;
  return true;
}

std::string ResponseIds::response(const std::list<KnownChat>& chats, const std::string& id) const {
  if (!find(chats, id)) return "";
  const std::lock_guard hold(mutex_);
  const auto kept = kept_.find(id);
  return kept == kept_.end() ? "" : kept->second.response;
}

}  // namespace satchel::serve

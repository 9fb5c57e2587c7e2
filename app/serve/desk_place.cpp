// Requests: the chat that each belongs to, with all its messages.
#include <algorithm>
#include <utility>

#include "app/serve/desk.h"
#include "kernels/base/size_text.h"

namespace satchel::serve {
namespace {

// What a message needs behind it is less, in every template.
constexpr std::size_t kLeastAnswer = 32;

Error busy() {
  return {ErrorKind::invalid, "BUSY", "Too many requests are waiting. Try again in a moment."};
}

}  // namespace

using runtime::Role;

KnownChat* Desk::match_of(const ChatRequest& request, const kvcache::Recipe& recipe) {
  if (!request.session.empty()) return known(request.session);
  const Wanted wanted{request, request.recipe.empty() ? "" : recipe.json()};
  KnownChat* const match = best_match(chats_, wanted);
  return match != nullptr ? match : same_system(chats_, wanted);
}

Result<KnownChat*> Desk::choose(Turn& turn, const kvcache::Recipe& recipe,
                                const std::stop_token& stop) {
  const ChatRequest& request = turn.request_;
  KnownChat* const match = match_of(request, recipe);
  if (match == nullptr) return begin_chat(turn, recipe, stop);
  if (request.session.empty()) return choose_alike(turn, *match, stop);
  KnownChat& chat = *match;
  if (!fits(chat, {request, ""})) {  // a recipe is of a chat that begins
    // It was another conversation: its id is this one's now.
    SATCHEL_TRY(check_fits(request, 0));
    SATCHEL_TRY(put_away(chat, stop));
    return begin_chat(turn, recipe, stop);
  }
  SATCHEL_TRY_ASSIGN(turn.resumed_, open(chat, stop));
  const std::size_t n = n_common(chat.said, request.messages, *request.form);
  SATCHEL_TRY_ASSIGN(const bool goes_on, look(stop, [&]() -> Result<bool> {
                       const runtime::Session* session = service_.session(chat.handle);
                       return session != nullptr &&
                              session->beyond() != runtime::BeyondContext::ends;
                     }));
  if (n < chat.said.size()) SATCHEL_TRY(check_fits(request, goes_on ? n : 0));
  SATCHEL_TRY(cut(chat, n, stop));
  return &chat;
}

// The match, or a branch of it.
Result<KnownChat*> Desk::choose_alike(Turn& turn, KnownChat& match, const std::stop_token& stop) {
  const ChatRequest& request = turn.request_;
  SATCHEL_TRY_ASSIGN(turn.resumed_, open(match, stop));
  const std::size_t n = n_common(match.said, request.messages, *request.form);
  if (n == match.said.size()) return &match;
  const auto branched = branch(match, n, stop);
  if (branched.ok()) {
    turn.is_branch_ = true;
    return *branched;
  }
  // There is no memory for two: this one goes on.
  if (!lacks_memory(branched.error())) return branched.error();
  SATCHEL_TRY(check_fits(request, 0));
  SATCHEL_TRY(cut(match, n, stop));
  return &match;
}

// Before messages of a chat are given up for a request: that one is not refused then.
Result<void> Desk::check_fits(ChatRequest request, std::size_t n_held) {
  request.messages.erase(request.messages.begin(),
                         request.messages.begin() + static_cast<std::ptrdiff_t>(n_held));
  SATCHEL_TRY_ASSIGN(const std::size_t n, count_tokens(request));
  const std::size_t n_most = service_.engine()->config().context;
  if (n + kLeastAnswer <= n_most) return {};
  return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
               "This needs " + count_text(n) + " tokens, but this model can read " +
                   count_text(n_most) + " at once. The session is as it was. Shorten it."};
}

Result<void> Desk::place(Turn& turn, const kvcache::Recipe& recipe, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(turn.chat_, choose(turn, recipe, stop));
  KnownChat& chat = *turn.chat_;
  const Result<void> filled = fill(turn, stop);
  // What was made for it nobody else would take away. Why it failed is what counts.
  if (!filled.ok() && turn.is_new_) forget(chat);
  if (!filled.ok() && turn.is_branch_) (void)remove(chat);
  SATCHEL_TRY(filled);
  turn.session_ = chat.id;
  return look(stop, [&]() -> Result<void> {
    const runtime::Session& session = *service_.session(chat.handle);
    turn.n_prompt_ = session.tokens().size();
    turn.n_unread_ = turn.n_prompt_ - std::min(turn.n_prompt_, session.n_read());
    return {};
  });
}

Result<void> Desk::fill(const Turn& turn, const std::stop_token& stop) {
  if (service_.engine()->chat_template().has_thinking_switch())
    SATCHEL_TRY(service_.set_thinking(
        turn.chat_->handle, turn.request_.thinks ? start_.thinking : runtime::Thinking::off,
        {stop, {}}));
  return add(turn, stop);
}

Result<runtime::CallQueue::Permit> Desk::wait_for(const std::function<KnownChat*()>& wanted,
                                                  const std::stop_token& stop) {
  for (;;) {
    SATCHEL_TRY_ASSIGN(runtime::CallQueue::Permit waited, queue_.wait(stop));
    const KnownChat* const chat = wanted();
    if (chat == nullptr || !chat->is_taken) return waited;
    std::optional<runtime::CallQueue::Permit> permit(std::move(waited));
    SATCHEL_TRY(wait_for_a_chat(permit, stop));
  }
}

Result<std::shared_ptr<Desk::Turn>> Desk::begin(ChatRequest request, const std::stop_token& stop) {
  if (n_asked_.fetch_add(1) >= kRequestsMax) {
    --n_asked_;
    return busy();
  }
  const std::shared_ptr<void> ticket(nullptr, [this](void*) { --n_asked_; });
  SATCHEL_TRY(check(request.sampling));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, recipe_of(request));
  std::shared_ptr<Turn> turn(new Turn(std::move(request)));
  turn->ticket_ = ticket;
  for (;;) {
    SATCHEL_TRY_ASSIGN(runtime::CallQueue::Permit permit,
                       wait_for([&] { return match_of(turn->request_, recipe); }, stop));
    turn->permit_.emplace(std::move(permit));
    turn->is_branch_ = turn->is_new_ = false;
    turn->resumed_ = {};
    const Result<void> placed = place(*turn, recipe, stop);
    if (placed.ok()) break;
    if (!lacks_memory(placed.error()) || n_answering_ == 0) return placed.error();
    SATCHEL_TRY(wait_for_a_chat(turn->permit_, stop));
  }
  SATCHEL_TRY(await_memory(*turn, stop));
  return turn;
}

Result<std::size_t> Desk::count_tokens(const ChatRequest& request) {
  return look_aside({}, [&] { return tokens_of(request); });
}

Result<std::size_t> Desk::tokens_of(const ChatRequest& request) const {
  using Ids = std::vector<runtime::TokenId>;
  const runtime::Engine& engine = *service_.engine();
  const runtime::ChatTemplate& form = engine.chat_template();
  const auto thinking =
      request.thinks || !form.has_thinking_switch() ? start_.thinking : runtime::Thinking::off;
  const std::string& system = request.system ? *request.system : form.default_system(thinking);
  const runtime::TurnText told(system, &request.system_marks);
  SATCHEL_TRY_ASSIGN(const Ids opening, form.open_chat(engine.tokenizer(), told, thinking));
  std::size_t n = opening.size();
  std::optional<runtime::TokenId> last;
  bool is_first = true;
  for (const Said& said : request.messages) {
    const runtime::TurnText text(said.text, &said.marks);
    const Result<Ids> ids = said.role == Role::user
                                ? form.user_turn(engine.tokenizer(), text,
                                                 std::exchange(is_first, false)
                                                     ? std::optional(std::string_view(system))
                                                     : std::nullopt,
                                                 last)
                                : form.assistant_turn(engine.tokenizer(), text, thinking,
                                                      runtime::ChatTemplate::Given::whole, last);
    if (!ids.ok()) return ids.error();
    n += ids->size();
    if (!ids->empty()) last = ids->back();
  }
  return n;
}

}  // namespace satchel::serve

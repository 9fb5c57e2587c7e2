// What is said otherwise: the last message edited, an earlier one corrected, an answer given again,
// and going back.
#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "app/cli/chat_loop.h"
#include "runtime/chat/chat_title.h"
#include "runtime/chat/correct_text.h"
#include "runtime/session/transcript.h"

namespace satchel::app {
namespace {

using runtime::MessageVersions;
using runtime::SessionMessage;

Error nothing(const std::string& what) {
  return {ErrorKind::invalid, "PARAM", "There is no " + what + " in this chat yet."};
}

// The last of this role, but for documents and what was noted of them.
const SessionMessage* last_of(std::span<const SessionMessage> messages, runtime::Role role) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const SessionMessage& asked = messages[role == runtime::Role::assistant && i > 0 ? i - 1 : i];
    if (messages[i].role == role && asked.kind == runtime::MessageKind::text) return &messages[i];
  }
  return nullptr;
}

// "  3: Which pet …", of those that can be corrected.
std::string list_of(std::span<const runtime::StoredMessage> stored,
                    std::span<const SessionMessage> messages) {
  std::string text;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!can_be_corrected(messages[i])) continue;
    text += (text.empty() ? "  " : "\n  ") + std::to_string(i + 1) + ": " +
            runtime::title_from(stored[i].title.empty() ? stored[i].text : stored[i].title);
  }
  return text;
}

std::size_t number_of(const MessageVersions& message) {
  const auto found = std::ranges::find(message.versions, message.message);
  return static_cast<std::size_t>(found - message.versions.begin()) + 1;
}

}  // namespace

Result<void> ChatLoop::edit(const std::string& text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos)
    return Error{ErrorKind::invalid, "PARAM", "Write what to say instead: /edit TEXT."};
  const SessionMessage* last = last_of(conversation_->session().messages(), runtime::Role::user);
  if (last == nullptr) return nothing("message of yours");
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                     conversation_->service().send_instead(conversation_->chat(), last->id, text,
                                                           sampling(), conversation_->call()));
  return answered(report);
}

Result<void> ChatLoop::correct(const std::string& numbered) {
  runtime::Session& session = conversation_->session();
  if (numbered.empty()) {
    SATCHEL_TRY_ASSIGN(const auto stored, session.stored_messages());
    const std::string list = list_of(stored, session.messages());
    if (list.empty()) return nothing("message of yours");
    console_.reply(list);
    return {};
  }
  std::size_t number = 0;
  const char* const end = numbered.data() + numbered.size();
  const auto read = std::from_chars(numbered.data(), end, number);
  const auto behind = static_cast<std::size_t>(read.ptr - numbered.data());
  const std::size_t words = std::min(numbered.find_first_not_of(" \t\n", behind), numbered.size());
  if (read.ec != std::errc() || (words == behind && words < numbered.size())) number = 0;
  const std::string text = numbered.substr(words);
  const auto messages = session.messages();
  if (number == 0 || number > messages.size() || !can_be_corrected(messages[number - 1]))
    return Error{ErrorKind::invalid, "PARAM",
                 "Name one of your messages by its number: /correct 3 TEXT. /correct lists them."};
  if (text.find_first_not_of(" \t\n") == std::string::npos)
    return Error{ErrorKind::invalid, "PARAM",
                 "Write what message " + std::to_string(number) + " should say: /correct " +
                     std::to_string(number) + " TEXT."};
  runtime::ChatCall call = conversation_->call();
  // What follows has been shown before.
  call.sink = [told = call.sink](runtime::ChatHandle chat, const runtime::ChatEvent& event) {
    if (!std::holds_alternative<runtime::MessagesReplaced>(event)) told(chat, event);
  };
  SATCHEL_TRY_ASSIGN(
      const runtime::CorrectReport report,
      conversation_->service().correct(conversation_->chat(), messages[number - 1].id, text, call));
  console_.end_progress();
  console_.reply(runtime::describe(report) +
                 (session.n_placed() > 0 ? " /exact reads again what was moved." : ""));
  return {};
}

Result<void> ChatLoop::read_exactly() {
  SATCHEL_TRY_ASSIGN(
      const runtime::ExactReport report,
      conversation_->service().read_exactly(conversation_->chat(), conversation_->call()));
  console_.end_progress();
  console_.reply(runtime::describe(report));
  return {};
}

Result<void> ChatLoop::again() {
  const SessionMessage* last =
      last_of(conversation_->session().messages(), runtime::Role::assistant);
  if (last == nullptr) return nothing("answer");
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                     conversation_->service().answer_again(conversation_->chat(), last->id,
                                                           sampling(), conversation_->call()));
  return answered(report);
}

// "3 1": of message 3 the first; "1": of the last message that has several. As the list has them.
Result<void> ChatLoop::versions(const std::string& numbers) {
  runtime::ChatService& service = conversation_->service();
  SATCHEL_TRY_ASSIGN(const std::vector<MessageVersions> all,
                     service.versions(conversation_->chat(), conversation_->call()));
  if (all.empty()) {
    console_.reply(
        "Nothing in this chat has several versions. /edit, /correct and /again make them.");
    return {};
  }
  const auto messages = conversation_->session().messages();
  const auto place_of = [&](const MessageVersions& one) {
    const auto found = std::ranges::find(messages, one.message, &SessionMessage::id);
    return static_cast<std::size_t>(found - messages.begin()) + 1;
  };
  std::istringstream typed(numbers);
  std::size_t place = place_of(all.back()), wanted = 0;
  if (!(typed >> wanted)) {
    std::string text;
    for (const MessageVersions& one : all) {
      const bool is_users = messages[place_of(one) - 1].role == runtime::Role::user;
      text += (text.empty() ? "" : "\n") + std::string("  message ") +
              std::to_string(place_of(one)) + (is_users ? " (yours)" : " (answer)") + ": version " +
              std::to_string(number_of(one)) + " of " + std::to_string(one.versions.size());
    }
    console_.reply(text);
    return {};
  }
  if (std::size_t second = 0; typed >> second) place = std::exchange(wanted, second);
  const auto chosen =
      std::ranges::find_if(all, [&](const MessageVersions& one) { return place_of(one) == place; });
  if (chosen == all.end() || wanted == 0 || wanted > chosen->versions.size())
    return Error{ErrorKind::invalid, "PARAM",
                 "There is no such version: \"" + numbers + "\". /version lists them."};
  if (wanted == number_of(*chosen)) return {};
  return service.switch_to(conversation_->chat(), chosen->versions[wanted - 1],
                           conversation_->call());
}

}  // namespace satchel::app

#include "app/eval/commands/chat_file.h"

#include <algorithm>
#include <map>
#include <utility>

#include "app/eval/commands/json_lines.h"

namespace satchel::app {
namespace {

using eval::Chat;
using eval::ChatMessage;
using eval::ChatQuestion;
using eval::Speaker;

// longmemeval_s.json has 265 MB.
constexpr std::uintmax_t kBytesMax = 512u << 20;

constexpr int kLoCoMoAdversarial = 5;  // category

// What went wrong, with where it did.
template <class T>
Result<T> in(const std::string& place, Result<T> result) {
  if (!result.ok()) return wrong_line(place + " " + result.error().message);
  return result;
}
std::string nth(const char* what, std::size_t i) {
  return std::string(what) + " " + std::to_string(i + 1);
}

// Answers may be numbers: years, counts.
Result<std::string> answer_at(const Json& object) {
  const auto found = object.find("answer");
  if (found != object.end() && found->is_number()) return found->dump();
  return text_at(object, "answer");
}

std::string dated(const std::string& date, const std::string& text) {
  return date.empty() ? text : "(" + date + ") " + text;
}

// A chat as it is read, and where its messages stand that questions name.
struct Told {
  Chat chat;
  std::map<std::string, std::size_t> places;  // of dia_id

  std::size_t age_of(std::size_t message) const { return chat.messages.size() - message; }
};

Result<void> add_said(const Json& json, const std::string& user, const std::string& date,
                      Told& told) {
  SATCHEL_TRY_ASSIGN(const std::string speaker, text_at(json, "speaker"));
  SATCHEL_TRY_ASSIGN(std::string text, text_at(json, "text"));
  SATCHEL_TRY_ASSIGN(const std::string id, text_at(json, "dia_id"));
  SATCHEL_TRY_ASSIGN(const std::string picture, optional_text_at(json, "blip_caption"));
  if (!picture.empty()) text += " (shows a picture: " + picture + ")";
  told.places[id] = told.chat.messages.size();
  told.chat.messages.push_back(
      {speaker == user ? Speaker::user : Speaker::assistant, dated(date, speaker + ": " + text)});
  return {};
}

Result<void> add_sessions(const Json& conversation, Told& told) {
  SATCHEL_TRY_ASSIGN(const std::string user, text_at(conversation, "speaker_a"));
  // A session may lack where its date is there.
  for (std::size_t n = 1;; ++n) {
    const std::string key = "session_" + std::to_string(n), date_key = key + "_date_time";
    if (!conversation.contains(key) && !conversation.contains(date_key)) break;
    if (!conversation.contains(key)) continue;
    SATCHEL_TRY_ASSIGN(const Json* said, array_at(conversation, key.c_str()));
    SATCHEL_TRY_ASSIGN(std::string date, optional_text_at(conversation, date_key.c_str()));
    for (std::size_t i = 0; i < said->size(); ++i)  // only the first has the date
      SATCHEL_TRY(in(key + " " + nth("message", i),
                     add_said((*said)[i], user, std::exchange(date, {}), told)));
  }
  if (told.chat.messages.empty()) return wrong_line("has no \"session_1\"");
  return {};
}

Result<ChatQuestion> locomo_question(const Json& json, const Told& told) {
  ChatQuestion out;
  SATCHEL_TRY_ASSIGN(out.ask, text_at(json, "question"));
  const auto category = json.find("category");
  if (category == json.end() || !category->is_number_integer())
    return wrong_line("has no \"category\"");
  out.about = category->dump();
  if (*category == kLoCoMoAdversarial) return out;
  SATCHEL_TRY_ASSIGN(out.value, answer_at(json));
  SATCHEL_TRY_ASSIGN(const Json* evidence, array_at(json, "evidence"));
  for (const Json& id : *evidence) {
    const auto place = id.is_string() ? told.places.find(id.get<std::string>()) : told.places.end();
    if (place != told.places.end()) out.age = std::max(out.age, told.age_of(place->second));
  }
  return out;
}

Result<Chat> locomo_chat(const Json& json) {
  Told told;
  const auto conversation = json.find("conversation");
  if (conversation == json.end() || !conversation->is_object())
    return wrong_line("has no \"conversation\"");
  SATCHEL_TRY(add_sessions(*conversation, told));
  SATCHEL_TRY_ASSIGN(const Json* questions, array_at(json, "qa"));
  for (std::size_t i = 0; i < questions->size(); ++i) {
    SATCHEL_TRY_ASSIGN(told.chat.questions.emplace_back(),
                       in(nth("question", i), locomo_question((*questions)[i], told)));
  }
  told.chat.set = "locomo";
  SATCHEL_TRY_ASSIGN(told.chat.name, optional_text_at(json, "sample_id"));
  return std::move(told.chat);
}

// True where the message has (part of) the answer.
Result<bool> add_turn(const Json& json, const std::string& date, Told& told) {
  SATCHEL_TRY_ASSIGN(const std::string role, text_at(json, "role"));
  if (role != "user" && role != "assistant")
    return wrong_line("has the \"role\" \"" + role + "\", which is neither user nor assistant");
  SATCHEL_TRY_ASSIGN(const std::string text, optional_text_at(json, "content"));
  told.chat.messages.push_back(
      {role == "user" ? Speaker::user : Speaker::assistant, dated(date, text)});
  return json.value("has_answer", Json(false)) == Json(true);
}

// The message that has the answer, the oldest of several; none: the count of messages.
Result<std::size_t> add_haystack(const Json& json, Told& told) {
  SATCHEL_TRY_ASSIGN(const Json* sessions, array_at(json, "haystack_sessions"));
  SATCHEL_TRY_ASSIGN(const Json* dates, array_at(json, "haystack_dates"));
  std::size_t oldest = SIZE_MAX;
  for (std::size_t i = 0; i < sessions->size(); ++i) {
    const std::string place = nth("session", i);
    if (!(*sessions)[i].is_array()) return wrong_line(place + " is not a list");
    if (i >= dates->size() || !(*dates)[i].is_string()) return wrong_line(place + " has no date");
    std::string date = (*dates)[i];
    for (std::size_t j = 0; j < (*sessions)[i].size(); ++j) {
      SATCHEL_TRY_ASSIGN(const bool has_answer,
                         in(place + " " + nth("message", j),
                            add_turn((*sessions)[i][j], std::exchange(date, {}), told)));
      if (has_answer) oldest = std::min(oldest, told.chat.messages.size() - 1);
    }
  }
  if (told.chat.messages.empty()) return wrong_line("has no messages");
  return std::min(oldest, told.chat.messages.size());
}

Result<Chat> longmemeval_chat(const Json& json) {
  Told told;
  SATCHEL_TRY_ASSIGN(told.chat.name, text_at(json, "question_id"));
  SATCHEL_TRY_ASSIGN(told.chat.set, text_at(json, "question_type"));
  SATCHEL_TRY_ASSIGN(const std::size_t place, add_haystack(json, told));
  ChatQuestion question{.ask = {}, .value = {}, .old_values = {}, .age = told.age_of(place)};
  SATCHEL_TRY_ASSIGN(const std::string ask, text_at(json, "question"));
  SATCHEL_TRY_ASSIGN(const std::string date, optional_text_at(json, "question_date"));
  question.ask = dated(date, ask);
  question.about = told.chat.set;
  if (!told.chat.name.ends_with("_abs")) {
    SATCHEL_TRY_ASSIGN(question.value, answer_at(json));
  }
  told.chat.questions.push_back(std::move(question));
  return std::move(told.chat);
}

Result<std::vector<Chat>> chats_of(const Json& json, std::size_t n) {
  if (!json.is_array() || json.empty() || !json[0].is_object() ||
      (!json[0].contains("qa") && !json[0].contains("haystack_sessions")))
    return wrong_line(
        "is neither LoCoMo (a JSON list with \"conversation\" and \"qa\") nor LongMemEval (one "
        "with \"haystack_sessions\")");
  const auto read = json[0].contains("qa") ? locomo_chat : longmemeval_chat;
  std::vector<Chat> out;
  for (std::size_t i = 0; i < json.size() && (n == 0 || i < n); ++i) {
    if (!json[i].is_object()) return wrong_line(nth("chat", i) + " is not a JSON object");
    SATCHEL_TRY_ASSIGN(out.emplace_back(), in(nth("chat", i), read(json[i])));
    if (out.back().name.empty()) out.back().name = std::to_string(i);
  }
  return out;
}

}  // namespace

Result<std::vector<Chat>> read_chat_file(const std::string& path, std::size_t n) {
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(path, kBytesMax));
  Result<std::vector<Chat>> chats = chats_of(Json::parse(text, nullptr, false), n);
  if (!chats.ok())
    return wrong_line(path + ": " + chats.error().message +
                      ". Use the file as its authors publish it.");
  return chats;
}

}  // namespace satchel::app

// How a chat is answered, and what people keep for that.
#include <string>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {

Result<void> ChatService::set_answers(ChatHandle handle, const AnswerSettings& answers,
                                      const ChatCall& call) {
  return run<void>(ChatTask::set_answers, handle, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(handle));
    SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
    SATCHEL_TRY(chat->set_answers(at, answers));
    running.tell(AnswersChanged{chat->answers()});
    return {};
  });
}

Result<std::vector<SavedPrompt>> ChatService::prompts(const ChatCall& call) {
  using Prompts = std::vector<SavedPrompt>;
  return run<Prompts>(ChatTask::prompts, {}, call, [&](Running& running) -> Result<Prompts> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const store, library());
    SATCHEL_TRY_ASSIGN(Prompts all, saved_prompts(*store));
    running.tell(PromptsListed{all});
    return all;
  });
}

Result<void> ChatService::change_prompts(const ChatCall& call,
                                         const std::function<Result<void>(ChatLibrary&)>& change) {
  return run<void>(ChatTask::prompts, {}, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const store, library());
    SATCHEL_TRY(change(*store));
    SATCHEL_TRY_ASSIGN(std::vector<SavedPrompt> all, saved_prompts(*store));
    running.tell(PromptsListed{std::move(all)});
    return {};
  });
}

Result<void> ChatService::keep_prompt(const SavedPrompt& prompt, const ChatCall& call) {
  return change_prompts(call,
                        [&](ChatLibrary& store) { return runtime::keep_prompt(store, prompt); });
}

Result<void> ChatService::remove_prompt(const std::string& name, const ChatCall& call) {
  return change_prompts(call,
                        [&](ChatLibrary& store) { return runtime::remove_prompt(store, name); });
}

Result<Chat> ChatService::note_of_chat(ChatId id, std::string_view name, std::string_view text,
                                       const ChatCall& call) {
  return run<Chat>(ChatTask::rename_chat, {}, call, [&](Running& running) -> Result<Chat> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const store, library());
    // A note is taken for any id, and a deleted chat is told as any other.
    SATCHEL_TRY_ASSIGN(const Chat before, store->chat(id));
    if (before.removed_ms)
      return Error{ErrorKind::not_found, "CHAT_NOT_FOUND", "This chat was deleted."};
    SATCHEL_TRY(store->set_note(id, name, text));
    SATCHEL_TRY_ASSIGN(const Chat chat, store->chat(id));
    running.tell(ChatChanged{chat});
    return chat;
  });
}

Result<Chat> ChatService::set_folder(ChatId id, const std::string& folder, const ChatCall& call) {
  return note_of_chat(id, kFolderNote, folder, call);
}

Result<Chat> ChatService::set_place(ChatId id, ListPlace place, const ChatCall& call) {
  return note_of_chat(id, kPlaceNote, place == ListPlace::top ? kPlaceTop : std::string_view(),
                      call);
}

Result<Chat> ChatService::set_stopped(ChatId id, MessageId answer, const ChatCall& call) {
  return note_of_chat(id, kStoppedNote, std::to_string(answer.value), call);
}

}  // namespace satchel::runtime

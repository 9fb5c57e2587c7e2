// A chat's way out of the service and into another one: as bytes.
#include <span>
#include <utility>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {

Result<std::string> ChatService::to_bytes(ChatHandle handle, const ChatCall& call) {
  return run<std::string>(ChatTask::save, handle, call,
                          [&](Running& running) -> Result<std::string> {
                            SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
                            if (chat->session() == nullptr) return no_messages();
                            SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
                            return chat->to_bytes(at);
                          });
}

Result<OpenReport> ChatService::open_bytes(std::string_view bytes, std::string_view name,
                                           const OpenOptions& options, const ChatCall& call) {
  return run<OpenReport>(
      ChatTask::open_chat, options.instead_of, call, [&](Running& running) -> Result<OpenReport> {
        SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
        SATCHEL_TRY_ASSIGN(const auto reader,
                           ChatBytesReader::open(std::as_bytes(std::span(bytes))));
        if (reader->copy().setup.model_fingerprint != at.engine.fingerprint()) return other_model();
        SATCHEL_TRY_ASSIGN(OpenChat chat, OpenChat::of(reader->copy(), name));
        chat.choose(options.choices);
        if (options.choices.recipe) SATCHEL_TRY(chat.suit(at.engine));
        DecodeGroup::Reader reads(answers_);
        SATCHEL_TRY_ASSIGN(ResumeReport report,
                           chat.resume_copy(at, *reader, clock_.wall_ms(), call.stop,
                                            progress_of(running, [&reads] { reads.make_way(); })));
        running.chat = add(std::move(chat), options.instead_of);
        OpenChat& opened = chats_.at(running.chat);
        tell_resumed(opened, report, running);
        save_now(opened, running);
        return OpenReport{running.chat, std::optional(std::move(report))};
      });
}

}  // namespace satchel::runtime

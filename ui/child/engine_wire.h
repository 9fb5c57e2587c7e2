// What the window's process and the engine's say to each other, in frames (wire.h).
//   first    the window sends an EngineSetup; the engine says opened and Opening
//   then     the window sends requests: a place in kRequests and the arguments; the engine says
//            event and a ChatEvent
//   end      where the window closes the pipe, or is no more, the engine does what was asked
//            before, saves and ends
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "ui/child/wire.h"
#include "ui/model/engine_client.h"
#include "ui/model/engine_setup.h"

namespace satchel::ui {

// Every request of EngineClient. A new one belongs here, and into child_engine.h and .cpp.
inline constexpr std::tuple kRequests{
    &EngineClient::openModel,      &EngineClient::useCpu,        &EngineClient::listChats,
    &EngineClient::newChat,        &EngineClient::openChat,      &EngineClient::renameChat,
    &EngineClient::setFolder,      &EngineClient::setAtTop,      &EngineClient::keepStopped,
    &EngineClient::exportChat,     &EngineClient::showAttended,  &EngineClient::setAnswers,
    &EngineClient::listPrompts,    &EngineClient::keepPrompt,    &EngineClient::removePrompt,
    &EngineClient::deleteChat,     &EngineClient::restoreChat,   &EngineClient::deleteNow,
    &EngineClient::deleteCopy,     &EngineClient::listDeleted,   &EngineClient::search,
    &EngineClient::send,           &EngineClient::sendInstead,   &EngineClient::answerAgain,
    &EngineClient::answerLast,     &EngineClient::correct,       &EngineClient::readExactly,
    &EngineClient::switchTo,       &EngineClient::setMark,       &EngineClient::askAll,
    &EngineClient::attachDocument, &EngineClient::listShelf,     &EngineClient::keepDocument,
    &EngineClient::removeDocument, &EngineClient::attachShelved, &EngineClient::setThinking,
    &EngineClient::goOn,           &EngineClient::findQuotes,    &EngineClient::showHeld,
    &EngineClient::listParts,      &EngineClient::nameParts,     &EngineClient::estimatePresets,
    &EngineClient::previewChat,    &EngineClient::applyToChat,   &EngineClient::stop,
    &EngineClient::pauseIdle,      &EngineClient::resumeIdle};
inline constexpr std::size_t kRequestCount = std::tuple_size_v<decltype(kRequests)>;

// The place of a request in the list; kRequestCount: it is missing there.
template <auto kMethod, std::size_t at = 0>
constexpr std::size_t requestNumber() {
  if constexpr (at == kRequestCount) {
    return at;
  } else {
    constexpr auto here = std::get<at>(kRequests);
    if constexpr (std::is_same_v<decltype(here), const decltype(kMethod)>) {
      if (here == kMethod) return at;
    }
    return requestNumber<kMethod, at + 1>();
  }
}

template <auto kMethod, class... Args>
std::string requestBytes(const Args&... args) {
  constexpr std::size_t number = requestNumber<kMethod>();
  static_assert(number < kRequestCount, "a request that kRequests does not have");
  std::string bytes;
  put(bytes, std::uint64_t{number});
  (put(bytes, args), ...);
  return bytes;
}

// Makes the request; false: the bytes are none.
bool answerRequest(std::string_view bytes, EngineClient& engine);

enum class Said : std::uint8_t { opened, event };
struct Opening {
  std::optional<Error> error;  // none: the chats are open
};
std::string saidBytes(const Opening& opening);
std::string saidBytes(const runtime::ChatEvent& event);
std::optional<std::variant<Opening, runtime::ChatEvent>> saidIn(std::string_view bytes);

}  // namespace satchel::ui

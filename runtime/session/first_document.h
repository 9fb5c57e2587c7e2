// A document with which a chat begins, shared by the chats that begin with it: the shelf.
//   offered  when the chat is saved and has nothing but the document: its saved cache is listed
//            under the document's name too (document_key). The records are shared, not copied. Once
//            pending text has been compressed, that takes the place of what was offered before,
//            which stays until the new one is whole
//   taken    by a chat that is about to read the same tokens with the same model and recipe into an
//            empty cache. It holds then what the chat held that read them, and answers as that did
//   not      of text that a memory limit or a request made smaller, that was marked, or that is in
//            parts (parts rest apart from their cache). A damaged record, or a limit that is too
//            low, costs time: the document is read
#pragma once

#include <cstddef>

#include "runtime/session/chat_parts.h"

namespace satchel::runtime {

// Tokens that the chat's cache holds now without reading them. Where another chat has read the
// document in vain for this one, why is noted as the reason of what is read next (Rereads).
std::size_t take_first_document(const ChatParts& parts);
// A failure goes to the log: the chat itself is saved.
//   needs  the cache was saved just now
void offer_first_document(const ChatParts& parts);

}  // namespace satchel::runtime

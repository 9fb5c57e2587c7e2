// A document with which a chat begins, shared by the chats that begin with it: the shelf.
//   offered  when the chat is saved and has nothing but the document: its saved cache is listed
//            under the document's name too (document_key). The records are shared, not copied. Once
//            pending text has been compressed, that takes the place of what was offered before,
//            which stays until the new one is whole
//   taken    by a chat that is about to read the same tokens with the same model and recipe into an
//            empty cache. It holds then what the chat held that read them, and answers as that did.
//            Pages of it that an open chat still holds are shared with that chat, as branches share
//            them: they lie in memory once, and a step reads them once for all who answer
//   placed   in the middle of a chat, where that is asked for (ReadHow::at_once): what the document
//            was made there, moved (placed_text.h)
//   not      of text that a memory limit or a request made smaller, that was marked or placed, or
//            that is in parts (parts rest apart from their cache). A damaged record, or a limit
//            that is too low, costs time: the document is read
#pragma once

#include <cstddef>

#include "runtime/session/placed_text.h"

namespace satchel::runtime {

// Tokens that the chat's cache holds now without reading them. Where another chat has read the
// document in vain for this one, why is noted as the reason of what is read next (Rereads).
Reuse take_first_document(const ChatParts& parts);
// Reads up to the last unread document that another chat has read, and places each of them, which
// the ledger says; of those few tokens that are read all the same, n_tokens says how many.
Result<ReadReport> place_documents(const ChatParts& parts, ChatPrefill& prefill,
                                   const std::stop_token& stop, const ProgressFn& progress);
// A failure goes to the log: the chat itself is saved.
//   needs  the cache was saved just now
void offer_first_document(const ChatParts& parts);

}  // namespace satchel::runtime

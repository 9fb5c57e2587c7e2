// HeldText: how the words of a chat are held in its cache, so that people can be shown on the text
// itself what is held less exactly, or no more.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"
#include "kvcache/inspect/cache_inspector.h"
#include "runtime/contract/journal.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// Words that are held alike. As kvcache::HeldToken, which says what the figures are.
struct HeldWords {
  IndexRange words;  // in their message's text, in bytes
  kvcache::HeldToken held = {};
};
struct HeldMessage {
  MessageId message;
  std::vector<HeldWords> words;  // in order; what is in none of them has not been read
};
struct HeldText {
  std::vector<HeldMessage> messages;  // in order; of a document that was read in parts one
};

// Where each token of a message stands in its text, in bytes; nowhere: an empty range. No ranges
// where the text is not what the tokens say.
//   tokens  the message's, with what the template wrote around it
std::vector<IndexRange> token_places(std::string_view text, std::span<const TokenId> tokens,
                                     const Tokenizer& tokenizer);

// tokens  as token_places()
// held    of the first of them; the others have not been read
// Where the text is not what the tokens say, all of it is one passage, held as their mean is.
std::vector<HeldWords> held_words(std::string_view text, std::span<const TokenId> tokens,
                                  std::span<const kvcache::HeldToken> held,
                                  const Tokenizer& tokenizer);

}  // namespace satchel::runtime

// Documents that were read in parts, as the one message that people attached.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/contract/journal.h"

namespace satchel::runtime {

// A document was read in so many parts.
struct DocumentParts {
  MessageId document;  // of the first; stands for the whole
  std::size_t n_parts = 0;
};

struct WholeDocuments {
  std::vector<StoredMessage> messages;  // of a document in parts: all its text, no tokens
  std::vector<DocumentParts> parts;     // of those
};

// Parts are made one where all of them are there, one behind the other; else they stay as they are.
WholeDocuments with_whole_documents(std::vector<StoredMessage> stored);

}  // namespace satchel::runtime

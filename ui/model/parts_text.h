// What is said of the parts of a chat that is longer than the model's context, and of a document
// that is read in parts.
#pragma once

#include "ui/model/engine_types.h"

namespace satchel::ui {

// What a popup of the parts shows.
struct PartsShown {
  runtime::OlderParts parts;
  QList<int> seen = {}, quoted = {};  // by the answer; numbered from 0
  QString question = {};              // for "Ask all parts"; empty: there is none to ask
  bool canAsk = false;                // now
  bool canAskAgain = false;
};

// Under a document: "12 parts", "3 of 12 parts read", "read in 12 parts"; empty: it is in one.
QString documentPartsText(const Message& document);
// For an answer's footnote, each with " · " before it: what it was answered from, where its words
// stand, what is unread. Empty where the chat is not longer than the context.
QString answerPartsText(const runtime::SeenEpisodes& episodes);
// Over the list of parts.
QString partsNote(const PartsShown& shown);
// Those that the last answer saw, as the engine has it.
QList<int> partsSeenLast(const runtime::OlderParts& parts);
// Beside one of them: "not read yet", "quoted" or nothing.
QString partTag(const PartsShown& shown, int part);
// When the rest is read; empty: all of it is.
QString unreadNotice(const std::vector<runtime::PartsRead>& documents);

}  // namespace satchel::ui

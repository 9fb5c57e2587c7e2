// Text of others, made fit for a terminal: messages, documents, titles, model names. A terminal
// obeys what it finds in them: escape sequences set its title or the clipboard, and marks of
// direction put words in another order.
#pragma once

#include <string>
#include <string_view>

namespace satchel::app {

// Printable characters, line feeds and tabs stay. Other control characters and the marks that
// change the direction of text are written out ("\x1b", "\u202e"); a return before a line feed
// goes; what is not UTF-8 becomes U+FFFD.
std::string terminal_text(std::string_view text);

}  // namespace satchel::app

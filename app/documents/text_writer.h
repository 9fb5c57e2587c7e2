// TextWriter: puts running text together: white space becomes one space, blocks are apart by an
// empty line, lines are not empty by themselves.
#pragma once

#include <string>
#include <string_view>

namespace satchel::app {

class TextWriter {
 public:
  void text(std::string_view words);      // in a line
  void verbatim(std::string_view words);  // as it is
  void mark(std::string_view words);      // of Markdown: "# ", "- "; before what comes next
  void drop_mark() { mark_.clear(); }     // nothing came
  void line();                            // what follows is on a line of its own
  void block();                           // what follows is a paragraph of its own
  std::string take();

 private:
  void begin();

  std::string out_, mark_;
  int n_breaks_ = 0;  // due before what comes next
  bool is_spaced_ = false;
};

}  // namespace satchel::app

// What a document's part is called in the journal: by the document, and by its place in it. The row
// of a part says so only here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace satchel::runtime {

struct PartTitle {
  std::string_view document;       // of the text that was read
  std::size_t number = 0, of = 0;  // from 1
};

// "notes.txt (part 3 of 12)"; of a whole one: its own title.
std::string part_title(const PartTitle& part);
std::optional<PartTitle> read_part_title(std::string_view title);

}  // namespace satchel::runtime

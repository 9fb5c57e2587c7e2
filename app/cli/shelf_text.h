// Documents of the shelf, as people name and read them.
#pragma once

#include <string>
#include <vector>

#include "app/cli/console.h"
#include "runtime/contract/chat_store.h"

namespace satchel::app {

// By its title, or the first digits of its id (kShelfDigits of them at least).
//   errors  DOC_NOT_FOUND; PARAM: several have that title or those digits
inline constexpr std::size_t kShelfDigits = 8;
Result<runtime::ShelvedDocument> find_shelved(const std::vector<runtime::ShelvedDocument>& shelf,
                                              const std::string& wanted);
Json to_json(const runtime::ShelvedDocument& document);
// A line each, and below it how it was read.
std::string describe(const std::vector<runtime::ShelvedDocument>& shelf);

}  // namespace satchel::app

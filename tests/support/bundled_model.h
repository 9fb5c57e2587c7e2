// The bundled model and the questions beside it: the one place where tests name them.
#pragma once

#include <string>

#include "support/source_dir.h"

namespace satchel::test {

inline const std::string kBundledModel = source_dir() + "/models/notes-mini-q8_0.gguf";
inline const std::string kHeldOut = source_dir() + "/models/notes-heldout.jsonl";
// A set of kHeldOut whose notes take several pages and leave room for five questions.
inline constexpr char kHeldOutSet[] = "names-1024";

}  // namespace satchel::test

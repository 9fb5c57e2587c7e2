// The bundled model and the questions beside it: the one place where tests name them.
#pragma once

namespace satchel::test {

inline constexpr char kBundledModel[] = SATCHEL_SOURCE_DIR "/models/notes-mini-q8_0.gguf";
inline constexpr char kHeldOut[] = SATCHEL_SOURCE_DIR "/models/notes-heldout.jsonl";
// A set of kHeldOut whose notes take several pages and leave room for five questions.
inline constexpr char kHeldOutSet[] = "names-1024";

}  // namespace satchel::test

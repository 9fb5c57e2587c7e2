// The stages that a recipe can name: those of this library, and what a program registers beside
// them.
//   threads  any; what was found or listed stays as it is
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

struct StageEntry {
  StageKind kind;
  std::string_view name;    // as recipes write it: the file's name
  std::string_view source;  // paper, or "ours"
  std::function<Result<std::unique_ptr<Stage>>(Params& params)> make;
};
std::span<const StageEntry* const> all_stages();                      // by kind, then by name
const StageEntry* find_stage(StageKind kind, std::string_view name);  // nullptr: there is none

// Adds stages of a program's own, or register_comparison_stages()'s. All of them or none.
//   needs   entries and their names live as long as the program
//   errors  invalid, STAGES: an entry without name or maker, or a name that its kind has already
Result<void> register_stages(std::span<const StageEntry> stages);

// A published stage that cannot work here. It is listed with the reason; recipes that use it are
// refused.
struct RefusedStage {
  StageKind kind;
  std::string_view name;
  std::string_view source;
  std::string_view why;  // what it needs, and what to use instead
  Error error() const;   // unsupported, CODEC_NEEDS
};
std::span<const RefusedStage> refused_stages();

// What to answer where find_stage() finds nothing.
Error no_such_stage(StageKind kind, std::string_view name, std::string_view called,
                    std::size_t line);

// Written by the build.
struct StageName {
  StageKind kind;
  std::string_view name;
};
std::span<const StageEntry> library_stages();
std::span<const StageName> comparison_stage_names();  // of kvcache/comparison, linked or not

}  // namespace satchel::kvcache

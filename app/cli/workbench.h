// What several commands open from the options they were given.
#pragma once

#include <filesystem>
#include <memory>

#include "app/cli/console.h"
#include "app/cli/options.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"
#include "storage/store.h"

namespace satchel::app {

// --recipe and --keep; `fallback` where --recipe is not given.
Result<kvcache::Recipe> chosen_recipe(const Options& options, std::string_view fallback = "full");
// --budget in bytes; 0 where it is not given.
Result<std::size_t> chosen_budget(const Options& options);
// The file that --model, or another name of a model, stands for; PARAM with the names that it
// begins where these are several.
Result<std::filesystem::path> chosen_model(const Paths& paths, const std::string& given);
// What an engine is opened with; model and progress are the caller's.
runtime::EngineOptions engine_options(const Options& options, const Paths& paths);
// The error of an engine that did not open, with what the user can do.
Error explain_not_opened(const Error& why, const Paths& paths, const std::filesystem::path& model);
// Why it is not on the GPU, where somebody could do something about that; which of the model's
// profiles are ignored.
void tell_what_is_missing(const runtime::Engine& engine, Console& console);
// With the model of --model, or another. Tells what is missing.
Result<std::unique_ptr<runtime::Engine>> open_engine(const Options& options, Console& console);

// Where --store is, with its key: of --key-file, or typed where one is wanted.
Result<storage::StoreOptions> chosen_store(const Options& options);
// The library and the saved caches of --store.
Result<std::unique_ptr<storage::Store>> open_store(const Options& options, storage::OpenMode mode);
// Whether a store was not opened because no chat was saved yet. A folder that --store names should
// at least be there: its name may be mistyped.
bool has_no_chats_yet(const Options& options, const Error& why);
Error no_chat_named(const std::string& name);

// With --json, what a benchmark measured: the model, where it ran, a row for each line.
void tell_rows(const runtime::Engine& engine, const Json& rows, Console& console);
// Figures of a cache as every command reports them.
Json to_json(const kvcache::CacheStats& stats);
Json to_json(const std::vector<kvcache::Reread>& reread);
// "412.0 kB of 2.9 MB in fp16 (14.0 %)"
std::string describe(const kvcache::CacheStats& stats);

}  // namespace satchel::app

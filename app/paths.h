// Where the programs keep things and find models. Libraries read no environment; this does it for
// both programs.
//   source  XDG Base Directory Specification 0.8: data is precious, a cache disposable
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace satchel::app {

struct Paths {
  std::filesystem::path data_dir;    // precious: library.db
  std::filesystem::path cache_dir;   // disposable: kvcache.db
  std::filesystem::path models_dir;  // the user's own models
  std::filesystem::path bundled_model;
  std::filesystem::path profiles;               // disposable: head-budget profiles made here
  bool is_named_store = false;                  // --store: somebody else may use the folder, too
  std::vector<std::filesystem::path> backends;  // folders of the GPU's library
  // What of the environment is not heeded, and why, for people; mostly nothing.
  std::string notice;
};

// From XDG_DATA_HOME, XDG_CACHE_HOME, HOME and SATCHEL_BACKENDS (an absolute folder, instead of
// lib/satchel beside the folder of the program; another is not heeded, and said). `store`, if not
// empty, takes the place of both data_dir and cache_dir.
Paths standard_paths(const std::filesystem::path& store);

struct ModelFile {
  std::filesystem::path path;
  std::string name;  // for a picker: the file's name without .gguf; "notes-mini (bundled)" for the
                     // bundled one
  bool bundled = false;
  std::uintmax_t bytes = 0;  // of all parts
};
// The bundled model first, then those of models_dir by name.
std::vector<ModelFile> find_models(const Paths& paths);

// Those of find_models() whose name begins with `given`, or the one that has just this name, in
// upper or lower case. None where `given` is empty, a path, or the name of a file here.
std::vector<ModelFile> models_named(const Paths& paths, const std::string& given);

// What --model takes: a path, the name of a file here, or the name (or an unambiguous beginning) of
// one of find_models(); "" is the bundled one. Returns what was given, unchanged, where nothing or
// more than one matches: opening it then says what is wrong.
std::filesystem::path resolve_model(const Paths& paths, const std::string& given);

}  // namespace satchel::app

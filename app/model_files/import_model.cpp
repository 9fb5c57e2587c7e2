#include "app/model_files/import_model.h"

#include <fstream>
#include <system_error>
#include <vector>

#include "app/model_files/part_file.h"
#include "runtime/gguf/reader.h"
#include "runtime/gguf/split.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kStepBytes = 1u << 20;

Result<void> copy_into(PartFile& part, const fs::path& from, std::uint64_t bytes,
                       const std::stop_token& stop, const DownloadFn& progress) {
  SATCHEL_TRY(part.empty());
  std::ifstream in(from, std::ios::binary);
  std::vector<char> step(kStepBytes);
  while (part.bytes() < bytes) {
    if (stop.stop_requested())
      return Error{ErrorKind::cancelled, "STOPPED", "The import was stopped."};
    in.read(step.data(), static_cast<std::streamsize>(step.size()));
    if (in.gcount() == 0)
      return Error{ErrorKind::storage, "STORAGE", "\"" + from.string() + "\" cannot be read."};
    SATCHEL_TRY(part.append({step.data(), static_cast<std::size_t>(in.gcount())}));
    if (progress) progress({part.bytes(), bytes});
  }
  return part.finish();
}

Result<fs::path> import_file(const fs::path& from, const fs::path& folder,
                             const std::stop_token& stop, const DownloadFn& progress) {
  std::error_code error;
  const fs::path path = folder / from.filename();
  if (fs::equivalent(from, path, error)) return path;  // it lies there
  if (fs::exists(fs::symlink_status(path, error)))
    return Error{ErrorKind::invalid, "PARAM",
                 "There is another file called \"" + path.filename().string() +
                     "\" in the model folder. Rename one of them."};
  fs::create_hard_link(fs::canonical(from, error), path, error);
  if (!error) return path;
  SATCHEL_TRY_ASSIGN(PartFile part, PartFile::open(path));
  const Result<void> copied = copy_into(part, from, fs::file_size(from, error), stop, progress);
  if (copied.ok()) return path;
  part.discard();
  return copied.error();
}

}  // namespace

Result<fs::path> import_model(const fs::path& from, const fs::path& folder,
                              const std::stop_token& stop, const DownloadFn& progress) {
  SATCHEL_TRY(runtime::GgufFile::open(from));  // what is no model is refused before it is copied
  std::error_code error;
  fs::create_directories(folder, error);
  const auto split = runtime::split_name(from);
  if (!split) return import_file(from, folder, stop, progress);
  fs::path first;
  for (std::uint32_t number = 1; number <= split->count; ++number) {
    SATCHEL_TRY_ASSIGN(const fs::path shard,
                       import_file(split->part(number), folder, stop, progress));
    if (number == 1) first = shard;
  }
  return first;
}

}  // namespace satchel::app

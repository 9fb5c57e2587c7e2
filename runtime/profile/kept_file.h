// What was learnt of a model once: a file of one in a folder of the program's, read with a limit and
// written whole or not at all, or of those that are compiled in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels/base/result.h"

namespace satchel::runtime {

// What messages call it.
struct KeptKind {
  std::string_view code;    // LANE_SHARES
  std::string_view noun;    // "lane table"
  std::string_view remedy;  // "Remove it, and it is made again."
  std::size_t bytes_max = 0;
};

// corrupt, `code`: it cannot be read, or has more than bytes_max.
Result<std::string> read_kept(const std::filesystem::path& path, const KeptKind& kind);
// Makes the folder, replaces an older file. storage, `code`.
Result<void> write_kept(const std::filesystem::path& path, std::string_view bytes,
                        const KeptKind& kind);
// corrupt, `code`: it is whole, but of another model.
Error of_another_model(std::string_view called, const KeptKind& kind);

// A file that is compiled in.
struct ShippedFile {
  std::string_view file, bytes;
};

enum class KeptFrom { nowhere, shipped, folder };

// What a model runs with: the folder's before the shipped one.
template <class T>
struct Kept {
  std::shared_ptr<const T> value;  // null: there is neither
  KeptFrom from = KeptFrom::nowhere;
  // corrupt, the kind's code: of a file that is passed over, as it cannot be read as this model's.
  std::optional<Error> damage;
};

// Where one of a kind may be.
struct KeptPlaces {
  std::filesystem::path own;                  // empty: only shipped ones
  std::span<const ShippedFile> shipped;       // of all models
  std::string_view fingerprint;               // the model's
  std::size_t head = std::string_view::npos;  // of a shipped file: the bytes that name its model
};

// read(bytes, called): the file, checked to be of this model.
template <class T>
Kept<T> find_kept(const KeptKind& kind, const KeptPlaces& places,
                  const std::function<Result<std::shared_ptr<const T>>(std::string_view,
                                                                       const std::string&)>& read) {
  Kept<T> out;
  const auto take = [&out](Result<std::shared_ptr<const T>> found, KeptFrom from) {
    if (found.ok())
      out.value = std::move(found).value(), out.from = from;
    else if (!out.damage)
      out.damage = found.error();
  };
  std::error_code ignored;
  if (!places.own.empty() && std::filesystem::exists(places.own, ignored)) {
    const Result<std::string> bytes = read_kept(places.own, kind);
    take(bytes.ok() ? read(*bytes, places.own.string()) : bytes.error(), KeptFrom::folder);
  }
  for (const ShippedFile& shipped : places.shipped)
    if (out.value == nullptr &&
        shipped.bytes.substr(0, places.head).find(places.fingerprint) != std::string_view::npos) {
      take(read(shipped.bytes, std::string(shipped.file)), KeptFrom::shipped);
      break;
    }
  return out;
}

}  // namespace satchel::runtime

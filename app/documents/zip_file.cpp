#include "app/documents/zip_file.h"

#include <zip.h>

#include "app/documents/formats.h"

namespace satchel::app {
namespace {

constexpr zip_int64_t kEntriesMax = 10'000;
constexpr std::size_t kUnpackedMax = std::size_t{64} << 20;
constexpr std::size_t kRatioMax = 100, kRatioFrom = std::size_t{1} << 20;

Error bomb() {
  return {ErrorKind::invalid, "DOC_LIMIT",
          "The file unpacks to far more than a document needs, so reading it was stopped."};
}

}  // namespace

void ZipFile::Close::operator()(zip* file) const {
  zip_discard(file);
}

Result<ZipFile> ZipFile::open(const std::filesystem::path& file) {
  int why = 0;
  ZipFile opened(zip_open(file.c_str(), ZIP_RDONLY, &why));
  if (opened.file_ == nullptr) return not_whole("zip");
  if (zip_get_num_entries(opened.file_.get(), 0) > kEntriesMax) return bomb();
  return opened;
}

bool ZipFile::has(const std::string& name) const {
  return zip_name_locate(file_.get(), name.c_str(), 0) >= 0;
}

Result<std::string> ZipFile::read(const std::string& name) const {
  zip_stat_t about;
  zip_stat_init(&about);
  if (zip_stat(file_.get(), name.c_str(), 0, &about) != 0 || (about.valid & ZIP_STAT_SIZE) == 0)
    return not_whole("zip");
  const bool is_squeezed = about.size > kRatioFrom &&
                           about.size / kRatioMax > std::max<zip_uint64_t>(about.comp_size, 1);
  if (about.size > kUnpackedMax - n_unpacked_ || is_squeezed) return bomb();
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> entry(
      zip_fopen(file_.get(), name.c_str(), 0), &zip_fclose);
  if (entry == nullptr) return not_whole("zip");
  std::string bytes(static_cast<std::size_t>(about.size), '\0');
  if (zip_fread(entry.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()))
    return not_whole("zip");
  n_unpacked_ += bytes.size();
  return bytes;
}

}  // namespace satchel::app

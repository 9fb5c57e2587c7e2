#include "runtime/gguf/magic.h"

#include <utility>

namespace satchel::runtime {
namespace {

using namespace std::string_view_literals;
// The first bytes, and whose they are.
constexpr std::pair<std::string_view, std::string_view> kMagics[] = {
    {"PK\x03\x04"sv, "a zip archive (perhaps a PyTorch checkpoint)"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x1f\x8b"sv, "a gzip archive"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz archive"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd archive"},
    {"\x89PNG\r\n\x1a\n"sv, "a PNG picture"},
    {"\xff\xd8\xff"sv, "a JPEG picture"},
    {"%PDF-"sv, "a PDF document"},
    {"SQLite format 3\0"sv, "an SQLite database"},
    {"\x7f"
     "ELF"sv,
     "a program"},
    {"FUGG"sv, "a big-endian GGUF file"},
    {"lmgg"sv, "a GGML file, the format before GGUF"},
    {"fmgg"sv, "a GGMF file, a format before GGUF"},
    {"tjgg"sv, "a GGJT file, a format before GGUF"},
    {"version https://git-lfs"sv, "a Git LFS pointer, not the file it stands for"},
    {"<!DOCTYPE"sv, "a web page, perhaps an error page saved by the download"},
    {"<!doctype"sv, "a web page, perhaps an error page saved by the download"},
    {"<html"sv, "a web page, perhaps an error page saved by the download"},
    {"\x80\x02"sv, "a Python pickle"},
    {"\x80\x04"sv, "a Python pickle"},
    {"{"sv, "JSON text"},
};

// Eight bytes of header length, then JSON.
bool is_safetensors(std::string_view start) {
  return start.size() >= 10 && start[8] == '{' && start[9] == '"' &&
         start.substr(5, 3) == "\0\0\0"sv;
}

}  // namespace

std::string_view guess_format(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (is_safetensors(text)) return "a safetensors file";
  for (const auto& [bytes, name] : kMagics)
    if (text.starts_with(bytes)) return name;
  return {};
}

}  // namespace satchel::runtime

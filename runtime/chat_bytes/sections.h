// What the writer and the reader of chat bytes share. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace satchel::runtime {

inline constexpr std::string_view kChatMagic = "SATCHELC";
// Magic, version, 0, size of the whole; and the checksum at the end.
inline constexpr std::size_t kChatHeadBytes = 20, kChatHashBytes = 16, kChatSizeAt = 12;
// Kind and size of a section.
inline constexpr std::size_t kSectionHeadBytes = 12;

enum ChatSection : std::uint32_t { kRecordSection = 1, kManifestSection = 2, kWordsSection = 3 };

}  // namespace satchel::runtime

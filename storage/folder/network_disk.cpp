#include "storage/folder/network_disk.h"

#include <sys/vfs.h>

namespace satchel::storage {

std::optional<std::string_view> network_disk_named(unsigned long type) {
  // linux/magic.h has only some of them; all are stable, as programs compare them.
  struct Kind {
    unsigned long type;
    std::string_view name;
  };
  static constexpr Kind kKinds[] = {
      {0x6969, "NFS"},        {0xff534d42, "SMB"},    {0xfe534d42, "SMB"},
      {0x517b, "SMB"},        {0x65735546, "FUSE"},   {0x01021997, "9P"},
      {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
      {0x73757245, "Coda"},   {0x564c, "NCP"},        {0x0bd00bd0, "Lustre"},
      {0x47504653, "GPFS"},   {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},
      {0x19830326, "BeeGFS"}, {0x786f4256, "vboxsf"}, {0xbacbacbc, "VMware folders"},
  };
  for (const Kind& kind : kKinds)
    if (kind.type == type) return kind.name;
  return std::nullopt;
}

std::optional<std::string_view> network_disk(const std::filesystem::path& path) {
  struct statfs found {};
  if (::statfs(path.c_str(), &found) != 0) return std::nullopt;
  // The kernel's field is signed on some machines, its constants have 32 bits.
  return network_disk_named(static_cast<unsigned long>(found.f_type) & 0xffffffffUL);
}

}  // namespace satchel::storage

#include "support/source_dir.h"

namespace satchel::test {

const std::string& source_dir() {
  static const std::string folder = SATCHEL_SOURCE_DIR;
  return folder;
}

const std::string& shared_dir() {
  static const std::string folder = SATCHEL_SHARED_DIR;
  return folder;
}

}  // namespace satchel::test

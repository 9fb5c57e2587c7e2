// Where the repository lies. One object file knows it, so that a compiler cache serves every clone.
#pragma once

#include <string>

namespace satchel::test {

const std::string& source_dir();
const std::string& shared_dir();  // public test vectors, which may be absent

}  // namespace satchel::test

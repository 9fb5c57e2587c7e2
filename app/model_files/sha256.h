// SHA-256 of bytes that come one after the other.
//   source  FIPS 180-4, by OpenSSL's libcrypto
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace satchel::app {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);
  // Of what was added so far: 64 hexadecimal digits in lower case.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace satchel::app

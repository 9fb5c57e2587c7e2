#include "app/model_files/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "kernels/base/assert.h"

namespace satchel::app {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    SATCHEL_ASSERT(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1);
  }
  State(State&&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  SATCHEL_ASSERT(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() const {
  const State copy;  // the one that goes on cannot be finished
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  SATCHEL_ASSERT(EVP_MD_CTX_copy_ex(copy.context, state_->context) == 1);
  SATCHEL_ASSERT(EVP_DigestFinal_ex(copy.context, digest.data(), &size) == 1 && size == 32);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace satchel::app

#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {
namespace {

Error not_built(const char* operation) {
  return Error{ErrorKind::unsupported, "OPERATION",
               std::string("The reference backend does not have ") + operation + " yet."};
}

}  // namespace

Result<void> store(const StoreArgs&) {
  return not_built("store");
}
Result<void> attend(const AttendArgs&) {
  return not_built("attend");
}
Result<void> score(const ScoreArgs&) {
  return not_built("score");
}
Result<void> select(const float*, std::size_t, std::size_t, std::int32_t*) {
  return not_built("select");
}
Result<void> gather(const std::byte*, const std::int32_t*, std::size_t, std::size_t, std::byte*) {
  return not_built("gather");
}
Result<EncodeHealth> encode_page(const PageLayout&, const ExactRun&, std::byte*) {
  return not_built("encode_page");
}
Result<void> decode_page(const PageLayout&, const std::byte*, float*, float*) {
  return not_built("decode_page");
}

}  // namespace satchel::kernels::reference

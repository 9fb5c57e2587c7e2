#include "runtime/c_api/guard.h"

namespace satchel::c_api {

namespace {

// The names are ours: nothing in them is to be escaped.
std::string detail_of(const Error& error) {
  std::string json;
  for (const ErrorNumber& number : error.numbers)
    json += (json.empty() ? "\"" : ",\"") + std::string(number.name) +
            "\":" + std::to_string(number.value);
  return "{" + json + "}";
}

}  // namespace

int32_t class_of(const Error& error) {
  if (error.code == "SESSION_BUSY" || error.code == "NESTED_CALL" || error.code == "CHAT_OPEN")
    return SATCHEL_BUSY;
  switch (error.kind) {
    case ErrorKind::invalid:
      return SATCHEL_INVALID;
    case ErrorKind::not_found:
      return SATCHEL_NOT_FOUND;
    case ErrorKind::corrupt:
      return SATCHEL_CORRUPT;
    case ErrorKind::unsupported:
      return SATCHEL_UNSUPPORTED;
    case ErrorKind::out_of_memory:
      return SATCHEL_OUT_OF_MEMORY;
    case ErrorKind::device_lost:
      return SATCHEL_DEVICE_LOST;
    case ErrorKind::storage:
      return SATCHEL_STORAGE;
    case ErrorKind::cancelled:
      return SATCHEL_CANCELLED;
    case ErrorKind::internal:
      return SATCHEL_INTERNAL;
  }
  return SATCHEL_INTERNAL;
}

int32_t fail(Error error, satchel_error** err) {
  const int32_t kind = class_of(error);
  if (err == nullptr) return kind;
  std::string detail = detail_of(error);
  *err = new (std::nothrow) satchel_error{std::move(error), std::move(detail)};
  return kind;
}

Error missing(const char* what) {
  return {ErrorKind::invalid, "PARAM", std::string(what) + " must not be NULL."};
}

Error session_busy() {
  return {ErrorKind::invalid, "SESSION_BUSY",
          "Another call runs on this session. Wait for it, or cancel it. Nothing was done."};
}

Error no_size() {
  return {ErrorKind::invalid, "STRUCT_SIZE",
          "A struct has no size. Initialise it with SATCHEL_INIT."};
}

Error unknown_option() {
  return {ErrorKind::unsupported, "UNSUPPORTED_OPTION",
          "An option was set that this version of the library does not know. Use a newer one, or "
          "leave the option out."};
}

Result<std::string_view> text_of(const char* text, std::size_t size, const char* what) {
  if (text == nullptr) {
    if (size == 0) return std::string_view();
    return missing(what);
  }
  return size == SATCHEL_NUL_ENDED ? std::string_view(text) : std::string_view(text, size);
}

void give_text(satchel_buffer** out, std::string text) {
  if (out != nullptr) *out = new satchel_buffer{std::move(text)};
}

}  // namespace satchel::c_api

using satchel::c_api::guard;

uint32_t satchel_abi_version(void) {
  return SATCHEL_ABI_VERSION;
}
const char* satchel_version(void) {
  return SATCHEL_VERSION;
}

int32_t satchel_error_class(const satchel_error* error) {
  return error == nullptr ? SATCHEL_OK : satchel::c_api::class_of(error->error);
}
const char* satchel_error_code(const satchel_error* error) {
  return error == nullptr ? "" : error->error.code.c_str();
}
const char* satchel_error_message(const satchel_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}
const char* satchel_error_detail(const satchel_error* error) {
  return error == nullptr ? "{}" : error->detail.c_str();
}
void satchel_error_free(satchel_error* error) {
  delete error;
}

const char* satchel_buffer_data(const satchel_buffer* buffer) {
  return buffer == nullptr ? "" : buffer->bytes.c_str();
}
size_t satchel_buffer_size(const satchel_buffer* buffer) {
  return buffer == nullptr ? 0 : buffer->bytes.size();
}
void satchel_buffer_free(satchel_buffer* buffer) {
  delete buffer;
}

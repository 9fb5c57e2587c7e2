// Streams one answer from C++ and stops it after a number of characters:
//   stream MODEL.gguf QUESTION [CHARACTERS]
#include <satchel/satchel.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

template <auto kFree>
struct Free {
  template <class Handle>
  void operator()(Handle* handle) const {
    kFree(handle);
  }
};
using Runtime = std::unique_ptr<satchel_runtime, Free<satchel_runtime_free>>;
using Model = std::unique_ptr<satchel_model, Free<satchel_model_free>>;
using Session = std::unique_ptr<satchel_session, Free<satchel_session_free>>;

// made<Handle>(call, arguments…): what the call gives, or its error as an exception.
template <class Handle, class Call, class... Arguments>
Handle made(Call call, Arguments... arguments) {
  typename Handle::pointer handle = nullptr;
  satchel_error* error = nullptr;
  if (call(arguments..., &handle, &error) == SATCHEL_OK) return Handle(handle);
  const std::string message = satchel_error_message(error);
  satchel_error_free(error);
  throw std::runtime_error(message);
}

using Listener = std::function<bool(std::string_view)>;  // false stops the answer

satchel_result send(satchel_session* chat, std::string_view question, Listener& listener) {
  const auto piece = [](void* user, const satchel_piece* said) -> int32_t {
    const bool goes_on =
        said->is_thought != 0 || (*static_cast<Listener*>(user))({said->text, said->size});
    return goes_on ? 0 : 1;
  };
  satchel_result result = SATCHEL_INIT(satchel_result);
  satchel_error* error = nullptr;
  if (satchel_send(chat, question.data(), question.size(), nullptr, piece, &listener, &result,
                   nullptr, &error) == SATCHEL_OK)
    return result;
  const std::string message = satchel_error_message(error);
  satchel_error_free(error);
  throw std::runtime_error(message);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("stream MODEL.gguf QUESTION [CHARACTERS]");
  const auto runtime = made<Runtime>(satchel_runtime_create, nullptr);
  const auto model =
      made<Model>(satchel_model_load, runtime.get(), argv[1], nullptr, nullptr, nullptr);
  const auto chat = made<Session>(satchel_session_create, model.get(), nullptr, nullptr);
  std::size_t left = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::string::npos;
  Listener print = [&](std::string_view text) {
    std::cout << text << std::flush;
    left -= std::min(left, text.size());
    return left > 0;
  };
  const satchel_result result = send(chat.get(), argv[2], print);
  std::cout << (result.finish == SATCHEL_STOPPED ? " (stopped)" : "") << '\n'
            << result.n_read << " tokens read, " << result.n_answer << " answered\n";
  return 0;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

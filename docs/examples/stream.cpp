// Streams one answer, and stops it after a number of characters:
//   stream MODEL.gguf QUESTION [CHARACTERS]
#include <satchel/satchel.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "stream MODEL.gguf QUESTION [CHARACTERS]\n";
    return 2;
  }
  const satchel::Runtime runtime;
  const satchel::Model model(runtime, argv[1]);
  satchel::Session chat = model.chat();
  std::size_t left = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::string::npos;
  const auto print = [&](std::string_view delta, bool is_thought) {
    if (is_thought) return true;
    std::cout << delta << std::flush;
    left -= std::min(left, delta.size());
    return left > 0;
  };
  const satchel_result result = chat.send(argv[2], print).result;
  std::cout << (result.finish == SATCHEL_STOPPED ? " (stopped)" : "") << '\n'
            << result.n_prefilled << " tokens prefilled, " << result.n_answer << " answered\n";
  return 0;
} catch (const satchel::Error& error) {
  std::cerr << error.what() << " [" << error.code() << "]\n";
  return 1;
}

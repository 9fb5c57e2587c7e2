#include "ui/child/engine_wire.h"

namespace satchel::ui {
namespace {

// What a request takes, as values of its own.
template <class... Args>
std::tuple<std::decay_t<Args>...> blankArgs(void (EngineClient::*)(Args...)) {
  return {};
}

template <std::size_t number>
bool makeRequest(WireReader& from, EngineClient& engine) {
  constexpr auto kMethod = std::get<number>(kRequests);
  auto args = blankArgs(kMethod);
  std::apply([&from](auto&... arg) { (takeInto(from, arg), ...); }, args);
  if (!from.isDone()) return false;
  std::apply([&engine](const auto&... arg) { (engine.*kMethod)(arg...); }, args);
  return true;
}

template <std::size_t... numbers>
bool makeRequest(std::uint64_t number, WireReader& from, EngineClient& engine,
                 std::index_sequence<numbers...>) {
  using Make = bool (*)(WireReader&, EngineClient&);
  static constexpr Make kMakes[] = {&makeRequest<numbers>...};
  return number < sizeof...(numbers) && kMakes[number](from, engine);
}

template <class T>
std::string saidAs(Said said, const T& value) {
  std::string bytes;
  put(bytes, said);
  put(bytes, value);
  return bytes;
}

}  // namespace

bool answerRequest(std::string_view bytes, EngineClient& engine) {
  WireReader from(bytes);
  std::uint64_t number = kRequestCount;
  takeInto(from, number);
  return makeRequest(number, from, engine, std::make_index_sequence<kRequestCount>());
}

std::string saidBytes(const Opening& opening) {
  return saidAs(Said::opened, opening);
}

std::string saidBytes(const runtime::ChatEvent& event) {
  return saidAs(Said::event, event);
}

std::optional<std::variant<Opening, runtime::ChatEvent>> saidIn(std::string_view bytes) {
  WireReader from(bytes);
  Said said = Said::opened;
  takeInto(from, said);
  std::variant<Opening, runtime::ChatEvent> taken;
  if (said == Said::opened) {
    takeInto(from, std::get<Opening>(taken));
  } else if (said == Said::event) {
    takeInto(from, taken.emplace<runtime::ChatEvent>());
  } else {
    from.fail();
  }
  if (!from.isDone()) return {};
  return taken;
}

}  // namespace satchel::ui

// What goes between window and engine, as bytes: everything comes back as it was, and nothing that
// is cut or changed is taken for what it is not, or ends the program.
#include <gtest/gtest.h>

#include <random>

#include "runtime/limits/presets.h"
#include "scripted_engine.h"
#include "ui/child/engine_wire.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// A value of each type in which no field is as it begins.
class Maker {
 public:
  template <class T>
  T make() {
    return makeAs(std::type_identity<T>());
  }

 private:
  template <class T>
  T makeAs(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (std::is_enum_v<T>) {
      return T(1);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return T(++m_made % 100);
    } else {
      return makeFields<T>(static_cast<decltype(fieldsOf(std::declval<T&>()))*>(nullptr));
    }
  }
  template <class T, class... Fields>
  T makeFields(std::tuple<Fields&...>*) {
    return T{make<Fields>()...};
  }
  std::string makeAs(std::type_identity<std::string>) { return "text " + std::to_string(++m_made); }
  QString makeAs(std::type_identity<QString>) { return u"Ütext \U0001f9f3"_s; }
  std::filesystem::path makeAs(std::type_identity<std::filesystem::path>) { return "/a/path"; }
  kvcache::Recipe makeAs(std::type_identity<kvcache::Recipe>) {
    return runtime::resolve_recipe("compact").value();
  }
  Error makeAs(std::type_identity<Error>) { return {ErrorKind::storage, "CODE", "What happened."}; }
  runtime::Sampling makeAs(std::type_identity<runtime::Sampling>) {
    runtime::Sampling sampling;
    sampling.temperature = 0.7;
    sampling.top_k = 12;
    sampling.n_tokens_max = 300;
    sampling.stops = {"END", "\n"};
    return sampling;
  }
  template <class T>
  std::vector<T> makeAs(std::type_identity<std::vector<T>>) {
    std::vector<T> made;
    for (int i = 0; i < 2; ++i) made.push_back(make<T>());
    return made;
  }
  template <class T>
  std::optional<T> makeAs(std::type_identity<std::optional<T>>) {
    return make<T>();
  }
  template <class A, class B>
  std::pair<A, B> makeAs(std::type_identity<std::pair<A, B>>) {
    A first = make<A>();
    return {std::move(first), make<B>()};
  }

  int m_made = 0;
};

template <class... Each>
std::vector<runtime::ChatEvent> oneOfEach(std::variant<Each...>*) {
  Maker maker;
  return {runtime::ChatEvent(maker.make<Each>())...};
}
std::vector<runtime::ChatEvent> events() {
  return oneOfEach(static_cast<runtime::ChatEvent*>(nullptr));
}

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

TEST(Wire, every_event_comes_back_as_it_was) {
  EXPECT_EQ(events().size(), std::variant_size_v<runtime::ChatEvent>);
  for (const runtime::ChatEvent& event : events()) {
    const std::string bytes = saidBytes(event);
    const auto said = saidIn(bytes);
    ASSERT_TRUE(said) << "event " << event.index();
    ASSERT_TRUE(std::holds_alternative<runtime::ChatEvent>(*said));
    EXPECT_EQ(std::get<runtime::ChatEvent>(*said).index(), event.index());
    EXPECT_EQ(saidBytes(std::get<runtime::ChatEvent>(*said)), bytes) << "event " << event.index();
  }
}

TEST(Wire, figures_and_texts_are_the_same) {
  runtime::Failed failed{runtime::ChatTask::send, {ErrorKind::storage, "DISK_FULL", "Full."}, true};
  const auto said = saidIn(saidBytes(runtime::ChatEvent(failed)));
  ASSERT_TRUE(said);
  const auto& came = std::get<runtime::Failed>(std::get<runtime::ChatEvent>(*said));
  EXPECT_EQ(came.task, runtime::ChatTask::send);
  EXPECT_EQ(came.error.kind, ErrorKind::storage);
  EXPECT_EQ(came.error.code, "DISK_FULL");
  EXPECT_EQ(came.error.message, "Full.");
  EXPECT_TRUE(came.cpu_would_help);
}

TEST(Wire, a_recipe_is_the_same_one) {
  const runtime::MemorySettings memory{runtime::resolve_recipe("kvzip").value(), 7};
  const auto said = saidIn(saidBytes(runtime::ChatEvent(runtime::ChatOpened{{}, memory, {}})));
  ASSERT_TRUE(said);
  const auto& opened = std::get<runtime::ChatOpened>(std::get<runtime::ChatEvent>(*said));
  EXPECT_TRUE(opened.memory == memory);
}

TEST(Wire, an_event_that_is_cut_or_too_long_is_none) {
  for (const runtime::ChatEvent& event : events()) {
    const std::string bytes = saidBytes(event);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      ASSERT_FALSE(saidIn(std::string_view(bytes).substr(0, n))) << event.index() << " at " << n;
    EXPECT_FALSE(saidIn(bytes + '\0')) << event.index();
  }
}

TEST(Wire, an_event_with_a_changed_bit_is_another_one_or_none) {
  for (const runtime::ChatEvent& event : events()) {
    const std::string bytes = saidBytes(event);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto said = saidIn(flipped(bytes, bit));
      if (!said || !std::holds_alternative<runtime::ChatEvent>(*said)) continue;
      // What was taken can be said, and is then taken again.
      ASSERT_TRUE(saidIn(saidBytes(std::get<runtime::ChatEvent>(*said))))
          << event.index() << " bit " << bit;
    }
  }
}

TEST(Wire, no_bytes_at_random_end_the_program) {
  std::mt19937 random(7);
  std::size_t n_taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = char(random() % 4 == 0 ? random() : random() % 3);
    n_taken += saidIn(bytes).has_value();
  }
  EXPECT_LT(n_taken, 20'000u);
}

// A count of elements that the bytes cannot hold allocates nothing.
TEST(Wire, a_count_beyond_the_bytes_is_refused) {
  std::string bytes;
  put(bytes, std::uint64_t{1} << 60);
  bytes += "few";
  WireReader numbers(bytes), texts(bytes), words(bytes), one(bytes);
  EXPECT_FALSE(take<std::vector<std::int32_t>>(numbers));
  EXPECT_FALSE(take<std::vector<std::string>>(texts));
  EXPECT_FALSE(take<QString>(words));
  EXPECT_FALSE(take<std::string>(one));
  EXPECT_TRUE(numbers.isBroken() && texts.isBroken() && words.isBroken() && one.isBroken());
}

TEST(Wire, what_an_engine_is_made_of_comes_back_as_it_was) {
  const auto setup = Maker().make<EngineSetup>();
  std::string bytes, again;
  put(bytes, setup);
  WireReader from(bytes);
  const auto came = take<EngineSetup>(from);
  ASSERT_TRUE(came && from.isDone());
  put(again, *came);
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(came->dataDir, setup.dataDir);
  EXPECT_EQ(came->key, setup.key);
}

TEST(Wire, a_request_is_made_with_its_arguments) {
  ScriptedEngine engine;
  EXPECT_TRUE(answerRequest(
      requestBytes<&EngineClient::sendInstead>(qint64{3}, QString(u"other words"_s)), engine));
  EXPECT_EQ(engine.replaceAsked(), u"instead 3: other words"_s);
  EXPECT_TRUE(answerRequest(requestBytes<&EngineClient::setThinking>(false), engine));
  EXPECT_FALSE(engine.thinks());
  EXPECT_TRUE(answerRequest(requestBytes<&EngineClient::nameParts>(std::vector<std::size_t>{2, 5}),
                            engine));
  EXPECT_EQ(engine.namedParts(), (std::vector<std::size_t>{2, 5}));
  EXPECT_TRUE(answerRequest(requestBytes<&EngineClient::previewChat>(ChatSettings{u"compact"_s, 7}),
                            engine));
  ASSERT_EQ(engine.previewsAsked().size(), 1);
  EXPECT_EQ(engine.previewsAsked()[0], (ChatSettings{u"compact"_s, 7}));
  EXPECT_TRUE(answerRequest(requestBytes<&EngineClient::stop>(), engine));
  EXPECT_EQ(engine.stopsAsked(), 1);
}

TEST(Wire, a_request_that_is_cut_is_not_made) {
  ScriptedEngine engine;
  const std::string bytes =
      requestBytes<&EngineClient::correct>(qint64{3}, QString(u"other words"_s));
  for (std::size_t n = 0; n < bytes.size(); ++n)
    ASSERT_FALSE(answerRequest(std::string_view(bytes).substr(0, n), engine)) << n;
  EXPECT_FALSE(answerRequest(bytes + '\0', engine));
  std::string unknown;
  put(unknown, std::uint64_t{kRequestCount});
  EXPECT_FALSE(answerRequest(unknown, engine));
  EXPECT_EQ(engine.replaceAsked(), QString());
}

TEST(Wire, frames_come_whole_however_a_pipe_cuts_them) {
  const std::string all = framed("one") + framed("") + framed(std::string(100'000, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, all.size()}) {
    Frames frames;
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < all.size(); at += step) {
      frames.add(std::string_view(all).substr(at, step));
      while (const auto message = frames.next()) sizes.push_back(message->size());
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 0, 100'000})) << step;
    EXPECT_FALSE(frames.isBroken());
  }
  Frames damaged;
  std::string head;
  put(head, std::uint64_t{kFrameBytesMost} + 1);
  damaged.add(head);
  EXPECT_FALSE(damaged.next());
  EXPECT_TRUE(damaged.isBroken());
}

}  // namespace
}  // namespace satchel::ui

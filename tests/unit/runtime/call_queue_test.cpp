// Calls of several threads, one at a time. What waits is seen by n_waiting(), not by the clock.
#include "runtime/chat/call_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace satchel::runtime {
namespace {

class CallQueueTest : public testing::Test {
 protected:
  using Permit = CallQueue::Permit;
  void until_waiting(std::size_t n) const {
    while (queue_.n_waiting() != n) std::this_thread::yield();
  }
  // Keeps the queue busy until it is reset.
  std::optional<Permit> taken() { return queue_.wait({}).value(); }

  CallQueue queue_;
};

TEST_F(CallQueueTest, lets_calls_in_one_at_a_time_in_the_order_they_came) {
  std::optional<Permit> first = taken();
  std::vector<int> order;  // written with a permit only
  std::atomic<int> n_inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto permit = queue_.wait({});
      EXPECT_EQ(++n_inside, 1);
      order.push_back(i);
      --n_inside;
    });
    until_waiting(std::size_t(i) + 1);
  }
  EXPECT_TRUE(order.empty());
  first.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CallQueueTest, a_call_that_is_stopped_while_it_waits_leaves_the_others_to_go_on) {
  std::optional<Permit> first = taken();
  std::stop_source stop;
  std::optional<Error> error;
  std::thread stopped([&] { error = queue_.wait(stop.get_token()).error(); });
  until_waiting(1);
  bool is_done = false;
  std::thread behind([&] {
    const auto permit = queue_.wait({});
    is_done = permit.ok();
  });
  until_waiting(2);
  stop.request_stop();
  stopped.join();
  EXPECT_EQ(error->code, "STOPPED");
  EXPECT_EQ(error->kind, ErrorKind::cancelled);
  EXPECT_EQ(queue_.n_waiting(), 1u);
  first.reset();
  behind.join();
  EXPECT_TRUE(is_done);
}

TEST_F(CallQueueTest, a_stopped_call_that_need_not_wait_is_let_in) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(queue_.wait(stop.get_token()).ok());
}

TEST_F(CallQueueTest, a_thread_that_is_let_in_does_not_wait_for_itself) {
  const std::optional<Permit> first = taken();
  EXPECT_EQ(queue_.wait({}).error().code, "NESTED_CALL");
  EXPECT_EQ(queue_.wait_idle({}, std::stop_source()).error().code, "NESTED_CALL");
  EXPECT_EQ(queue_.n_waiting(), 0u);
}

TEST_F(CallQueueTest, idle_work_makes_way_for_a_call_and_comes_after_all_of_them) {
  const std::stop_source makes_way;
  std::optional<Permit> idle = queue_.wait_idle({}, makes_way).value();
  std::vector<char> order;  // written with a permit only
  std::thread call([&] {
    const auto permit = queue_.wait({});
    order.push_back('c');
  });
  until_waiting(1);
  EXPECT_TRUE(makes_way.stop_requested());
  std::thread later([&] {
    const auto permit = queue_.wait_idle({}, std::stop_source());
    order.push_back('i');
  });
  until_waiting(2);
  std::thread last([&] {
    const auto permit = queue_.wait({});
    order.push_back('c');
  });
  until_waiting(3);
  idle.reset();
  for (std::thread* each : {&call, &later, &last}) each->join();
  EXPECT_EQ(order, (std::vector<char>{'c', 'c', 'i'}));
}

TEST_F(CallQueueTest, reading_makes_way_for_a_call_that_hurries_only) {
  std::optional<Permit> reading = taken();
  const std::stop_source makes_way, again;
  queue_.reads(makes_way);
  std::thread patient([&] { EXPECT_TRUE(queue_.wait({}).ok()); });
  until_waiting(1);
  EXPECT_FALSE(makes_way.stop_requested());
  std::thread hurries([&] { EXPECT_TRUE(queue_.wait({}, {.hurries = true}).ok()); });
  until_waiting(2);
  EXPECT_TRUE(makes_way.stop_requested());
  queue_.reads(again);  // begun when it waits already
  EXPECT_TRUE(again.stop_requested());
  reading.reset();
  patient.join();
  hurries.join();
  const std::optional<Permit> next = taken();
  const std::stop_source alone;
  queue_.reads(alone);
  EXPECT_FALSE(alone.stop_requested());
}

TEST_F(CallQueueTest, who_reads_can_be_hurried_before_a_call_comes) {
  std::optional<Permit> reading = taken();
  queue_.hurry();  // nobody reads yet
  const std::stop_source makes_way;
  queue_.reads(makes_way);
  EXPECT_FALSE(makes_way.stop_requested());
  queue_.hurry();
  EXPECT_TRUE(makes_way.stop_requested());
}

TEST_F(CallQueueTest, idle_work_that_waits_can_be_stopped) {
  std::optional<Permit> first = taken();
  std::stop_source stop;
  bool was_let_in = true;
  std::thread idle(
      [&] { was_let_in = queue_.wait_idle(stop.get_token(), std::stop_source()).ok(); });
  until_waiting(1);
  stop.request_stop();
  idle.join();
  EXPECT_FALSE(was_let_in);
}

TEST_F(CallQueueTest, a_chat_that_answers_lets_calls_of_other_chats_in_between_two_tokens) {
  std::optional<Permit> answer = taken();
  queue_.begin_answer({1});
  std::vector<char> order;  // written with a permit only
  const auto call = [&](char name, const CallScope& scope) {
    return std::thread([&, name, scope] {
      const auto permit = queue_.wait({}, scope);
      order.push_back(name);
    });
  };
  std::thread same = call('s', {.chat = {1}});
  until_waiting(1);
  std::thread other = call('o', {.chat = {2}});
  until_waiting(2);
  std::thread all = call('a', {.all = true});
  until_waiting(3);
  std::thread late = call('l', {.chat = {3}});
  until_waiting(4);
  EXPECT_TRUE(queue_.is_wanted());
  const bool may_go_on = true;
  CallQueue::Place place;
  queue_.pause(place, may_go_on);
  order.push_back('p');
  EXPECT_FALSE(queue_.is_wanted()) << "who needs all chats waits, and who came later behind it";
  EXPECT_EQ(queue_.wait({}).error().code, "NESTED_CALL");
  queue_.end_answer({1});
  answer.reset();
  for (std::thread* each : {&same, &other, &all, &late}) each->join();
  EXPECT_EQ(order, (std::vector<char>{'o', 'p', 's', 'a', 'l'}));
}

TEST_F(CallQueueTest,
       who_pauses_to_read_lets_in_what_touches_no_cache_and_answers_up_to_their_end) {
  std::optional<Permit> reader = taken();
  std::vector<char> order;  // written with a permit only
  const auto call = [&](char name, const CallScope& scope) {
    return std::thread([&, name, scope] {
      const auto permit = queue_.wait({}, scope);
      order.push_back(name);
    });
  };
  std::thread any = call('c', {.chat = {2}});
  until_waiting(1);
  std::thread looks = call('l', {.no_cache = true});
  until_waiting(2);
  bool has_token = false;
  std::thread answer([&] {
    const auto permit = queue_.wait({}, {.no_cache = true});
    CallQueue::Place place;
    has_token = true;
    queue_.pause(place, has_token);
    order.push_back('t');
    queue_.wait_for_reader(place);
    order.push_back('e');
  });
  until_waiting(3);
  CallQueue::Place place;
  for (int i = 0; i < 3; ++i) queue_.pause_reader(place);
  order.push_back('r');
  EXPECT_FALSE(queue_.has_reader());
  reader.reset();
  for (std::thread* each : {&any, &looks, &answer}) each->join();
  ASSERT_EQ(order.size(), 5u);
  EXPECT_EQ(std::string(order.begin(), order.begin() + 3), "ltr");
}

TEST_F(CallQueueTest, an_answer_goes_on_when_another_has_what_it_waits_for) {
  std::optional<Permit> first = taken();
  bool has_token = false;  // written with a permit only
  std::thread answer([&] {
    const auto permit = queue_.wait({});
    queue_.begin_answer({1});
    CallQueue::Place place;
    queue_.pause(place, has_token);
    EXPECT_TRUE(has_token);
    queue_.end_answer({1});
  });
  until_waiting(1);
  first.reset();
  std::stop_source stop;
  std::thread idle([&] {
    EXPECT_FALSE(queue_.wait_idle(stop.get_token(), std::stop_source()).ok())
        << "a chat answers, though it pauses";
  });
  until_waiting(1);
  stop.request_stop();
  idle.join();
  {
    const auto permit = queue_.wait({});
    has_token = true;
  }
  answer.join();
}

}  // namespace
}  // namespace satchel::runtime

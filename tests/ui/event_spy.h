// EventSpy: the events of one kind that an engine told, as QSignalSpy has signals.
#pragma once

#include <QObject>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "ui/model/engine_client.h"

namespace satchel::ui {

template <class Event>
class EventSpy {
 public:
  // then: called with each
  explicit EventSpy(const EngineClient* engine, std::function<void(const Event&)> then = {}) {
    m_connection = QObject::connect(engine, &EngineClient::happened,
                                    [this, then](const runtime::ChatEvent& event) {
                                      const auto* found = std::get_if<Event>(&event);
                                      if (found == nullptr) return;
                                      m_events.push_back(*found);
                                      if (then) then(*found);
                                    });
  }
  EventSpy(EventSpy&&) = delete;
  ~EventSpy() { QObject::disconnect(m_connection); }

  qsizetype count() const { return qsizetype(m_events.size()); }
  bool isEmpty() const { return m_events.empty(); }
  const Event& first() const { return m_events.front(); }
  const Event& last() const { return m_events.back(); }
  auto begin() const { return m_events.begin(); }
  auto end() const { return m_events.end(); }

 private:
  std::vector<Event> m_events;
  QMetaObject::Connection m_connection;
};

}  // namespace satchel::ui

// FindOverlay: what ChatFinder finds in a message, lit in what is shown of it.
#pragma once

#include <QAbstractTextDocumentLayout>
#include <QRectF>
#include <QRegularExpression>
#include <optional>
#include <vector>

#include "ui/widgets/theme.h"

class QTextDocument;

namespace satchel::ui {

// What is lit in one message; an empty pattern: nothing.
struct FindLook {
  QRegularExpression pattern = {};
  int current = -1;  // of the places in this message, from 0; -1: none is

  bool isOn() const { return !pattern.pattern().isEmpty(); }
};

class FindOverlay {
 public:
  // True: another pattern than before, or the message changed: its parts are looked through anew.
  bool take(const FindLook& look);
  void clear() { m_isPlaced = false; }
  void placePart(const QString& shown);

  void addTo(QAbstractTextDocumentLayout::PaintContext& context, int part, QTextDocument* document,
             const Theme& theme) const;
  // The part and the character where the current place begins.
  std::optional<std::pair<int, int>> current() const;

 private:
  struct Place {
    int part, begin, end;
  };
  int currentPlace() const;  // -1: there is none

  FindLook m_look;
  bool m_isPlaced = false;
  int m_parts = 0;
  std::vector<Place> m_places;
};

// The line of a document that has this character, in the document's coordinates.
QRectF lineAt(const QTextDocument& document, int character);

}  // namespace satchel::ui

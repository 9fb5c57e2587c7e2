// The language of the window: its texts, Qt's own (the buttons of its dialogs), and how figures and
// dates are written. Translations are part of the program (ui/translations).
#pragma once

#include <QLocale>

class QCoreApplication;

namespace satchel::ui {

enum class Language { System, English, German, French };  // kept as numbers in window.ini

// The language to show where the user wants `wanted`; System: the first one of the system's that
// there is, or English.
Language languageFor(Language wanted, const QLocale& system = QLocale::system());

// For what is made from now on; widgets that are there keep their texts. Without Qt's translations
// on this machine, Qt's own texts stay English.
void applyLanguage(QCoreApplication& application, Language wanted);

}  // namespace satchel::ui

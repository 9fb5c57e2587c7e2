#include "ui/model/language.h"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QTranslator>
#include <array>
#include <utility>

// Outside any namespace, as Qt asks.
static void readyTranslations() {
  Q_INIT_RESOURCE(satchel_translations);
}

namespace satchel::ui {
namespace {

struct KnownLanguage {
  Language language;
  QLocale::Language ofQt;
  QLocale::Territory territory;  // whose figures and dates
};

constexpr std::array kLanguages = {
    KnownLanguage{Language::English, QLocale::English, QLocale::UnitedStates},
    KnownLanguage{Language::German, QLocale::German, QLocale::Germany},
    KnownLanguage{Language::French, QLocale::French, QLocale::France}};

const KnownLanguage& known(Language language) {
  for (const KnownLanguage& one : kLanguages)
    if (one.language == language) return one;
  return kLanguages.front();
}

}  // namespace

Language languageFor(Language wanted, const QLocale& system) {
  if (wanted != Language::System) return wanted;
  for (const QString& name : system.uiLanguages())
    for (const KnownLanguage& one : kLanguages)
      if (QLocale(name).language() == one.ofQt) return one.language;
  return Language::English;
}

void applyLanguage(QCoreApplication& application, Language wanted) {
  const KnownLanguage shown = known(languageFor(wanted));
  const QLocale locale(shown.ofQt, shown.territory);
  QLocale::setDefault(locale);
  qDeleteAll(application.findChildren<QTranslator*>());
  if (shown.language == Language::English) return;
  readyTranslations();
  const std::array files = {
      std::pair{QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath)},
      std::pair{QStringLiteral("satchel"), QStringLiteral(":/translations")}};
  for (const auto& [name, folder] : files) {
    auto* translator = new QTranslator(&application);
    if (translator->load(locale, name, QStringLiteral("_"), folder))
      QCoreApplication::installTranslator(translator);
  }
}

}  // namespace satchel::ui

// Scenes of what is done beside talking: finding, settings, prompts, models, the server; of code;
// of a chat that is too long; and the tour.
#pragma once

#include "scenes.h"

namespace satchel::ui {

void showFind(Scene& scene);
void showCode(Scene& scene);
void showFolders(Scene& scene);
void showSettings(Scene& scene);
void showSettingsOfOld(Scene& scene);
void showPrompts(Scene& scene);
void showModels(Scene& scene);
void showServer(Scene& scene);
void showTooLong(Scene& scene);
void showTour(Scene& scene);  // what Compact would do

}  // namespace satchel::ui

// The list of keys (F1).
#pragma once

class QWidget;

namespace satchel::ui {

// Until it is closed.
void showShortcuts(QWidget* parent);

}  // namespace satchel::ui

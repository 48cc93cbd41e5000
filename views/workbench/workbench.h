#pragma once
#include <QMainWindow>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "views/workbench/draft.h"
#include "views/workbench/predictor.h"
#include "views/workbench/stage_places.h"

class QAction;
class QLabel;

namespace pipescope::shell {
class NoticeBar;
class Palette;
}  // namespace pipescope::shell

namespace pipescope::pages {
class Panel;
}

namespace pipescope::workbench {

class AxesBar;
class RunList;
class SettingsForm;
class StageBoard;
class WorkbenchTools;

/// A window in which configurations are edited and run. Settings are on the left, stages on the right, and
/// the runs below them.
class Workbench : public QMainWindow {
  Q_OBJECT

 public:
  Workbench(shell::Palette& palette, Services services, QWidget* parent = nullptr);
  ~Workbench() override;

  /// Begins with no settings.
  void newRun();
  /// Begins with the settings of a recorded run. New runs are compared with it; `profile` may be empty.
  void edit(const QString& profile, const std::vector<model::ConfigurationEntry>& options);
  /// Changes the settings: KEY=VALUE each. "move=BLOCK:STAGE" puts a block into another stage. What is no
  /// setting is named in the notice.
  void change(const QStringList& changes);
  /// Takes back the last change of the settings, or makes it again.
  void undo();
  void redo();
  /// Begins with a configuration file.
  void openConfiguration(const QString& file);
  /// Writes the settings as a configuration file.
  void saveConfiguration(const QString& file);
  void startRun();

  const Draft& draft() const { return *draft_; }
  SettingsForm* form() const { return form_; }
  AxesBar* axes() const { return axes_; }
  StageBoard* board() const { return board_; }
  RunList* runs() const { return runs_; }
  QString notice() const;
  /// The sentence above the stages: what is predicted, or why nothing is.
  QString summary() const;
  /// True when nothing is checked or predicted.
  bool isSettled() const;

 Q_SIGNALS:
  void openWanted(const QString& profile);
  /// A run has begun to write its profile, which is shown without taking the keyboard from the workbench.
  void runStarted(const QString& profile);
  void compareWanted(const QString& former, const QString& profile);

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  void makeLayout();
  QWidget* makeStages();
  void makeActions();
  void fillPresets();
  /// Takes other settings. The predicted speed of these is what changes are compared with.
  void begin(const std::vector<FormSetting>& settings, const QString& former);
  void settingsChanged();
  void remember();
  void restore(std::vector<Draft>& from, std::vector<Draft>& to);
  void moveWanted();
  void check();
  void applyCheck(const std::vector<Problem>& problems);
  void predict();
  void showPrediction(const QString& toml, const Prediction& prediction);
  void showFailure(const QString& toml, const QString& sentence);
  QString inWords(const QString& sentence) const;
  void takeStages(const StagePlaces& places);
  /// `details` is the tool tip of what is wrong.
  void say(const QString& sentence, const QString& wrong = {}, const QString& details = {});
  void followPalette();

  shell::Palette& palette_;
  Services services_;
  std::unique_ptr<Draft> draft_;
  QString former_, trialToml_;
  std::optional<double> startingRate_;
  bool checking_ = false, stale_ = false, wrong_ = false, closing_ = false, reading_ = false;
  std::vector<Draft> past_, future_;  ///< states before the present one, and those that were taken back
  std::optional<Draft> remembered_;   ///< the present state, as it was last remembered
  std::vector<std::pair<QString, int>> moves_;  ///< blocks to move once their stages are predicted
  QAction *undo_ = nullptr, *redo_ = nullptr;
  int beginnings_ = 0;  ///< number of times that other settings were taken

  shell::NoticeBar* notice_ = nullptr;
  WorkbenchTools* tools_ = nullptr;
  SettingsForm* form_ = nullptr;
  AxesBar* axes_ = nullptr;
  QLabel *summary_ = nullptr, *shortage_ = nullptr;  ///< the prediction, and what is wrong with it
  StageBoard* board_ = nullptr;
  Predictor* predictor_ = nullptr;
  RunList* runs_ = nullptr;
};

}  // namespace pipescope::workbench

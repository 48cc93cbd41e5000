#pragma once
#include <QProxyStyle>

namespace pipescope::shell {

/// The style Fusion with check boxes and line edits that are visible in a dark theme. Fusion itself derives
/// their frames from the colour of the window.
class Style : public QProxyStyle {
  Q_OBJECT

 public:
  Style();
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget = nullptr) const override;

 private:
  void drawCheckBox(const QStyleOption& option, QPainter& painter) const;
  void drawFrame(const QStyleOption& option, QPainter& painter) const;
};

}  // namespace pipescope::shell

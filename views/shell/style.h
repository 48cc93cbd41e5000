#pragma once
#include <QProxyStyle>

namespace pipescope::shell {

/// Fusion, with check boxes and line edits that can be seen in a dark theme: Fusion derives their frames from
/// the window's colour.
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

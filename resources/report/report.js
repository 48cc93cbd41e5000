// Zooms and pans the timeline: wheel and buttons zoom, dragging pans, a double click shows everything.
for (const box of document.querySelectorAll('.timeline')) {
  const svg = box.querySelector('svg');
  if (!svg) continue;
  const whole = svg.viewBox.baseVal, all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let view = { ...all };
  const show = () => {
    view.width = Math.min(all.width, Math.max(all.width / 200, view.width));
    view.height = view.width * all.height / all.width;
    view.x = Math.min(all.x + all.width - view.width, Math.max(all.x, view.x));
    view.y = Math.min(all.y + all.height - view.height, Math.max(all.y, view.y));
    svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.width} ${view.height}`);
  };
  const zoom = (factor, fx, fy) => {
    const width = Math.min(all.width, view.width * factor), scale = width / view.width;
    view.x += view.width * (1 - scale) * fx;
    view.y += view.height * (1 - scale) * fy;
    view.width = width;
    show();
  };
  box.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const area = svg.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - area.x) / area.width, (event.clientY - area.y) / area.height);
  }, { passive: false });
  let from = null;
  box.addEventListener('pointerdown', (event) => { from = { x: event.clientX, y: event.clientY }; });
  for (const end of ['pointerup', 'pointercancel']) window.addEventListener(end, () => { from = null; });
  window.addEventListener('pointermove', (event) => {
    if (!from) return;
    const area = svg.getBoundingClientRect();
    view.x -= (event.clientX - from.x) * view.width / area.width;
    view.y -= (event.clientY - from.y) * view.height / area.height;
    from = { x: event.clientX, y: event.clientY };
    show();
  });
  box.addEventListener('dblclick', () => { view = { ...all }; show(); });
  const tools = box.previousElementSibling;
  tools.querySelector('[data-zoom=in]').onclick = () => zoom(0.6, 0.5, 0.5);
  tools.querySelector('[data-zoom=out]').onclick = () => zoom(1 / 0.6, 0.5, 0.5);
  tools.querySelector('[data-zoom=all]').onclick = () => { view = { ...all }; show(); };
}

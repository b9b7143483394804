/** Starts what is drawn or moves. Without scripts all pages work, but for plots and what is live. */
export const SCRIPT = `const plots = () => {
  for (const figure of document.querySelectorAll('figure.plot:not([data-drawn])')) {
    figure.dataset.drawn = '';
    const points = JSON.parse(figure.dataset.points);
    if (points.length === 0) continue;
    const times = points.map(([time]) => time / 1000);
    const values = points.map(([, value]) => value);
    const now = Date.now() / 1000;
    if (times.at(-1) < now) {
      times.push(now);
      values.push(values.at(-1));
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line') }, ticks: { stroke: colour('--line') } };
    const size = () => ({ width: figure.clientWidth, height: 240 });
    const series = {
      label: figure.dataset.label, stroke: colour('--accent'), width: 2,
      paths: uPlot.paths.stepped({ align: 1 }), points: { size: 5 },
    };
    const tzDate = (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC');
    const plot = new uPlot({ ...size(), tzDate, axes: [axis, axis], legend: { show: false }, series: [{}, series] }, [times, values], figure);
    addEventListener('resize', () => plot.setSize(size()));
  }
};

const follow = () => {
  if (document.querySelector('[data-live]') === null) return;
  const stale = document.createElement('p');
  stale.className = 'said bad';
  stale.setAttribute('role', 'status');
  stale.textContent = 'This page is no longer kept up to date: load it again.';
  const later = new Map();
  const show = ({ id, text }) => {
    const section = document.getElementById(id);
    if (section === null) return;
    later.delete(id);
    // What somebody uses, or has opened, is replaced afterwards.
    if (section.contains(document.activeElement) || section.querySelector('details[open]') !== null) {
      later.set(id, text);
      return;
    }
    section.innerHTML = text;
    plots();
  };
  const showLater = () => setTimeout(() => [...later].forEach(([id, text]) => show({ id, text })));
  let source;
  const open = () => {
    source = new EventSource(location.pathname.replace(/\\/$/, '') + '/live' + location.search);
    source.onopen = () => stale.remove();
    source.onmessage = ({ data }) => show(JSON.parse(data));
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) document.querySelector('h1').after(stale);
    };
  };
  const isShown = () => document.visibilityState === 'visible';
  if (isShown()) open();
  // A browser has few connections to a server: pages that nobody sees need none.
  addEventListener('visibilitychange', () => {
    source?.close();
    if (isShown()) open();
  });
  addEventListener('focusout', showLater);
  addEventListener('toggle', showLater, { capture: true });
  addEventListener('pagehide', () => source?.close());
};

addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const field = document.querySelector('[role=search] input');
  if (field === null) return;
  event.preventDefault();
  field.select();
});

addEventListener('submit', ({ target }) => {
  for (const button of target.querySelectorAll('button')) setTimeout(() => (button.disabled = true));
});

document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
plots();
follow();
`;

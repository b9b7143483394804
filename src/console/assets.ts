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

export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f5f6f8; --text: #1c2128; --quiet: #5d6673; --line: #d9dee5; --edge: #858f9d; --accent: #1a5fb4;
  --good: #1b6e3c; --bad: #b3261e; --waiting: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --raised: #1d2127; --text: #e3e6ea; --quiet: #9aa3af; --line: #323843; --edge: #6f7987; --accent: #82b1f5;
    --good: #6fcf97; --bad: #ff8a80; --waiting: #e3b341;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  display: grid; grid-template: auto 1fr / 13rem minmax(0, 1fr); min-height: 100vh;
}
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: 0; }
.skip { position: absolute; left: -99rem; padding: 0.5rem 1rem; background: var(--accent); color: var(--ground); }
.skip:focus { left: 0.5rem; top: 0.5rem; z-index: 1; }
header {
  grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.25rem; padding: 0.6rem 1.25rem;
  background: var(--raised); border-bottom: 1px solid var(--line);
}
header [role='search'] { flex: 1; max-width: 24rem; margin: 0 auto 0 4rem; }
.brand { font-weight: 650; color: var(--text); }
nav { padding: 1rem 0; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
nav h2 { margin: 1rem 1.25rem 0.25rem; font-size: 0.75rem; font-weight: 600; color: var(--quiet); letter-spacing: 0.03em; }
nav h2:first-child { margin-top: 0; } nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: 0.2rem 1.25rem; color: var(--text); }
nav a:hover, nav a[aria-current] { background: var(--raised); text-decoration: none; }
nav a[aria-current] { box-shadow: inset 3px 0 var(--accent); font-weight: 600; }
main { min-width: 0; max-width: 96rem; padding: 0.75rem 1.5rem 4rem; border-left: 1px solid var(--line); }
main.login { border: 0; grid-column: 1 / -1; width: 100%; max-width: 28rem; margin: 12vh auto 0; }
h1 { font-size: 1.5rem; font-weight: 650; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }
main h2 { font-size: 1.05rem; font-weight: 650; margin: 2rem 0 0.5rem; overflow-wrap: anywhere; }
section > * + :not(h2) { margin-top: 0.75rem; }
section > details { display: inline-block; margin-right: 0.5rem; vertical-align: top; }
section > details[open] { display: block; }
time { white-space: nowrap; }
.links { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin-bottom: 0; }
.fields { display: flex; flex-wrap: wrap; align-items: end; gap: 0.6rem 0.9rem; }
.fields label { display: grid; gap: 0.15rem; color: var(--quiet); font-size: 0.85rem; }
.asking label:not(.long) { flex: 1 1 7rem; max-width: 13rem; }
.fields .long, .fields p, .login .fields label { flex-basis: 100%; margin: 0; }
input, select, textarea, button, summary { font: inherit; color: var(--text); } input, select { height: 2.2rem; }
input, select, textarea {
  min-width: 0; width: 100%; padding: 0.35rem 0.5rem; background: var(--ground); border: 1px solid var(--edge); border-radius: 4px;
}
textarea { font-family: ui-monospace, monospace; font-size: 0.9rem; resize: vertical; }
button, summary {
  padding: 0.3rem 0.9rem; border: 1px solid var(--accent); border-radius: 4px; background: var(--accent); color: var(--ground);
  cursor: pointer; white-space: nowrap;
}
button:disabled { opacity: 0.5; cursor: default; }
button.plain { background: none; border: 0; color: var(--accent); padding: 0.25rem 0; }
summary { width: fit-content; list-style: none; background: none; color: var(--accent); }
summary::-webkit-details-marker { display: none; }
td summary { padding: 0.05rem 0.6rem; font-size: 0.9rem; }
details .fields { margin: 0.5rem 0; padding: 0.75rem 1rem; max-width: 42rem; border: 1px solid var(--accent); border-radius: 6px; white-space: normal; }
td details .fields { min-width: 16rem; }
.scrolled { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 0.75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--raised); color: var(--quiet); font-weight: 600; font-size: 0.85rem; white-space: nowrap; }
tr:last-child td { border-bottom: 0; } th.number, td.number { text-align: right; white-space: nowrap; }
td > div { max-width: 24rem; overflow-wrap: break-word; } td > div:has(> a) { max-width: 14rem; } td:last-child > div { max-width: 32rem; overflow-wrap: anywhere; } td:last-child time { white-space: normal; } .id { white-space: nowrap; }
progress { width: 8rem; height: 0.6rem; accent-color: var(--accent); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 0.75rem 1.5rem; margin: 0; }
dt, figcaption { color: var(--quiet); font-size: 0.85rem; } dd { margin: 0; overflow-wrap: anywhere; }
pre {
  margin: 0; padding: 0.75rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; overflow: auto; max-height: 40rem;
  font: 0.85rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
figure { margin: 0 0 1rem; }
.said { padding: 0.5rem 0.9rem; border-left: 3px solid; background: var(--raised); overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .waiting { color: var(--waiting); } .quiet { color: var(--quiet); }
@media (max-width: 800px) {
  body { display: block; }
  header { padding: 0.6rem 1rem; }
  header [role='search'] { order: 1; flex-basis: 100%; max-width: none; margin: 0; }
  header form:last-child { margin-left: auto; }
  nav { display: flex; position: static; overflow-x: auto; padding: 0; border-bottom: 1px solid var(--line); }
  nav h2 { display: none; } nav ul { display: flex; }
  nav a { padding: 0.5rem 0.75rem; white-space: nowrap; } nav a[aria-current] { box-shadow: inset 0 -3px var(--accent); }
  main { padding: 0.5rem 1rem 3rem; border: 0; }
  .asking label:not(.long) { flex-basis: 100%; max-width: none; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); } tr:last-child { border-bottom: 0; }
  td, td.number { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: 0.5rem; padding: 0.15rem 0.75rem; border: 0; text-align: left; }
  td > div { max-width: none; white-space: normal; overflow-wrap: anywhere; }
  dl { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  td::before { content: attr(data-label); color: var(--quiet); font-size: 0.85rem; overflow-wrap: anywhere; }
  td details .fields { min-width: 0; }
}
`;

// An answer in the browser: sorted, searched and paged in its table, and drawn as bars, a line or points. The server's
// table and bars stay where this does not run.
import {axisX, axisY, barX, dot, gridX, gridY, lineY, plot, ruleX, ruleY} from '@observablehq/plot';

const shownBars = 40;
const shownPoints = 2000;
const pageRows = 50;
const fewRows = 10; // are seen at once, and not searched
const colours = ['var(--series-1)', 'var(--series-2)', 'var(--series-3)', 'var(--series-4)', 'var(--series-5)',
  'var(--series-6)', 'var(--series-7)', 'var(--series-8)'];

const element = (name, properties = {}, ...children) => {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
};

// choice is a labelled list of options, [value, text].
const choice = (text, options, chosen, changed) => {
  const select = element('select', {}, ...options.map(([value, label]) => new Option(label, value)));
  select.value = chosen;
  select.addEventListener('change', changed);
  return {select, label: element('label', {}, text, select)};
};

// moment is a date or a time of PostgreSQL; those without a zone are drawn as they are written.
const moment = (text) => new Date(/^\d+-\d\d-\d\d$/.test(text) ? text
  : text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00').replace(/(T[\d:.]+)$/, '$1Z'));

const short = (text) => text.length > 28 ? `${text.slice(0, 27)}…` : text;

// valueOf is what a key is drawn at.
const valueOf = (column, text) => {
  if (text === null) return 'NULL';
  if (column.time) return moment(text);
  return column.number ? Number(text) : text;
};

// Picture draws one column of an answer.
class Picture {
  constructor(answer, unsure) {
    Object.assign(this, answer, {unsure});
    const of = (wanted) => this.columns.map((c, i) => [c, i]).filter(([c]) => wanted(c))
      .map(([c, i]) => [String(i), c.name]);
    this.keys = of((c) => c.key);
    this.values = of((c) => c.drawn);
    const draw = () => this.draw();
    const ordered = this.keys.find(([i]) => this.continuous(i) && this.distinct(i) > 2);
    const along = ordered ? ordered[0] : this.keys[0][0];
    const others = this.keys.filter(([i]) => i !== along);
    const other = others.find(([i]) => this.distinct(i) <= colours.length) ?? others[0];
    this.kind = choice('Chart', [['bars', 'Bars'], ['line', 'Line'], ['points', 'Points']],
      ordered && (this.columns[along].time || this.distinct(along) > 12) ? 'line' : 'bars', draw);
    this.value = choice('of', this.values, this.values[0][0], draw);
    this.along = choice('by', this.keys, along, draw);
    this.series = choice('apart by', [['', 'nothing'], ...this.keys], other ? other[0] : '', draw);
    this.canvas = element('figure', {className: 'chart picture'});
    const shown = [this.kind, this.value, this.along];
    if (this.keys.length > 1) shown.push(this.series);
    this.element = element('div', {}, element('div', {className: 'choices'}, ...shown.map((c) => c.label)), this.canvas);
  }

  continuous(i) {
    return (this.columns[i].time || this.columns[i].number) && this.rows.every((r) => r.values[i] !== null
      && !Number.isNaN(Number(valueOf(this.columns[i], r.values[i]))));
  }

  distinct(i) { return new Set(this.rows.map((r) => r.values[i])).size; }

  // data is one point for each row that has a value. What neither axis nor series tells apart is told by the name.
  data() {
    const [along, series, value] = [this.along.select.value, this.series.select.value, this.value.select.value];
    const rest = this.keys.map(([i]) => i).filter((i) => i !== along && i !== series);
    const word = (r, i) => r.values[i] === null ? 'NULL' : r.values[i];
    const list = [];
    this.rows.forEach((r, i) => {
      const point = r.points[value];
      if (!point) return;
      list.push({
        at: valueOf(this.columns[along], r.values[along]), name: [along, ...rest].map((k) => word(r, k)).join(' · '),
        series: series === '' ? '' : word(r, series), value: point[0], low: point[1], high: point[2],
        unsure: i >= this.unsure[0] && i < this.unsure[1],
      });
    });
    return list;
  }

  draw() {
    const width = Math.max(280, this.canvas.clientWidth || 600);
    let data = this.data();
    const names = [...new Set(data.map((d) => d.series))];
    const drawn = names.slice(0, colours.length);
    const notes = [];
    if (names.length > drawn.length) notes.push(`The first ${drawn.length} of ${names.length} are drawn.`);
    data = data.filter((d) => drawn.includes(d.series));
    const bars = this.kind.select.value === 'bars' || !this.continuous(this.along.select.value);
    const most = bars ? shownBars * Math.max(1, drawn.length) : shownPoints;
    if (data.length > most) notes.push(`${data.length - most} more are in the table.`);
    data = data.slice(0, most);
    if (bars && data.some((d) => d.unsure)) notes.push('Pale bars: the place is within the noise.');
    const several = drawn.length > 1;
    const colour = (d) => several ? colours[drawn.indexOf(d.series)] : 'var(--bar)';
    const svg = plot({...(bars ? this.bars(data, several, colour, width) : this.curve(data, drawn, colour, width)), width});
    for (const style of svg.querySelectorAll('style')) style.remove(); // the content policy has none inline
    for (const mark of svg.querySelectorAll('[aria-label]')) { // they are parts of one picture
      mark.dataset.mark = mark.getAttribute('aria-label');
      mark.removeAttribute('aria-label');
    }
    const value = this.columns[this.value.select.value].name;
    const by = this.columns[this.along.select.value].name;
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', `${value} by ${by}: ${data.length} values with their 95% intervals, as in the table`);
    const legend = several ? [element('ul', {className: 'legend'}, ...drawn.map((name, i) => {
      const mark = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      mark.setAttribute('viewBox', '0 0 10 10');
      mark.setAttribute('aria-hidden', 'true');
      const box = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      for (const [k, v] of [['width', 10], ['height', 10], ['fill', colours[i]]]) box.setAttribute(k, v);
      mark.append(box);
      return element('li', {}, mark, `${this.columns[this.series.select.value].name} ${name}`);
    }))] : [];
    this.canvas.replaceChildren(element('figcaption', {textContent: `${value} by ${by}, with 95 % intervals`}), ...legend,
      svg, ...notes.map((textContent) => element('p', {className: 'soft', textContent})));
  }

  bars(data, several, colour, width) {
    const label = (d) => several ? `${d.name} · ${d.series}` : d.name;
    const longest = Math.max(0, ...data.map((d) => short(label(d)).length));
    const y = {y: label};
    return {
      marginLeft: Math.min(width * .45, 16 + 6.6 * longest), marginRight: 24, marginTop: 24,
      height: 60 + 24 * data.length,
      x: {label: null, nice: true}, y: {label: null, domain: data.map(label), padding: .25},
      marks: [
        gridX({stroke: 'var(--rule)', strokeOpacity: 1, ticks: width / 110}), axisX({anchor: 'top', label: null, ticks: width / 110}),
        axisY({label: null, tickSize: 0, tickFormat: short}),
        barX(data, {x: 'value', ...y, fill: colour, fillOpacity: (d) => d.unsure ? .45 : 1, title: label}),
        ruleY(data, {x1: 'low', x2: 'high', ...y, stroke: 'var(--error)', strokeWidth: 1.5, marker: 'tick'}),
        ruleX([0], {stroke: 'var(--edge)'}),
      ],
    };
  }

  curve(data, drawn, colour, width) {
    const time = data[0]?.at instanceof Date;
    const line = this.kind.select.value === 'line';
    const sorted = [...data].sort((a, b) => a.at - b.at);
    const marks = [
      gridY({stroke: 'var(--rule)', strokeOpacity: 1}), axisY({label: null}), axisX({label: null, ticks: width / 90}),
      ruleX(sorted, {x: 'at', y1: 'low', y2: 'high', stroke: colour, strokeWidth: 1.5, marker: 'tick'}),
    ];
    if (line) {
      marks.push(lineY(sorted, {x: 'at', y: 'value', z: (d) => `${d.series} ${d.name.split(' · ').slice(1).join(' · ')}`,
        stroke: colour, strokeWidth: 2}));
    }
    marks.push(dot(sorted, {x: 'at', y: 'value', fill: colour, stroke: 'var(--card)', r: 3.5,
      symbol: drawn.length > 1 ? 'series' : undefined, title: (d) => `${d.name} ${d.series}`.trim()}));
    return {marginLeft: 64, marginRight: 20, height: 320, x: {type: time ? 'utc' : 'linear'},
      y: {zero: sorted.every((d) => d.low >= 0), nice: true}, symbol: {legend: false}, marks};
  }
}

// sortable shows rows in the server's table: those that hold a text, in an order, page by page.
const sortable = (answer, table) => {
  const state = {column: -1, down: false, page: 0};
  const head = [...table.tHead.rows[0].cells];
  const classes = [...(table.tBodies[0].rows[0]?.cells ?? [])].map((c) => c.className);
  const of = answer.columns.flatMap((c, i) => [i, ...Array(c.heads - 1).fill(-1)]); // which column a head is of
  const wanted = element('input', {type: 'search', autocomplete: 'off', spellcheck: false});
  const search = element('label', {}, 'Search the rows', wanted);
  const say = element('span', {className: 'soft', role: 'status'});
  const back = element('button', {type: 'button', textContent: 'Back'});
  const on = element('button', {type: 'button', textContent: 'On'});
  const order = (i) => {
    const {number} = answer.columns[i];
    return (a, b) => {
      const [x, y] = [a.values[i], b.values[i]];
      if (x === null || y === null) return (x === null) - (y === null); // NULL is last
      const by = number ? Number(x) - Number(y) : x < y ? -1 : x > y;
      return state.down ? -by : by;
    };
  };
  const show = () => {
    const text = wanted.value.trim().toLowerCase();
    let rows = answer.rows;
    if (text) rows = rows.filter((r) => r.shown.some((s) => s.toLowerCase().includes(text)));
    if (state.column >= 0) rows = [...rows].sort(order(state.column));
    const pages = Math.max(1, Math.ceil(rows.length / pageRows));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * pageRows;
    const seen = rows.slice(from, from + pageRows);
    table.tBodies[0].replaceChildren(...seen.map((r) => {
      const row = document.createElement('tr');
      row.append(...r.shown.map((textContent, i) => element('td', {textContent, className: classes[i] ?? ''})));
      return row;
    }));
    say.textContent = rows.length === 0 ? 'No rows.' : `Rows ${from + 1} to ${from + seen.length} of ${rows.length}`;
    back.disabled = state.page === 0;
    on.disabled = state.page === pages - 1;
    head.forEach((cell, i) => {
      if (of[i] === state.column && of[i] >= 0) cell.ariaSort = state.down ? 'descending' : 'ascending';
      else cell.removeAttribute('aria-sort');
    });
  };
  head.forEach((cell, i) => {
    if (of[i] < 0) return;
    const button = element('button', {type: 'button', textContent: cell.textContent});
    button.addEventListener('click', () => {
      state.down = state.column === of[i] && !state.down;
      state.column = of[i];
      state.page = 0;
      show();
    });
    cell.replaceChildren(button);
  });
  wanted.addEventListener('input', (e) => { e.stopPropagation(); state.page = 0; show(); });
  back.addEventListener('click', () => { state.page--; show(); });
  on.addEventListener('click', () => { state.page++; show(); });
  if (answer.rows.length > fewRows) table.closest('.scroll').before(element('div', {className: 'choices'}, search));
  if (answer.rows.length > pageRows) table.closest('.scroll').after(element('p', {className: 'actions'}, say, back, on));
  show();
};

// enhance takes an answer that the server has drawn over.
const enhance = async (charts) => {
  const {answer: id, unsure} = charts.dataset;
  let answer;
  try {
    const reply = await fetch(`/answer.json?id=${id}`, {redirect: 'error'});
    if (!reply.ok || !charts.isConnected) return;
    answer = await reply.json();
  } catch {
    return; // what the server has drawn stays
  }
  const table = charts.parentElement.querySelector('table.answer');
  if (answer.rows.length > 1) {
    charts.parentElement.querySelector('[data-more]')?.remove();
    sortable(answer, table);
  }
  const has = (of) => answer.columns.some(of);
  if (answer.rows.length < 2 || !has((c) => c.key) || !has((c) => c.drawn)) return;
  const picture = new Picture(answer, unsure.split(' ').map(Number));
  charts.replaceChildren(picture.element);
  picture.draw();
  let width = picture.canvas.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(picture.canvas.clientWidth - width) < 8) return;
    width = picture.canvas.clientWidth;
    picture.draw();
  }).observe(picture.canvas);
};

const look = () => {
  for (const charts of document.querySelectorAll('[data-answer]:not([data-taken])')) {
    charts.dataset.taken = '';
    enhance(charts);
  }
};
const outcome = document.getElementById('outcome');
if (outcome) new MutationObserver(look).observe(outcome, {childList: true});
look();

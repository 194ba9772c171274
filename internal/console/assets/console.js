// The pages work without this file. With it, Ask looks up the cost while one types, and an answer comes without a new page.
'use strict';

// copies shows the buttons that need a script.
const copies = (within) => {
  for (const button of within.querySelectorAll('[data-copy]')) button.hidden = false;
};
copies(document);

const form = document.getElementById('ask');
if (form) {
  const sql = document.getElementById('sql');
  const step = document.getElementById('step');
  const margin = document.getElementById('margin');
  const epsilon = document.getElementById('epsilon');
  const dryrun = document.getElementById('dryrun');
  const outcome = document.getElementById('outcome');
  const stop = document.getElementById('stop');
  const run = form.querySelector('button[value=run]');
  const prices = step.dataset.prices.split(' ');
  let timer = 0;
  let looking = null;
  let running = null;

  document.getElementById('price').hidden = true;

  const showPrice = () => {
    if (margin.value.trim() !== '') {
      epsilon.textContent = 'as little ε as the margin needs';
    } else if (step.value === step.dataset.own) {
      epsilon.textContent = `ε ${prices[step.value]}, the policy’s`;
    } else {
      epsilon.textContent = `ε ${prices[step.value]}`;
    }
    step.setAttribute('aria-valuetext', epsilon.textContent);
  };

  // part asks for a fragment of a page, which the server has escaped, and puts it into place.
  const part = async (address, into, signal) => {
    const answer = await fetch(address, {
      method: 'POST', body: new URLSearchParams(new FormData(form)), headers: {'Dpproxy-Part': '1'}, signal, redirect: 'error',
    });
    into.innerHTML = await answer.text();
    copies(into);
  };

  // write puts a text into the field, which the editor reads where there is one.
  const write = (text) => {
    sql.value = text;
    sql.dispatchEvent(new Event('change'));
  };

  // fields has one for each :name of the question; those that are there stay, with what one types.
  const fields = () => {
    const inputs = (of) => [...of.querySelectorAll('[name]')];
    const place = document.getElementById('parameters');
    const fresh = dryrun.querySelector('[data-parameters]');
    if (!fresh) return; // the session has ended, or there is no memory: the fragment says so
    const wanted = inputs(fresh.content);
    const there = inputs(place);
    const same = (a, b) => a.name === b.name && a.type === b.type;
    if (wanted.length === there.length && wanted.every((w, i) => same(w, there[i]))) return;
    place.replaceChildren(...wanted.map((w) => (there.find((t) => same(t, w)) || w).parentElement));
  };

  const look = async () => {
    if (looking) looking.abort();
    if (running || sql.value.trim() === '') return;
    const mine = looking = new AbortController();
    dryrun.setAttribute('aria-busy', 'true');
    try {
      await part('/dryrun', dryrun, mine.signal);
      fields();
    } catch (e) {
      if (e.name !== 'AbortError') dryrun.textContent = 'The proxy does not answer.';
    } finally {
      if (looking === mine) {
        looking = null;
        dryrun.removeAttribute('aria-busy');
      }
    }
  };

  const soon = () => {
    showPrice();
    clearTimeout(timer);
    timer = setTimeout(look, 400);
  };

  const ask = async () => {
    if (running) return;
    if (sql.value.trim() === '') {
      sql.focus();
      return;
    }
    clearTimeout(timer);
    if (looking) looking.abort();
    running = new AbortController();
    run.disabled = true;
    stop.hidden = false;
    outcome.setAttribute('aria-busy', 'true');
    try {
      await part('/ask', outcome, running.signal);
      outcome.focus({preventScroll: true});
      outcome.scrollIntoView({block: 'nearest'});
    } catch (e) {
      outcome.textContent = e.name === 'AbortError' ? 'Stopped. What was charged stays charged.' : 'The proxy does not answer.';
    } finally {
      running = null;
      run.disabled = false;
      stop.hidden = true;
      outcome.removeAttribute('aria-busy');
      look();
    }
  };

  form.addEventListener('submit', (e) => {
    if (e.submitter?.value === 'new') return; // a page of its own
    e.preventDefault();
    ask();
  });
  form.addEventListener('input', soon);
  form.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      ask();
    } else if (e.key === 'Enter' && e.target === margin) {
      e.preventDefault(); // a question is run on purpose
      look();
    }
  });
  stop.addEventListener('click', () => { if (running) running.abort(); });
  for (const chip of form.querySelectorAll('button[form=first]')) {
    chip.addEventListener('click', (e) => { e.preventDefault(); write(chip.value); sql.focus(); soon(); });
  }
  showPrice();
  look();
}

const schema = document.getElementById('schema');
if (schema) {
  const sql = document.getElementById('sql');
  const find = document.getElementById('find');
  const tables = [...schema.querySelectorAll('[data-table]')];
  if (matchMedia('(max-width: 56rem)').matches) schema.open = false;
  find.hidden = false;
  for (const name of schema.querySelectorAll('[data-insert]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name.textContent;
    button.title = `Insert ${name.dataset.insert}`;
    button.addEventListener('click', () => {
      if (!sql.hidden) sql.setRangeText(name.dataset.insert, sql.selectionStart, sql.selectionEnd, 'end');
      sql.dispatchEvent(new CustomEvent('insert', {detail: name.dataset.insert}));
      sql.focus();
    });
    name.replaceChildren(button);
  }
  find.addEventListener('input', (e) => {
    e.stopPropagation();
    const wanted = find.value.trim().toLowerCase();
    const has = (e) => e.textContent.toLowerCase().includes(wanted);
    for (const table of tables) {
      const named = has(table.querySelector('summary'));
      const rows = [...table.querySelectorAll('li')];
      for (const row of rows) row.hidden = wanted !== '' && !named && !has(row);
      table.hidden = rows.every((row) => row.hidden);
      table.open = wanted !== '' && !table.hidden;
    }
  });
}

document.addEventListener('click', async (e) => {
  const button = e.target.closest('[data-copy]');
  if (!button) return;
  const text = document.getElementById(button.dataset.copy);
  text.select();
  try {
    await navigator.clipboard.writeText(text.value);
    button.textContent = 'Copied';
  } catch {
    text.focus(); // it is selected: Ctrl+C copies it
  }
});

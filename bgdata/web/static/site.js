// The interactive parts of all pages: copying and completing names, suggestions of the search, keys of games, rollouts.
// Every page can be read, and every form works, without this script.
"use strict";

const PAUSE_MILLISECONDS = 150, MOST_PLACES = 10;  // time between a key and its suggestions, and their maximum number

// A click copies a notation or a command, and a message beside it says so.
function copyNames() {
  for (const code of document.querySelectorAll(".names code, .command")) {
    code.tabIndex = 0;
    code.title = "Click to copy";
    const said = document.createElement("span");
    said.className = "copied";
    said.setAttribute("role", "status");
    code.after(said);
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        said.textContent = " copied";
      } catch { said.textContent = " not copied: select it"; }  // the browser does not allow it
      setTimeout(() => { said.textContent = ""; }, 2500);
    };
    code.addEventListener("click", copy);
    code.addEventListener("keydown", (event) => { if (event.key === "Enter") copy(); });
  }
}

// Ctrl+Space completes the name before the cursor as far as the names of tables, views and columns agree; Ctrl+Enter runs
// the query. A click on a name writes it at the cursor.
function completeNames() {
  const box = document.querySelector("textarea[data-names]");
  if (!box) return;
  const names = [...new Set([...document.querySelectorAll(`#${box.dataset.names} code`)].map((code) => code.textContent))];
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.form.requestSubmit();
    if (event.key !== " " || !event.ctrlKey) return;
    event.preventDefault();
    const word = /\w+$/.exec(box.value.slice(0, box.selectionStart));
    const found = word ? names.filter((name) => name.startsWith(word[0])) : [];
    if (!found.length) return;
    let common = found[0];
    for (const name of found) while (!name.startsWith(common)) common = common.slice(0, -1);
    if (common.length === word[0].length) return;
    box.setRangeText(common.slice(word[0].length), box.selectionStart, box.selectionStart, "end");
  });
  document.getElementById(box.dataset.names).addEventListener("click", (event) => {
    if (!event.target.matches("p code")) return;
    box.setRangeText(event.target.textContent + " ", box.selectionStart, box.selectionEnd, "end");
    box.focus();
  });
}

// The pages that the text of the search box may mean, below it: arrows choose one, Enter opens it, Escape closes the list.
function suggestPlaces() {
  const box = document.querySelector("header input[name=q]"), list = document.createElement("ul");
  let waiting = 0, asking = null;
  Object.assign(list, { id: "places", role: "listbox", ariaLabel: "Pages", hidden: true });
  Object.assign(box, { role: "combobox", autocomplete: "off", ariaAutoComplete: "list", ariaExpanded: "false" });
  box.setAttribute("aria-controls", list.id);
  box.form.append(list);
  const chosen = () => list.querySelector("[aria-selected=true]");
  const choose = (option) => {
    if (chosen()) chosen().ariaSelected = "false";
    if (!option) return box.removeAttribute("aria-activedescendant");
    option.ariaSelected = "true";
    box.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    clearTimeout(waiting);
    asking?.abort();
    choose(null);
    list.hidden = true;
    box.ariaExpanded = "false";
  };
  const show = (places) => {
    close();
    list.replaceChildren(...places.slice(0, MOST_PLACES).map(({ kind, name, address }, number) => {
      const option = document.createElement("li"), word = document.createElement("span");
      Object.assign(option, { id: `place-${number}`, role: "option", ariaSelected: "false", textContent: name });
      option.dataset.address = address;
      word.textContent = kind;
      option.prepend(word);
      return option;
    }));
    list.hidden = !places.length;
    box.ariaExpanded = String(!list.hidden);
  };
  const look = async () => {
    const text = box.value.trim();
    if (text.length < 2) return close();
    asking?.abort();
    const { signal } = asking = new AbortController();
    try {
      const answer = await fetch(`/search.json?q=${encodeURIComponent(text)}`, { signal });
      const places = answer.ok ? await answer.json() : [];
      if (!signal.aborted) show(places);
    } catch { /* without suggestions, Enter searches for the text */ }
  };
  box.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, PAUSE_MILLISECONDS); });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    const options = [...list.children], at = options.indexOf(chosen()), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && list.hidden) look();
    else if (step) choose(options[at < 0 && step < 0 ? options.length - 1 : at + step]);
    else if (event.key === "Enter" && chosen()) location.assign(chosen().dataset.address);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault());  // the box keeps the focus
  list.addEventListener("click", (event) => {
    const option = event.target.closest("li");
    if (option) location.assign(option.dataset.address);
  });
}

function replayByKey() {
  document.addEventListener("keydown", (event) => {
    const name = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = name && !event.target.closest("input, textarea, select") && document.querySelector(`a[rel=${name}]`);
    if (link) link.click();
  });
}

// Returns why a stream was not begun. An EventSource cannot read this answer.
async function whyRefused(address) {
  const leaving = new AbortController();
  try {
    const answer = await fetch(address, { headers: { accept: "application/json" }, signal: leaving.signal });
    if (!answer.ok) return { error: (await answer.json()).error, is_busy: [429, 503].includes(answer.status) };
    leaving.abort();
  } catch { /* the server does not answer */ }
  return { error: "the connection was lost; reload this page to go on", is_busy: true };
}

const AGAIN_SECONDS = 3, ATTEMPTS = 20;  // retries while the server is busy or unreachable

// The estimates of a rollout, until its last game, a refusal or `close`. A busy server is asked again, because after a
// reload the last round of games may still be running.
class RolloutStream {
  constructor(address, { show, say, end }) {
    Object.assign(this, { address, show, say, end, attempts: 0, isClosed: false });
    this.begin();
  }
  begin() {
    this.source = new EventSource(this.address);
    this.source.addEventListener("message", (event) => { this.attempts = 0; this.show(JSON.parse(event.data)); });
    this.source.addEventListener("done", () => { this.close(); this.end(); });
    this.source.addEventListener("refused", (event) => this.refuse(JSON.parse(event.data)));
    this.source.addEventListener("error", () => {  // also when the page is being left
      this.source.close();
      whyRefused(this.address).then((why) => this.refuse(why));
    });
  }
  refuse({ error, is_busy }) {
    this.source.close();
    if (this.isClosed) return;
    this.say(error);
    if (is_busy && this.attempts++ < ATTEMPTS) setTimeout(() => this.isClosed || this.begin(), 1000 * AGAIN_SECONDS);
    else this.end();
  }
  close() {
    this.isClosed = true;
    this.source.close();
  }
}

// A rollout that continues while its page is open.
function watchRollout() {
  const place = document.querySelector("[data-stream]");
  if (!place) return;
  const forms = {
    signed: (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4),
    error: (value) => value.toFixed(4),
    percent: (value) => (100 * value).toFixed(2) + " %",
    count: (value) => value.toLocaleString("en"),
  };
  const said = place.querySelector("[data-refused]");
  const show = (row) => {
    said.hidden = true;
    for (const [form, text] of Object.entries(forms))
      for (const field of place.querySelectorAll(`[data-${form}]`)) field.textContent = text(row[field.dataset[form]]);
  };
  const say = (text) => { said.textContent = text; said.hidden = false; };
  const stream = new RolloutStream(place.dataset.stream, { show, say, end: () => {} });
  addEventListener("pagehide", () => stream.close());
}

// Files that are dropped on the form are sent as if they were chosen; the page updates the progress of an import by itself.
function watchImport() {
  const form = document.querySelector("form.drop");
  if (!form) return;
  form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.querySelector("input[type=file]").files = event.dataTransfer.files;
    form.requestSubmit();
  });
  const place = document.querySelector("[data-import]");
  if (!place) return;
  const bar = place.querySelector("progress");
  const look = async () => {
    let row;
    try { row = await (await fetch(place.dataset.import)).json(); } catch { return; }  // the server has stopped
    if (row.state !== "working") { location.reload(); return; }
    place.querySelector("[data-step]").textContent =
      row.step + (row.total ? `: ${row.done.toLocaleString("en")} of ${row.total.toLocaleString("en")} ${row.unit}` : "");
    if (row.total) { bar.max = row.total; bar.value = row.done; } else bar.removeAttribute("value");
    setTimeout(look, 500);
  };
  look();
}

for (const start of [suggestPlaces, watchImport, watchRollout, copyNames, completeNames, replayByKey]) start();

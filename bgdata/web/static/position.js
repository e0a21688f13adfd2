// The interactive parts of the page of a position: changes that are shown without leaving the page, arrows of plays,
// rollouts, and the editor of board_editor.js. The page can be read, and its form works, without this script.
"use strict";

const DIGIT_SECONDS = 2;  // time between the two digits of a roll

// Addresses that are shown without leaving the page. The browser's history has one entry for each.
const pages = {
  loading: null,  // aborts the request in progress
  shown: location.pathname + location.search,

  // Shows an address as a new entry of the history, scrolled to the top unless it `stays`; or an old entry, scrolled to
  // where it was left (`left`).
  async show(address, { isNew = true, stays = false, left = null } = {}) {
    this.loading?.abort();
    const loading = this.loading = new AbortController();
    let answer, text;
    try {
      answer = await fetch(address, { headers: { accept: "text/html" }, signal: loading.signal });
      text = await answer.text();
    } catch {
      if (!loading.signal.aborted) location.assign(address);  // the browser then shows the error
      return;
    }
    if (loading.signal.aborted) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    if (!page.querySelector("#board")) return location.assign(address);
    const focused = this.focused();
    if (isNew) history.replaceState({ ...history.state, scroll: scrollY, row: document.activeElement.closest("[data-choice]")?.dataset.choice }, "");
    document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
    document.title = page.title;
    const isPage = !answer.url.includes("/position?");  // otherwise the answer is a form whose fields were refused
    if (isNew && isPage && new URL(answer.url).pathname + new URL(answer.url).search !== this.shown)
      history.pushState({ step: (history.state?.step ?? 0) + 1 }, "", answer.url);
    if (isPage) this.shown = location.pathname + location.search;
    begin();
    copyNames();
    if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
    if (left?.row) document.querySelector(`[data-choice="${left.row}"] a`)?.focus({ preventScroll: true });
    if (!stays) scrollTo(0, left?.scroll ?? 0);
    if (!answer.ok) document.querySelector("main .message")?.scrollIntoView({ block: "nearest" });
    this.say(document.querySelector("h1").textContent);
  },

  // Returns a selector of the element that has the focus. The element that replaces it gets the focus.
  focused() {
    const has = document.activeElement;
    if (!has || !has.closest("main")) return "";
    if (has.id) return `#${has.id}`;
    if (has.name) return `main [name="${has.name}"]` + (has.type === "submit" ? `[value="${has.value}"]` : "");
    return has.matches("summary") ? "#editor summary" : has.matches("[data-stays]") ? "[data-stays][aria-current]" : "";
  },

  say(text) {
    let place = document.getElementById("said");
    if (!place) {
      place = document.createElement("p");
      place.id = "said";
      place.className = "unseen";
      place.setAttribute("role", "status");
      document.body.append(place);
    }
    place.textContent = text;
  },
};

// Returns a picture without its own colors for dark mode, which the page defines.
function withoutStyle(picture) { return picture.replace(/<style>.*?<\/style>/s, ""); }

// Draws arrows on the board for the play under the pointer or with the focus, else for the play that was tapped.
class Plays {
  constructor(table, board) {
    this.board = board;
    this.kept = board.innerHTML;
    this.pictures = new Map();  // by address
    this.chosen = this.wanted = null;  // rows
    for (const row of table.querySelectorAll("tr[data-board]")) {
      const leave = () => { if (this.wanted === row) this.show(this.chosen); };
      row.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") this.show(row); });
      row.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
      row.addEventListener("focusin", () => this.show(row));
      row.addEventListener("focusout", leave);
      row.addEventListener("click", (event) => { if (!event.target.closest("a")) this.choose(row); });
      row.addEventListener("keydown", (event) => {
        const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        next?.querySelector("a").focus({ preventScroll: false });
      });
    }
  }
  choose(row) {
    this.chosen?.classList.remove("chosen");
    this.chosen = this.chosen === row ? null : row;
    this.chosen?.classList.add("chosen");
    this.show(this.chosen);
  }
  async show(row) {
    this.wanted = row;
    if (!row) return this.draw(this.kept);
    const address = row.dataset.board;
    if (!this.pictures.has(address)) this.pictures.set(address, fetch(address).then((answer) => answer.ok ? answer.text() : this.kept).then(withoutStyle));
    const picture = await this.pictures.get(address);
    if (this.wanted === row) this.draw(picture);
  }
  draw(picture) {
    this.board.innerHTML = picture;
    this.board.dispatchEvent(new Event("redrawn"));
  }
}

// A rollout of the plays or cube actions of the page. It continues until it is stopped or the page is left. The server
// keeps it, and a reloaded page continues it.
class Rollout {
  constructor(bar) {
    this.bar = bar;
    this.button = bar.querySelector("button");
    this.said = bar.querySelector("[role=status]");
    this.stream = null;
    bar.querySelector("a").hidden = true;
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.stream ? this.stop() : this.run());
    if (sessionStorage.getItem("rollout") === bar.dataset.rollout) this.run();
  }
  run() {
    sessionStorage.setItem("rollout", this.bar.dataset.rollout);
    this.button.textContent = "Stop";
    const say = (text) => { this.said.textContent = text; };
    say("rolling out…");
    const end = () => this.rest();
    this.stream = new RolloutStream(this.bar.dataset.rollout, { show: ({ rows }) => this.show(rows), say, end });
  }
  // If it stops without a click, because the page is left, it continues when the page is back.
  close() {
    this.stream?.close();
    this.stream = null;
  }
  // A page may have been rendered before the last round of games, so it asks again after a reload.
  rest() {
    this.close();
    this.button.textContent = "Go on rolling out";
  }
  stop() {
    this.rest();
    sessionStorage.removeItem("rollout");
  }
  show(rows) {
    for (const cell of document.querySelectorAll(".rolled")) cell.hidden = false;
    const isMatch = rows[0].unit === "mwc";
    const number = (value) => isMatch ? `${(100 * value).toFixed(2)} %` : value.toFixed(4);
    const signed = (value) => isMatch ? number(value) : (value < 0 ? "−" : "+") + number(Math.abs(value));
    const within = (row, error) => error === null || row.trials < 144 ? "" : `\n± ${number(error)}`;  // as in parts.html
    for (const row of rows) {
      const line = document.querySelector(`tr[data-choice="${row.choice}"]`);
      if (!line) continue;
      const put = (name, text) => { const cell = line.querySelector(`[data-${name}]`); if (cell) cell.textContent = text; };
      put("value", signed(row.value) + within(row, row.standard_error));
      put("lost", row.loss ? number(row.loss) + within(row, row.loss_standard_error) : "");
      put("trials", row.trials.toLocaleString("en"));
    }
    this.said.textContent = `${Math.min(...rows.map((row) => row.trials)).toLocaleString("en")} games each`;
  }
}

let editor = null, rollout = null, digit = { first: "", time: 0 };

function begin() {
  const board = document.getElementById("board"), plays = document.querySelector(".plays");
  editor = board?.dataset.editor ? new Editor(board) : null;
  if (board && plays) new Plays(plays, board);
  rollout?.close();
  const bar = document.querySelector("[data-rollout]");
  rollout = bar ? new Rollout(bar) : null;
}

// Two digits choose a roll; 0 removes it.
function typeDigit(key) {
  if (key === "0") return editor.chooseRoll("");
  if (!/^[1-6]$/.test(key)) return;
  const now = performance.now() / 1000;
  if (digit.first && now - digit.time < DIGIT_SECONDS) {
    editor.chooseRoll([digit.first, key].sort().reverse().join(""));
    digit.first = "";
  } else {
    digit = { first: key, time: now };
    pages.say(`${key}, and the other die?`);
  }
}

document.addEventListener("keydown", (event) => {
  if (!editor || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  if (/^\d$/.test(event.key)) return typeDigit(event.key);
  if (event.target === editor.board && editor.isOpen && editor.key(event.key)) event.preventDefault();
  else if (event.key === "Escape") editor.hold(null);
});
document.addEventListener("pointermove", (event) => editor?.drag(event));
document.addEventListener("pointerup", (event) => editor?.drop(event));
document.addEventListener("pointercancel", () => editor?.cancel());
document.addEventListener("click", (event) => {
  const link = event.target.closest("main a[href^='/position/']");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  pages.show(link.href, { stays: "stays" in link.dataset });
});
addEventListener("pagehide", () => rollout?.close());
addEventListener("popstate", (event) => {
  if (location.pathname + location.search !== pages.shown) pages.show(location.href, { isNew: false, left: event.state });
});
begin();

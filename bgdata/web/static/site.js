// What pages do beyond being read: arrows on hover, boards that are set up by pointer, names that copy and complete.
// Nothing here is needed: every page reads, and every form works, without it.
"use strict";

const WIDTH = 660, HEIGHT = 548, CAPTION = 30, POINT = 40, LEFT = 68, RIGHT = 356;  // of the picture, as in board_svg.py
const MIDDLE = 274, BAR = 332, DICE = RIGHT + 120;

function showArrows() {
  const board = document.getElementById("board");
  const kept = board && board.innerHTML;
  for (const row of document.querySelectorAll("tr[data-board]")) {
    let wanted = false;
    const show = async () => {
      wanted = true;
      const answer = await fetch(row.dataset.board);
      if (answer.ok && wanted) board.innerHTML = await answer.text();
    };
    const hide = () => { wanted = false; board.innerHTML = kept; board.dispatchEvent(new Event("redrawn")); };
    row.addEventListener("pointerenter", show);
    row.addEventListener("pointerleave", hide);
    row.addEventListener("focusin", show);
    row.addEventListener("focusout", hide);
  }
}

// The place of a board under a pointer: a point from 1 to 24, 25 for the own bar, 0 for the opponent's, a tray, a place
// of the cube by its owner, a die, a score; null for what is none.
function placeAt(svg, event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const upper = at.y < MIDDLE;
  if (at.x < 0 || at.x > WIDTH || at.y < 0 || at.y > HEIGHT) return null;
  if (at.y < CAPTION || at.y > HEIGHT - CAPTION) return upper ? "theirs" : "own";
  if (at.x < LEFT) return at.y < 200 ? "cube opponent" : at.y > HEIGHT - 200 ? "cube on_roll" : "cube centered";
  if (at.x > RIGHT + 6 * POINT) return upper ? "opponent off" : "own off";
  if (Math.abs(at.x - BAR) < 24) return upper ? 25 : 0;
  if (Math.abs(at.y - MIDDLE) < 24 && Math.abs(at.x - DICE) < 56) return at.x < DICE ? "die 0" : "die 1";
  for (const [left, first] of [[LEFT, 0], [RIGHT, 6]]) {
    const column = Math.floor((at.x - left) / POINT);
    if (column >= 0 && column < 6) return upper ? 13 + first + column : 12 - first - column;
  }
  return null;
}

// What encloses a place: x, y, width, height of the picture.
function boxOf(place) {
  const rows = (upper, x, width) => [x, upper ? 54 : 284, width, 210];
  if (place === 25 || place === 0) return rows(place === 25, BAR - 24, 48);
  if (typeof place === "string") return rows(place === "opponent off", 604, 48);
  const column = place > 12 ? place - 13 : 12 - place;
  return rows(place > 12, (column < 6 ? LEFT : RIGHT - 6 * POINT) + column * POINT, POINT);
}

// A checker is picked up by a tap and put down by another, or dragged; cube, dice and score are tapped. Every change is
// one of the form's fields, and the form is sent.
function editByPointer() {
  const board = document.querySelector("[data-editor]");
  if (!board) return;
  const editor = document.getElementById(board.dataset.editor);
  const form = editor.querySelector("form");
  const fields = form.elements;
  const note = editor.querySelector(".by-pointer");
  const field = (place) => fields["p" + place];
  // Positive for own checkers; the field of the opponent's bar has a number without a sign.
  const count = (place) => Number(field(place).value) * (place === 0 ? -1 : 1);
  const add = (place, number) => { field(place).value = (count(place) + number) * (place === 0 ? -1 : 1); };
  let from = null, hand = null;  // where a pointer went down, and where a checker was picked up

  const say = (text) => { note.textContent = text; };
  const send = () => form.requestSubmit();

  function mark(kind, [x, y, width, height]) {
    const found = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ class: kind, x, y, width, height, rx: 6 })) found.setAttribute(name, value);
    board.querySelector("svg").append(found);
  }
  // Outlines of what is held, and of dice and cube that are not there.
  function draw() {
    for (const each of board.querySelectorAll(".held, .ghost")) each.remove();
    if (!editor.open) return;
    if (hand !== null) mark("held", boxOf(hand));
    if (!fields.roll.value) for (const x of [DICE - 48, DICE + 8]) mark("ghost", [x, MIDDLE - 20, 40, 40]);
    if (!fields.owner.value && !fields.cube.value && !fields.own.value) mark("ghost", [12, MIDDLE - 22, 44, 44]);
  }
  const hold = (place) => { hand = place; draw(); };

  // 1 for an own checker that a place gives, -1 for one of the opponent's, 0 for none.
  function sideAt(place) {
    if (typeof place === "number") return Math.sign(count(place));
    const side = place === "own off" ? 1 : -1;
    const present = Array.from({ length: 26 }, (_, each) => Math.max(0, side * count(each)));
    return present.reduce((sum, each) => sum + each, 0) < 15 ? side : 0;
  }
  function pick(place) {
    if (sideAt(place)) return hold(place);
    say(typeof place === "number" ? "No checker is there. Trays beside the points give back what is borne off." : "All 15 checkers are on the board.");
  }
  // One checker from a place to another. A single one of the other side is hit; off and bar are those of its side.
  function move(start, end) {
    const side = sideAt(start);
    const to = typeof end === "string" ? "off" : end === 25 || end === 0 ? (side > 0 ? 25 : 0) : end;
    if (!side || to === start || (to === "off" && typeof start === "string")) return;
    if (to !== "off" && side * count(to) < -1) return say(`The other side holds ${to}.`);
    if (to !== "off" && side * count(to) < 0) { add(to, side); add(side > 0 ? 0 : 25, -side); }
    if (to !== "off") add(to, side);
    if (start !== "own off" && start !== "opponent off") add(start, -side);
    fields.edit.checked = true;
    send();
  }
  // To its owner's edge or the middle; where it is already, it is turned.
  function moveCube(owner) {
    if (fields.crawford.checked && owner !== "centered") return say("Nobody doubles in the Crawford game.");
    const value = Number(fields.cube.value) || 1;
    const turned = owner !== fields.owner.value ? Math.max(2, value) : value < 64 ? 2 * value : 2;
    fields.cube.value = owner === "centered" ? 1 : turned;
    fields.owner.value = owner;
    send();
  }
  function turnDie(which) {
    const dice = [...(fields.roll.value || "66")].map(Number);
    if (fields.roll.value) dice[which] = dice[which] % 6 + 1; else dice.fill(1);
    fields.roll.value = dice.sort().reverse().join("");
    send();
  }
  function chooseScore(name) {
    fields[name].focus();
    fields[name].addEventListener("change", send, { once: true });
    try { fields[name].showPicker(); } catch { /* its focus is enough */ }
  }
  const isChecker = (place) => typeof place === "number" || /off$/.test(place);
  function tap(start, end) {
    const [kind, which] = String(end).split(" ");
    if (kind === "cube" && String(start).startsWith("cube")) return moveCube(which);
    if (start === end && kind === "die") return turnDie(Number(which));
    if (start === end && (kind === "own" || kind === "theirs") && !which) return chooseScore(kind);
    if (!isChecker(start) || !isChecker(end)) return hold(null);
    if (start !== end) return move(start, end);
    if (hand === null) return pick(end);
    const held = hand;
    hold(null);
    move(held, end);
  }

  const turn = () => { board.classList.toggle("edited", editor.open); note.hidden = !editor.open; hand = null; draw(); };
  editor.addEventListener("toggle", turn);
  board.addEventListener("redrawn", draw);
  turn();
  board.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest("svg");
    if (!svg || !editor.open) return;
    from = placeAt(svg, event);
    if (event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
    event.preventDefault();
  });
  // Anywhere: a checker that is let go beside the board stays where it was.
  document.addEventListener("pointerup", (event) => {
    if (!editor.open || (from === null && hand === null) || editor.contains(event.target)) return;
    const to = placeAt(board.querySelector("svg"), event);
    const start = from;
    from = null;
    if (to === null || start === null) hold(null);
    else tap(start, to);
  });
  document.addEventListener("pointercancel", () => { from = null; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && hand !== null) hold(null); });
}

// A click copies a notation or a command, and says so beside it.
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
      } catch { said.textContent = " not copied: select it"; }  // the browser does not let us
      setTimeout(() => { said.textContent = ""; }, 2500);
    };
    code.addEventListener("click", copy);
    code.addEventListener("keydown", (event) => { if (event.key === "Enter") copy(); });
  }
}

// Tab completes the name before the cursor, where exactly one name of a table, view or column begins with it.
function completeNames() {
  const box = document.querySelector("textarea[data-names]");
  if (!box) return;
  const names = [...new Set([...document.querySelectorAll(`#${box.dataset.names} code`)].map((code) => code.textContent))];
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.form.requestSubmit();
    if (event.key !== "Tab" || event.shiftKey) return;
    const word = /\w+$/.exec(box.value.slice(0, box.selectionStart));
    const found = word ? names.filter((name) => name.startsWith(word[0])) : [];
    if (!found.length) return;
    let common = found[0];
    for (const name of found) while (!name.startsWith(common)) common = common.slice(0, -1);
    if (common.length === word[0].length) return;
    event.preventDefault();
    box.setRangeText(common.slice(word[0].length), box.selectionStart, box.selectionStart, "end");
  });
}

function replayByKey() {
  document.addEventListener("keydown", (event) => {
    const name = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = name && !event.target.closest("input, textarea, select") && document.querySelector(`a[rel=${name}]`);
    if (link) link.click();
  });
}

// Why a stream was not begun: an EventSource cannot read the answer that says so.
async function whyRefused(address) {
  const leaving = new AbortController();
  try {
    const answer = await fetch(address, { headers: { accept: "application/json" }, signal: leaving.signal });
    if (!answer.ok) return (await answer.json()).error;
    leaving.abort();
  } catch { /* nobody answers */ }
  return "the connection was lost; reload this page to go on";
}

// A rollout that goes on for as long as its page is open.
function watchRollout() {
  const place = document.querySelector("[data-stream]");
  if (!place) return;
  const source = new EventSource(place.dataset.stream);
  const forms = {
    signed: (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4),
    error: (value) => value.toFixed(4),
    percent: (value) => (100 * value).toFixed(2) + " %",
    count: (value) => value.toLocaleString("en"),
  };
  source.addEventListener("message", (event) => {
    const row = JSON.parse(event.data);
    for (const [form, text] of Object.entries(forms))
      for (const field of place.querySelectorAll(`[data-${form}]`)) field.textContent = text(row[field.dataset[form]]);
  });
  const said = place.querySelector("[data-refused]");
  const say = (text) => { said.textContent = text; said.hidden = false; };
  source.addEventListener("done", () => source.close());
  source.addEventListener("refused", (event) => { source.close(); say(JSON.parse(event.data).error); });
  source.addEventListener("error", () => { source.close(); whyRefused(place.dataset.stream).then(say); });
  addEventListener("pagehide", () => source.close());
}

for (const start of [watchRollout, showArrows, editByPointer, copyNames, completeNames, replayByKey]) start();

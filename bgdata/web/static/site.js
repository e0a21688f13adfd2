// What pages do beyond being read: arrows on hover, boards that are set up by pointer, names that copy and complete.
// Nothing here is needed: every page reads, and every form works, without it.
"use strict";

const POINT = 40, LEFT = 68, RIGHT = 356, MIDDLE = 274, BAR = 332;  // of the picture, as in board_svg.py

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
    const hide = () => { wanted = false; board.innerHTML = kept; };
    row.addEventListener("pointerenter", show);
    row.addEventListener("pointerleave", hide);
    row.addEventListener("focusin", show);
    row.addEventListener("focusout", hide);
  }
}

// The place of a board under a pointer: a point from 1 to 24, 25 for the own bar, 0 for the opponent's, "off" beside it.
function placeAt(svg, event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const upper = at.y < MIDDLE;
  if (Math.abs(at.x - BAR) < 24) return upper ? 25 : 0;
  for (const [left, first] of [[LEFT, 0], [RIGHT, 6]]) {
    const column = Math.floor((at.x - left) / POINT);
    if (column >= 0 && column < 6) return upper ? 13 + first + column : 12 - first - column;
  }
  return "off";
}

function editByPointer() {
  const board = document.querySelector("[data-editor]");
  if (!board) return;
  const editor = document.getElementById(board.dataset.editor);
  const form = editor.querySelector("form");
  const field = (place) => form.elements["p" + place];
  let from = null;
  const turn = () => board.classList.toggle("edited", editor.open);
  editor.addEventListener("toggle", turn);
  turn();
  board.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest("svg");
    if (!svg || !editor.open) return;
    from = placeAt(svg, event);
    event.preventDefault();
  });
  board.addEventListener("pointerup", (event) => {
    const svg = event.target.closest("svg");
    if (!svg || from === null) return;
    const to = placeAt(svg, event);
    if (move(from, to)) {
      form.elements.edit.checked = true;
      form.requestSubmit();
    }
    from = null;
  });
  // One checker from a place to another. A tap on a point turns it: one checker more of whoever is there, own ones first.
  function move(start, end) {
    if (start === "off" && end === "off") return false;
    if (start === end) {
      const count = Number(field(start).value);
      field(start).value = start === 0 ? count - 1 : count + (count < 0 ? -1 : 1);
      return true;
    }
    const side = start === "off" ? Math.sign(Number(field(end).value)) || 1 : Math.sign(Number(field(start).value));
    if (!side || (end === 25 && side < 0) || (end === 0 && side > 0)) return false;
    if (start !== "off") field(start).value = Number(field(start).value) - side;
    if (end !== "off") field(end).value = Number(field(end).value) + side;
    return true;
  }
}

function copyNames() {
  for (const code of document.querySelectorAll(".names code, .command")) {
    code.tabIndex = 0;
    code.title = "Click to copy";
    const copy = () => navigator.clipboard && navigator.clipboard.writeText(code.textContent).then(() => { code.title = "Copied"; });
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
  for (const name of ["done", "error"]) source.addEventListener(name, () => source.close());
  addEventListener("pagehide", () => source.close());
}

for (const start of [watchRollout, showArrows, editByPointer, copyNames, completeNames, replayByKey]) start();

// The editor of a position: a board that is set up by pointer and by key. Every change is shown by `pages` of
// position.js, which loads after this.
"use strict";

const WIDTH = 660, HEIGHT = 548, CAPTION = 30, POINT = 40, LEFT = 68, RIGHT = 356;  // sizes of the picture, as in board_svg.py
const MIDDLE = 274, BAR = 332, DICE = RIGHT + 120;
const SVG = "http://www.w3.org/2000/svg";
const UPPER = [13, 14, 15, 16, 17, 18, 25, 19, 20, 21, 22, 23, 24, "opponent off"];  // points of the upper half, from left to right
const LOWER = [12, 11, 10, 9, 8, 7, 0, 6, 5, 4, 3, 2, 1, "own off"];

// Returns the place of the board under a pointer: a point from 1 to 24, 25 for the own bar, 0 for the opponent's bar, a
// tray, a place of the cube by its owner, a die or a score; null outside.
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

// Returns the box around a place: its x, y, width and height in the picture.
function boxOf(place) {
  const rows = (upper, x, width) => [x, upper ? 54 : 284, width, 210];
  if (place === 25 || place === 0) return rows(place === 25, BAR - 24, 48);
  if (typeof place === "string") return rows(place === "opponent off", 604, 48);
  const column = place > 12 ? place - 13 : 12 - place;
  return rows(place > 12, (column < 6 ? LEFT : RIGHT - 6 * POINT) + column * POINT, POINT);
}

// Returns the name of a place for screen readers.
function nameOf(place) {
  return { 25: "own bar", 0: "opponent's bar" }[place] ?? (typeof place === "string" ? place : `point ${place}`);
}

// The board of the page with its form. A change sets one of the form's fields, and sends the form.
class Editor {
  constructor(board) {
    this.board = board;
    this.form = document.getElementById(board.dataset.editor);
    this.fields = this.form.elements;
    this.details = this.form.querySelector("details");
    this.note = this.form.querySelector(".by-pointer");
    this.from = this.hand = this.dragged = null;  // where a pointer went down, where a checker was picked up, its picture
    this.cursor = Editor.cursor;
    const back = this.form.querySelector(".take-back");
    back.hidden = !(history.state?.step > 0);
    back.addEventListener("click", () => history.back());
    this.note.hidden = this.form.querySelector(".by-key").hidden = false;
    board.tabIndex = 0;
    board.setAttribute("role", "group");
    board.setAttribute("aria-label", "Board: arrows choose a place while it is set up");
    board.addEventListener("focus", () => this.draw());
    board.addEventListener("blur", () => this.draw());
    board.addEventListener("redrawn", () => this.draw());
    board.addEventListener("pointerdown", (event) => this.pointerDown(event));
    this.details.addEventListener("toggle", () => this.turn());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(event.submitter);
    });
    for (const part of this.form.querySelectorAll(".at-once"))
      part.addEventListener("change", (event) => this.choose(event.target));
    this.turn();
  }

  get isOpen() { return this.details.open; }
  get svg() { return this.board.querySelector("svg"); }

  turn() {
    this.board.classList.toggle("edited", this.isOpen);
    this.hand = null;
    this.draw();
  }

  send(submitter = null) {
    const given = new URLSearchParams(new FormData(this.form));
    if (!this.isOpen) given.delete("setup");
    if (submitter?.name) given.set(submitter.name, submitter.value);
    return pages.show(`${this.form.getAttribute("action")}?${given}`, { stays: true });
  }

  say(text) { this.note.textContent = text; }

  field(place) { return this.fields["p" + place]; }
  // Positive for own checkers; the field of the opponent's bar has a number without a sign.
  count(place) { return Number(this.field(place).value) * (place === 0 ? -1 : 1); }
  add(place, number) { this.field(place).value = (this.count(place) + number) * (place === 0 ? -1 : 1); }
  numberOf(side) {
    return Array.from({ length: 26 }, (_, each) => Math.max(0, side * this.count(each))).reduce((sum, each) => sum + each, 0);
  }

  mark(kind, [x, y, width, height]) {
    const found = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ class: kind, x, y, width, height, rx: 6 })) found.setAttribute(name, value);
    this.svg.append(found);
  }
  // Draws outlines of the checker that is held, of the keyboard cursor, and of missing dice and a missing cube.
  draw() {
    for (const each of this.board.querySelectorAll(".held, .ghost, .cursor")) each.remove();
    if (!this.isOpen) return;
    if (this.hand !== null) this.mark("held", boxOf(this.hand));
    if (document.activeElement === this.board) this.mark("cursor", boxOf(this.cursor));
    if (!this.fields.roll.value) for (const x of [DICE - 48, DICE + 8]) this.mark("ghost", [x, MIDDLE - 20, 40, 40]);
    if (!this.fields.owner.value && !this.fields.cube.value && !this.fields.own.value) this.mark("ghost", [12, MIDDLE - 22, 44, 44]);
  }
  hold(place) { this.hand = place; this.draw(); }

  // Returns which checker can be taken from a place: 1 for an own one, -1 for one of the opponent's, 0 for none.
  sideAt(place) {
    if (typeof place === "number") return Math.sign(this.count(place));
    const side = place === "own off" ? 1 : -1;
    return this.numberOf(side) < 15 ? side : 0;
  }
  pick(place) {
    if (this.sideAt(place)) return this.hold(place);
    this.say(typeof place === "number" ? "No checker is there. Trays beside the points give back what is borne off." : "All 15 checkers are on the board.");
  }
  // Moves a checker from a place to another. It hits a single checker of the other side; off and bar are those of its
  // own side. Returns whether it moved.
  move(start, end) {
    const side = this.sideAt(start);
    const to = typeof end === "string" ? "off" : end === 25 || end === 0 ? (side > 0 ? 25 : 0) : end;
    if (!side || to === start || (to === "off" && typeof start === "string")) return false;
    if (to !== "off" && side * this.count(to) < -1) {
      this.say(`The other side holds ${to}.`);
      return false;
    }
    if (to !== "off" && side * this.count(to) < 0) { this.add(to, side); this.add(side > 0 ? 0 : 25, -side); }
    if (to !== "off") this.add(to, side);
    if (typeof start === "number") this.add(start, -side);
    this.change();
    return true;
  }
  // Adds an own checker, or one of the opponent's, at a place. If the other side has checkers there, it removes one.
  put(place, side) {
    if (typeof place === "string") return this.say("Arrows choose a point or a bar first.");
    if ((place === 25 && side < 0 && !this.count(25)) || (place === 0 && side > 0 && !this.count(0))) return this.say("That bar is the other side's.");
    if (side * this.count(place) >= 0 && this.numberOf(side) >= 15) return this.say("All 15 checkers are on the board.");
    this.add(place, side);
    this.change();
  }
  change() {
    this.fields.edit.checked = true;
    this.send();
  }
  // Moves the cube to its owner's edge or the middle. If it is there already, it is turned.
  moveCube(owner) {
    if (this.fields.crawford.checked && owner !== "centered") return this.say("Nobody doubles in the Crawford game.");
    const value = Number(this.fields.cube.value) || 1;
    const turned = owner !== this.fields.owner.value ? Math.max(2, value) : value < 64 ? 2 * value : 2;
    this.fields.cube.value = owner === "centered" ? 1 : turned;
    this.fields.owner.value = owner;
    this.send();
  }
  chooseRoll(roll) {
    this.fields.roll.value = roll;
    this.send();
  }
  turnDie(which) {
    const dice = [...(this.fields.roll.value || "66")].map(Number);
    if (this.fields.roll.value) dice[which] = dice[which] % 6 + 1; else dice.fill(1);
    this.chooseRoll(dice.sort().reverse().join(""));
  }
  // Updates the form after a field of score, cube or ply was chosen. Money is for both sides, and a turned cube has an
  // owner.
  choose(field) {
    if (["own", "theirs"].includes(field.name) && !field.value) this.fields.own.value = this.fields.theirs.value = "";
    const { cube, owner } = this.fields, isOwned = ["on_roll", "opponent"].includes(owner.value);
    if ((Number(cube.value) > 1) !== isOwned && field === cube) owner.value = "";
    if ((Number(cube.value) > 1) !== isOwned && field === owner) cube.value = "";
    this.send();
  }
  chooseScore(name) {
    this.fields[name].focus();
    try { this.fields[name].showPicker(); } catch { /* its focus is enough */ }
  }

  isChecker(place) { return typeof place === "number" || /off$/.test(place); }
  // Returns whether a checker moved.
  tap(start, end) {
    const [kind, which] = String(end).split(" ");
    if (kind === "cube" && String(start).startsWith("cube")) return this.moveCube(which);
    if (start === end && kind === "die") return this.turnDie(Number(which));
    if (start === end && (kind === "own" || kind === "theirs") && !which) return this.chooseScore(kind);
    if (!this.isChecker(start) || !this.isChecker(end)) return this.hold(null);
    if (start !== end) return this.move(start, end);
    if (this.hand === null) return this.pick(end);
    const held = this.hand;
    this.hold(null);
    return this.move(held, end);
  }

  pointerDown(event) {
    const svg = event.target.closest("svg");
    if (!svg || !this.isOpen || event.button) return;
    this.from = placeAt(svg, event);
    if (event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
    event.preventDefault();
    this.board.focus({ preventScroll: true });
  }
  // Returns the picture of the checker that is dragged: the outermost of its pile, or a new checker from a tray.
  lift() {
    const side = this.sideAt(this.from);
    if (!this.isChecker(this.from) || !side) return null;
    const [x, y, width, height] = boxOf(this.from);
    const pile = [...this.svg.querySelectorAll("circle[r='18']")].filter((each) => {
      const [cx, cy] = [Number(each.getAttribute("cx")), Number(each.getAttribute("cy"))];
      return cx > x && cx < x + width && cy > y - 60 && cy < y + height + 60 && (cy < MIDDLE) === (y < MIDDLE);
    });
    const found = typeof this.from === "number" ? pile.at(-1) : null;
    const lifted = found ?? document.createElementNS(SVG, "circle");
    lifted.setAttribute("r", 18);
    lifted.setAttribute("fill", side > 0 ? "#fffdf8" : "#33302e");
    lifted.setAttribute("stroke", "#1d1814");
    lifted.setAttribute("class", "dragged");
    this.svg.append(lifted);
    return lifted;
  }
  drag(event) {
    if (this.from === null || !this.isOpen) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    if (!this.dragged) {
      if (placeAt(this.svg, event) === this.from) return;  // this is still a tap
      this.kept = this.svg.cloneNode(true);
      this.dragged = this.lift();
    }
    this.dragged?.setAttribute("cx", at.x);
    this.dragged?.setAttribute("cy", at.y);
  }
  drop(event) {
    if (!this.isOpen || (this.from === null && this.hand === null) || this.form.contains(event.target)) return;
    const to = placeAt(this.svg, event), start = this.from, dragged = this.dragged;
    this.from = this.dragged = null;
    let moved = false;
    if (to === null || start === null) this.hold(null);
    else moved = this.tap(start, to);
    if (!dragged) return;
    if (moved !== true) return this.putBack();
    const [x, , width] = boxOf(to);
    dragged.setAttribute("cx", x + width / 2);  // until the new board arrives
  }
  putBack() {
    this.svg.replaceWith(this.kept);
    this.draw();
  }
  cancel() {
    if (this.dragged) this.putBack();
    this.from = this.dragged = null;
  }

  // Handles a key on the board while it is set up. Returns whether the key has a meaning.
  key(key) {
    const row = UPPER.includes(this.cursor) ? UPPER : LOWER, column = row.indexOf(this.cursor);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) this.cursor = row[(column + step + row.length) % row.length];
    else if (key === "ArrowUp" || key === "ArrowDown") this.cursor = (row === UPPER ? LOWER : UPPER)[column];
    else if (key === "+" || key === "=") this.put(this.cursor, 1);
    else if (key === "-") this.put(this.cursor, -1);
    else if (key === " " || key === "Enter") this.tap(this.cursor, this.cursor);
    else if (key === "Escape") this.hand = null;
    else return false;
    Editor.cursor = this.cursor;
    this.draw();
    if (key.startsWith("Arrow")) pages.say(`${nameOf(this.cursor)}${typeof this.cursor === "number" ? `: ${this.count(this.cursor)}` : ""}`);
    return true;
  }
}
Editor.cursor = 24;  // the keyboard cursor, which stays from one change to the next

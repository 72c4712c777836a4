// A table of any length: only the rows in sight are in the page, fetched in chunks of HTML from the server.
// A browser cannot scroll farther than some million pixels, so for long tables the scroll bar is a scale, and the wheel
// and the keys move by rows.

import { ask } from "./studio.js";

const LONGEST = 4_000_000; // pixels
const KEPT = 24; // chunks

export class Grid {
  /** Take over a region with a table in it. `where` says which rows are in sight; `kept` remembers it for the next one. */
  constructor(box, where, kept = { first: 0, found: -1 }) {
    this.kept = kept;
    this.box = box;
    this.where = where;
    this.body = box.querySelector("tbody");
    this.rows = Number(box.dataset.rows);
    this.chunk = Number(box.dataset.chunk);
    this.chunks = new Map([[0, [...this.body.rows]]]);
    this.asked = new Map();
    this.found = kept.found;
    this.measure();
    this.first = Math.min(kept.first, this.last());
    box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { if (box.isConnected) { this.measure(); this.go(this.first, this.found); } }).observe(box);
    this.settle();
    this.show();
  }

  measure() {
    const row = this.body.rows[0];
    this.height = row?.getBoundingClientRect().height || this.height || 30;
    const head = this.box.querySelector("thead").getBoundingClientRect().height;
    this.room = Math.max(1, Math.floor((this.box.clientHeight - head - 1) / this.height));
    this.length = Math.min(LONGEST, head + this.rows * this.height);
    this.box.querySelector(".grid-length").style.height = `${this.length}px`;
  }

  last() {
    return Math.max(0, this.rows - this.room);
  }

  /** Scroll the bar to where the rows are. */
  settle() {
    const way = this.length - this.box.clientHeight;
    this.set = this.last() ? Math.round((way * this.first) / this.last()) : 0;
    this.box.scrollTop = this.set;
    this.set = this.box.scrollTop; // as far as the browser went
  }

  scrolled() {
    const top = this.box.scrollTop;
    if (Math.abs(top - this.set) < 1.5) return;
    this.set = top;
    const way = this.length - this.box.clientHeight;
    this.first = way > 0 ? Math.round((Math.min(top, way) / way) * this.last()) : 0;
    this.show();
  }

  wheel(event) {
    if (event.ctrlKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? this.room : 1 / this.height;
    this.rest = (this.rest ?? 0) + event.deltaY * unit;
    const by = Math.trunc(this.rest);
    this.rest -= by;
    const stuck = (event.deltaY < 0 && this.first === 0) || (event.deltaY > 0 && this.first === this.last());
    if (stuck) return; // the page scrolls on
    event.preventDefault();
    if (by) this.go(this.first + by);
  }

  key(event) {
    if (event.target !== this.box || event.altKey) return;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: this.room, PageUp: -this.room, Home: -this.rows, End: this.rows }[event.key];
    if (by) this.go(this.first + by);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.box.scrollLeft += event.key === "ArrowRight" ? 170 : -170;
    else return;
    event.preventDefault();
  }

  /** Show rows from this position on; `found` marks a row. */
  go(position, found = -1) {
    this.first = Math.max(0, Math.min(position, this.last()));
    this.found = found;
    this.settle();
    return this.show();
  }

  async show() {
    Object.assign(this.kept, { first: this.first, found: this.found });
    const [from, to] = [this.first, Math.min(this.first + this.room, this.rows)];
    const needed = [];
    for (let at = Math.floor(from / this.chunk); at * this.chunk < to; at += 1) needed.push(at);
    const wish = (this.wish = needed.filter((at) => !this.chunks.has(at)));
    if (wish.length) {
      this.box.classList.add("waits");
      await Promise.all(wish.map((at) => this.fetch(at)));
      if (this.wish !== wish || !this.box.isConnected) return; // moved on meanwhile
      if (wish.some((at) => !this.chunks.has(at))) {
        setTimeout(() => { if (this.wish === wish && this.box.isConnected) this.show(); }, 500); // Studio was busy
        return;
      }
    }
    this.box.classList.remove("waits");
    const rows = needed.flatMap((at) => this.chunks.get(at) ?? []);
    const skip = from - needed[0] * this.chunk;
    const shown = rows.slice(skip, skip + (to - from));
    for (const row of shown) row.classList.toggle("found", this.found >= 0 && Number(row.ariaRowIndex) === this.found + 2);
    this.body.replaceChildren(...shown);
    const few = (value) => value.toLocaleString("en-US");
    this.where.textContent = `Rows ${few(from + 1)} to ${few(to)} of ${few(this.rows)}`;
    for (const at of [needed[0] - 1, needed.at(-1) + 1]) {
      if (at >= 0 && at * this.chunk < this.rows && !this.chunks.has(at)) this.fetch(at);
    }
  }

  fetch(at) {
    if (!this.asked.has(at)) this.asked.set(at, this.ask(at).finally(() => this.asked.delete(at)));
    return this.asked.get(at);
  }

  async ask(at) {
    try {
      const answer = await ask(`data/rows?first=${at * this.chunk}`);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(`<table><tbody>${await answer.text()}</tbody></table>`, "text/html");
      this.chunks.set(at, [...page.querySelectorAll("tr")].map((row) => document.adoptNode(row)));
      if (this.chunks.size > KEPT) this.chunks.delete(this.chunks.keys().next().value);
    } catch { /* Studio has ended; the page says so */ }
  }
}

// The screen Roles: columns are dragged to a role, or moved with a key.
import { ask, send, typing } from "./studio.js";

const CARD = ".role-card";
let dragged = null;
let current = null; // the column that had the focus last

function give(card, role) {
  if (!card || !role || card.closest("[data-role]")?.dataset.role === role) return;
  current = card.dataset.column;
  send("roles/give", { column: card.dataset.column, role });
}

function shown(work) {
  return [...work.querySelectorAll(CARD)].filter((card) => !card.hidden);
}

/** Give the focus to a card, which then is the one that Tab finds. */
function focus(work, card) {
  if (!card) return;
  for (const other of work.querySelectorAll(`${CARD}[tabindex="0"]`)) other.tabIndex = -1;
  card.tabIndex = 0;
  card.focus();
  card.scrollIntoView({ block: "nearest" });
  current = card.dataset.column;
}

function arrow(work, card, key) {
  const cards = shown(work);
  const at = cards.indexOf(card);
  if (key === "ArrowDown") return cards[at + 1];
  if (key === "ArrowUp") return cards[at - 1];
  if (key === "Home") return cards[0];
  if (key === "End") return cards.at(-1);
  // To the first column of the next or former group.
  const group = (one) => one.closest(".role-group");
  const groups = [...new Set(cards.map(group))];
  const next = groups[groups.indexOf(group(card)) + (key === "ArrowRight" ? 1 : -1)];
  return cards.find((one) => group(one) === next);
}

function find(work) {
  const field = work.querySelector("#find");
  if (!field) return;
  const wanted = field.value.trim().toLowerCase();
  for (const card of work.querySelectorAll(CARD)) card.hidden = !card.dataset.find.includes(wanted);
  const form = work.querySelector("#several");
  form.hidden = !wanted;
  form.elements.find.value = field.value;
  const count = shown(work).length;
  work.querySelector("#several-count").textContent = count === 1 ? "1 column" : `${count} columns`;
}

/** Fetch the settings of a column when they are opened. */
async function more(fold) {
  const answer = await ask(fold.dataset.more);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  fold.lastElementChild.replaceChildren(...page.body.children);
}

let wanted = "";
export function init(work) {
  const bar = work.querySelector(".role-bar");
  if (!bar) return;
  const keys = Object.fromEntries([...bar.querySelectorAll("[data-key]")].map((tile) => [tile.dataset.key, tile.dataset.role]));
  const last = current && work.querySelector(`${CARD}[data-column="${current}"]`);
  if (last) {
    for (const other of work.querySelectorAll(`${CARD}[tabindex="0"]`)) other.tabIndex = -1;
    last.tabIndex = 0;
    if (document.activeElement === last) last.scrollIntoView({ block: "nearest" });
  }
  const field = work.querySelector("#find");
  if (field) {
    if (!field.value) field.value = wanted;
    field.addEventListener("input", () => { wanted = field.value; find(work); });
    find(work);
  }
  work.addEventListener("keydown", (event) => {
    const card = event.target.closest?.(CARD);
    if (!card || event.target !== card || typing() || event.ctrlKey || event.metaKey || event.altKey) return;
    const role = keys[event.key.toLowerCase()];
    if (role) give(card, role);
    else if (/^(Arrow|Home|End)/.test(event.key)) focus(work, arrow(work, card, event.key));
    else return;
    event.preventDefault();
  });
  work.addEventListener("toggle", (event) => {
    if (event.target.dataset?.more && event.target.open) more(event.target);
  }, true);
  work.addEventListener("focusin", (event) => { current = event.target.closest?.(CARD)?.dataset.column ?? current; });
  work.addEventListener("click", (event) => {
    const button = event.target.closest("[data-give]");
    if (button) give(button.closest(CARD), button.dataset.give);
  });
  work.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(CARD);
    if (!dragged) return;
    event.dataTransfer.setData("text/plain", dragged.dataset.column);
    event.dataTransfer.effectAllowed = "move";
    dragged.classList.add("moving");
    document.body.classList.add("dragging");
    work.dataset.busy = "";
  });
  work.addEventListener("dragover", (event) => {
    const place = dragged && event.target.closest("[data-role]");
    for (const other of work.querySelectorAll(".over")) if (other !== place) other.classList.remove("over");
    if (!place) return;
    event.preventDefault();
    place.classList.add("over");
  });
  work.addEventListener("drop", (event) => {
    const place = dragged && event.target.closest("[data-role]");
    if (!place) return;
    event.preventDefault();
    give(dragged, place.dataset.role);
  });
  work.addEventListener("dragend", () => {
    dragged?.classList.remove("moving");
    dragged = null;
    delete work.dataset.busy;
    document.body.classList.remove("dragging");
    for (const other of work.querySelectorAll(".over")) other.classList.remove("over");
  });
}

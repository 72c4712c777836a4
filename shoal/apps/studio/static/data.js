// The screen Data: the table, and jumping to a row.
import { Grid } from "./grid.js";

const kept = { table: "", first: 0, found: -1 }; // while the page is shown anew

function jump(grid, text) {
  const row = Number(String(text ?? "").replace(/[^0-9]/g, ""));
  if (!row) return;
  const position = Math.min(row, grid.rows) - 1;
  grid.go(position - Math.floor(grid.room / 3), position);
}

export function init(work) {
  const box = work.querySelector("#grid");
  if (!box) return;
  const table = document.getElementById("top-name").textContent + box.dataset.rows;
  if (table !== kept.table) Object.assign(kept, { table, first: 0, found: -1 });
  const grid = new Grid(box, work.querySelector("#where"), kept);
  const form = work.querySelector("#jump");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    jump(grid, form.elements.row.value);
  });
  // Somebody was quicker than this script.
  const asked = new URLSearchParams(location.search).get("row");
  if (asked) {
    history.replaceState(null, "", location.pathname);
    jump(grid, asked);
  }
}

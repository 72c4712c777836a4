// The screen Data: the table, and jumping to a row.
import { Grid } from "/static/grid.js";

let first = 0; // kept while the page is shown anew
let name = "";

export function init(work) {
  const box = work.querySelector("#grid");
  if (!box) return;
  const table = document.getElementById("top-name").textContent + box.dataset.rows;
  if (table !== name) first = 0;
  name = table;
  const grid = new Grid(box, work.querySelector("#where"), first);
  box.addEventListener("scroll", () => { first = grid.first; }, { passive: true });
  const jump = work.querySelector("#jump");
  jump.addEventListener("submit", (event) => {
    event.preventDefault();
    const row = Number(jump.elements.row.value.replace(/[^0-9]/g, ""));
    if (!row) return;
    const position = Math.min(row, grid.rows) - 1;
    grid.go(position - Math.floor(grid.room / 3), position);
  });
}

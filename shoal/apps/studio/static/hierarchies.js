// The screen of hierarchies: choosing and dragging nodes of the tree, and cut points on the line. Every step is a form
// that the server answers; nothing is kept here but what is chosen.

import { send, typing } from "./studio.js";

let chosen = { stamp: "", nodes: new Set() };
let cutOut = { stamp: "", nodes: [] };
let focusTree = false; // the next page puts the focus on the node that the step was about

export function init(work) {
  const tree = work.querySelector("#tree");
  if (tree) initTree(work, tree);
  const line = work.querySelector("svg.line.editable");
  if (line) initLine(work, line);
}

// --- the tree -----------------------------------------------------------------------------------------------

function initTree(work, tree) {
  const stamp = tree.dataset.stamp + tree.dataset.column;
  const form = work.querySelector("[data-tree-form]");
  const items = [...tree.querySelectorAll("[role=treeitem]")];
  const editable = "editable" in tree.dataset;
  if (chosen.stamp !== stamp) chosen = { stamp, nodes: new Set() };
  let anchor = null;

  const show = () => {
    for (const item of items) {
      item.setAttribute("aria-selected", chosen.nodes.has(item.dataset.node) ? "true" : "false");
      item.classList.toggle("cut-out", cutOut.stamp === stamp && cutOut.nodes.includes(item.dataset.node));
    }
    if (form) tell(form, items);
  };
  const focus = (item) => {
    for (const other of items) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  const choose = (item, { more = false, range = false } = {}) => {
    const number = item.dataset.node;
    if (range && anchor) {
      const [from, to] = [items.indexOf(anchor), items.indexOf(item)].sort((a, b) => a - b);
      for (const other of items.slice(from, to + 1)) chosen.nodes.add(other.dataset.node);
    } else if (more) {
      if (!chosen.nodes.delete(number)) chosen.nodes.add(number);
    } else chosen.nodes = new Set([number]);
    if (!range) anchor = item;
    show();
  };
  const unfold = (item, how = "") => {
    focusTree = true;
    send("hierarchies/unfold", { column: tree.dataset.column, node: item.dataset.node, how });
  };
  const step = (name, nodes, target = "") => {
    focusTree = document.activeElement?.closest?.("#tree") !== null || name === "move";
    form.elements.step.value = name;
    form.elements.nodes.value = [...nodes].join(",");
    form.elements.target.value = target;
    form.requestSubmit();
  };

  const kept = items.find((item) => item === document.activeElement); // the page was shown anew under it
  const wanted = tree.querySelector("[data-wanted]") ?? kept ?? items[0];
  if (wanted) wanted.tabIndex = 0;
  if (wanted && tree.querySelector("[data-wanted]") && focusTree) {
    focus(wanted);
    if (chosen.nodes.size === 0) chosen.nodes.add(wanted.dataset.node);
  }
  focusTree = false;
  show();

  tree.addEventListener("click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    focus(item);
    if (event.target.closest(".twig-fold") && item.hasAttribute("aria-expanded")) unfold(item);
    else choose(item, { more: event.ctrlKey || event.metaKey, range: event.shiftKey });
  });
  tree.addEventListener("dblclick", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (item && editable && item.dataset.kind !== "value") form.elements.name?.select();
  });

  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const at = items.indexOf(item);
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const open = item.getAttribute("aria-expanded");
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
    if (event.altKey && editable && (event.key === "ArrowUp" || event.key === "ArrowDown")) step(event.key === "ArrowUp" ? "up" : "down", [item.dataset.node]);
    else if (plain && event.key in steps && items[steps[event.key]]) {
      if (event.shiftKey) {
        anchor ??= item;
        choose(items[steps[event.key]], { range: true });
        chosen.nodes.add(item.dataset.node);
        show();
      }
      focus(items[steps[event.key]]);
    } else if (plain && event.key === "ArrowRight" && open) {
      if (open === "false") unfold(item);
      else if (items[at + 1]) focus(items[at + 1]);
    } else if (plain && event.key === "ArrowLeft") {
      if (open === "true") unfold(item);
      else {
        const above = items.slice(0, at).reverse().find((other) => Number(other.dataset.depth) < Number(item.dataset.depth));
        if (above) focus(above);
      }
    } else if (plain && event.key === " ") choose(item, { more: true });
    else if (plain && event.key === "Enter") choose(item);
    else if (event.key === "Escape") {
      chosen.nodes.clear();
      cutOut = { stamp: "", nodes: [] };
      show();
    } else if (event.key === "F2" && editable) {
      choose(item);
      form.elements.name?.select();
    } else if (event.key === "Delete" && editable && item.dataset.kind === "group") step("dissolve", [item.dataset.node]);
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "x" && editable) {
      const nodes = chosen.nodes.size ? [...chosen.nodes] : [item.dataset.node];
      cutOut = { stamp, nodes };
      show();
    } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v" && editable && cutOut.stamp === stamp) {
      const { nodes } = cutOut;
      cutOut = { stamp: "", nodes: [] };
      step("move", nodes, item.dataset.node);
    } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a") {
      for (const other of items) if (other.dataset.kind === item.dataset.kind) chosen.nodes.add(other.dataset.node);
      show();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  if (!form) return;
  for (const button of form.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => step(button.dataset.step, chosen.nodes, button.dataset.step === "move" ? form.querySelector("#tree-to").value : ""));
  }
  form.elements.name?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const [only] = items.filter((item) => chosen.nodes.has(item.dataset.node));
    focusTree = true;
    step(chosen.nodes.size === 1 && only && only.dataset.kind !== "value" ? "rename" : "group", chosen.nodes);
    focusTree = true;
  });
  form.querySelector("[data-all]")?.addEventListener("change", () => tell(form, items));

  if (!editable) return;
  tree.addEventListener("dragstart", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    if (!chosen.nodes.has(item.dataset.node)) choose(item);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("application/x-shoal-nodes", [...chosen.nodes].join(","));
    tree.dataset.busy = "";
  });
  tree.addEventListener("dragend", () => {
    delete tree.dataset.busy;
    for (const item of items) item.classList.remove("over");
  });
  tree.addEventListener("dragover", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item || !event.dataTransfer.types.includes("application/x-shoal-nodes")) return;
    event.preventDefault();
    for (const other of items) other.classList.toggle("over", other === item);
  });
  tree.addEventListener("drop", (event) => {
    const item = event.target.closest("[role=treeitem]");
    const nodes = event.dataTransfer.getData("application/x-shoal-nodes");
    if (!item || !nodes) return;
    event.preventDefault();
    delete tree.dataset.busy;
    step("move", nodes.split(","), item.dataset.node);
  });
}

/** Say what is chosen, put its name into the field, and offer what can be done with it. */
function tell(form, items) {
  const all = form.querySelector("[data-all]")?.checked ?? false;
  const those = items.filter((item) => chosen.nodes.has(item.dataset.node));
  const groups = those.filter((item) => item.dataset.kind === "group");
  const named = those.filter((item) => item.dataset.kind !== "value");
  const count = chosen.nodes.size;
  const words = form.querySelector("[data-tree-chosen]");
  if (all) words.textContent = "All nodes that match are chosen.";
  else if (count === 0) words.textContent = "Nothing is chosen. Click nodes, or press the space bar on them.";
  else if (count === 1 && those[0]) words.textContent = `Chosen: ${those[0].dataset.name.slice(0, 80)}`;
  else words.textContent = `${count} nodes are chosen.`;
  const can = {
    one: count === 1,
    some: count > 0 || all,
    several: count > 1 || all,
    group: count === 1 && named.length === 1,
    groups: groups.length > 0 && groups.length === count,
  };
  for (const button of form.querySelectorAll("[data-needs]")) button.disabled = !can[button.dataset.needs];
  const field = form.elements.name;
  if (field && document.activeElement !== field) field.value = count === 1 && named.length === 1 ? named[0].dataset.name : "";
}

// --- cut points ---------------------------------------------------------------------------------------------

function initLine(work, svg) {
  const form = work.querySelector("#cuts-form");
  const [low, high, width, side, plot] = ["low", "high", "width", "side", "plot"].map((key) => Number(svg.dataset[key]));
  const whole = svg.dataset.whole === "1";
  const grain = whole ? 1 : 10 ** Math.floor(Math.log10((high - low) / 100));
  const fields = [...form.querySelectorAll("input[name=level]")];
  const levels = fields.map((field) => field.value.split(/[\s,;]+/).filter(Boolean).map(Number));
  let timer = 0;

  const round = (value) => (whole ? Math.round(value) : Number((Math.round(value / grain) * grain).toPrecision(10)));
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { value: round(low + ((point.x - side) / (width - 2 * side)) * (high - low)), y: point.y };
  };
  const place = (value) => side + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (width - 2 * side);
  const write = () => fields.forEach((field, level) => { field.value = [...new Set(levels[level])].sort((a, b) => a - b).join(", "); });
  const commit = () => {
    clearTimeout(timer);
    delete svg.dataset.busy;
    write();
    form.requestSubmit();
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(commit, 700);
  };

  for (const cut of svg.querySelectorAll(".cut")) {
    const grip = cut.querySelector(".cut-grip");
    let value = Number(cut.dataset.cut);
    const [least, most] = [Number(grip.getAttribute("aria-valuemin")), Number(grip.getAttribute("aria-valuemax"))];
    const move = (wanted) => {
      const next = Math.min(Math.max(round(wanted), least), most);
      if (next === value) return;
      for (const level of levels) {
        const index = level.indexOf(value);
        if (index >= 0) level[index] = next;
      }
      value = next;
      svg.dataset.busy = "";
      const x = place(value);
      cut.querySelector(".cut-line").setAttribute("x1", x);
      cut.querySelector(".cut-line").setAttribute("x2", x);
      for (const circle of cut.querySelectorAll("circle")) circle.setAttribute("cx", x);
      cut.querySelector(".cut-hit").setAttribute("x", x - 11);
      const text = cut.querySelector(".cut-value");
      text.setAttribute("x", x);
      text.textContent = value;
      grip.setAttribute("aria-valuenow", value);
      grip.setAttribute("aria-valuetext", String(value));
      write();
    };
    const remove = () => {
      for (const level of levels) {
        const index = level.indexOf(value);
        if (index >= 0) level.splice(index, 1);
      }
      commit();
    };
    grip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      grip.focus({ preventScroll: true });
      grip.setPointerCapture(event.pointerId);
      grip.classList.add("moving");
      const before = value;
      const drag = (moved) => move(at(moved).value);
      const end = () => {
        grip.removeEventListener("pointermove", drag);
        grip.classList.remove("moving");
        if (value !== before) commit();
      };
      grip.addEventListener("pointermove", drag);
      grip.addEventListener("pointerup", end, { once: true });
      grip.addEventListener("pointercancel", end, { once: true });
    });
    grip.addEventListener("keydown", (event) => {
      const big = whole ? Math.max(1, Math.round((high - low) / 20)) : (high - low) / 20;
      const by = { ArrowRight: grain, ArrowUp: grain, ArrowLeft: -grain, ArrowDown: -grain, PageUp: big, PageDown: -big }[event.key];
      if (by) move(value + by);
      else if (event.key === "Home") move(least);
      else if (event.key === "End") move(most);
      else if (event.key === "Delete" || event.key === "Backspace") return void (event.preventDefault(), remove());
      else if (event.key === "Enter") return void (event.preventDefault(), commit());
      else return;
      event.preventDefault();
      later();
    });
    for (const dot of cut.querySelectorAll(".cut-dot")) {
      const toggle = () => {
        const level = Number(dot.dataset.level) - 1;
        const on = dot.getAttribute("aria-checked") === "true";
        levels.forEach((points, index) => {
          const there = points.indexOf(value);
          if (on && index >= level && there >= 0) points.splice(there, 1);
          if (!on && index <= level && there < 0) points.push(value);
        });
        commit();
      };
      dot.addEventListener("click", toggle);
      dot.addEventListener("keydown", (event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        toggle();
      });
    }
  }

  svg.querySelector(".line-plot").addEventListener("click", (event) => {
    const { value, y } = at(event);
    if (y > plot || typing() || levels[0].includes(value) || value <= low || value >= high) return;
    levels[0].push(value);
    commit();
  });
}

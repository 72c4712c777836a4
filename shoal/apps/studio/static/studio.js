// What every page of Studio does: forms without reloading, news from the server, files that are dropped, copying, undo.
// A screen's own script exports `init(work)`, which is called whenever its work is shown anew.

const PIECES = ["steps", "work", "standing", "tools", "top-name", "policy-body"];
let waiting = false; // the page is out of date, but somebody is typing
let latest = 0; // the newest version that the server has told of
let going = 0; // pages that are on their way
let asked = 0; // pages that were asked for
const mark = document.body.dataset.mark; // of the Studio that made this page
let over = false; // it has ended: nothing is sent any more, as another program may have taken its port

const place = () => location.pathname + location.search;
let here = place(); // the page that is shown

/** Replace the pieces of this page by those of another version of it, and keep focus, scrolling and what is open. */
function swap(html, address) {
  const next = new DOMParser().parseFromString(html, "text/html");
  if (!next.getElementById("work")) {
    document.open();
    document.write(html);
    document.close();
    return;
  }
  const focus = focused();
  const told = document.getElementById("notices")?.textContent.trim();
  const open = [...document.querySelectorAll("details[id][open]")].map((one) => one.id);
  const shut = [...document.querySelectorAll("details[id]:not([open])")].map((one) => one.id);
  const scrolled = [...document.querySelectorAll("[data-scroll][id]")].map((one) => [one.id, one.scrollTop, one.scrollLeft]);
  const typed = [...document.querySelectorAll("[data-keep][id]")].filter((one) => one.value !== one.defaultValue).map((one) => [one.id, one.value]);
  for (const id of PIECES) {
    const [from, to] = [next.getElementById(id), document.getElementById(id)];
    if (from && to) to.replaceWith(document.adoptNode(from));
  }
  document.title = next.title;
  const same = document.body.dataset.screen === next.body.dataset.screen;
  document.body.dataset.screen = next.body.dataset.screen;
  if (next.body.dataset.script) document.body.dataset.script = next.body.dataset.script;
  else delete document.body.dataset.script;
  if (address && address !== location.href) history[same ? "replaceState" : "pushState"](null, "", address);
  here = place();
  if (same) {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, value] of typed) if (document.getElementById(id)) document.getElementById(id).value = value;
    for (const id of shut) document.getElementById(id)?.removeAttribute("open");
    for (const [id, top, left] of scrolled) document.getElementById(id)?.scrollTo({ top, left, behavior: "instant" });
    focus();
    const notices = document.getElementById("notices");
    // What is told about something further down must not be told out of sight.
    if (notices?.textContent.trim() && notices.textContent.trim() !== told) notices.scrollIntoView({ block: "nearest" });
  } else {
    scrollTo(0, 0);
    document.getElementById("work").focus();
  }
  shown();
  setTimeout(catchUp, 100);
}

/** Return a function that puts the focus back on what is, or does, the same as what has it now. */
function focused() {
  const one = document.activeElement;
  if (!one || one === document.body) return () => {};
  const { id, name } = one;
  const key = one.dataset.focus;
  const form = one.form?.getAttribute("action");
  const value = one.type === "radio" || one.tagName === "BUTTON" ? one.value : null;
  const range = typeof one.selectionStart === "number" ? [one.selectionStart, one.selectionEnd] : null;
  return () => {
    let found = id ? document.getElementById(id) : null;
    if (!found && key) found = document.querySelector(`[data-focus="${CSS.escape(key)}"]`);
    if (!found && form) {
      const same = [...document.querySelectorAll("form")].filter((other) => other.getAttribute("action") === form);
      const inside = same.flatMap((other) => [...other.elements]);
      found = inside.find((other) => other.name === name && (value === null || other.value === value));
    }
    found?.focus({ preventScroll: true });
    if (range && found?.setSelectionRange) {
      try { found.setSelectionRange(...range); } catch { /* not for every kind of input */ }
    }
  };
}

/** Bring the current step into sight where the steps are one line, on a narrow screen. */
function showStep() {
  const steps = document.getElementById("steps");
  const now = steps?.querySelector("[aria-current]");
  if (now && steps.scrollWidth > steps.clientWidth) steps.scrollLeft = now.offsetLeft - (steps.clientWidth - now.offsetWidth) / 2;
}

let begun = null; // the work that its script has taken over
async function shown() {
  showStep();
  const script = document.body.dataset.script;
  if (!script) return;
  const module = await import(new URL(script, document.baseURI).href);
  const work = document.getElementById("work");
  if (work === begun || document.body.dataset.script !== script) return; // another page came meanwhile
  begun = work;
  module.init?.(work);
  work.dataset.ready = ""; // before this, a click would be lost: the style sheet lets none through
}

/** Ask the Studio that made this page, and take an answer from no other program. */
export async function ask(address, options = {}) {
  if (over) throw new Error(OVER);
  const answer = await fetch(address, { credentials: "same-origin", ...options });
  if (answer.headers.get("x-studio-mark") !== mark) {
    end();
    throw new Error(OVER);
  }
  return answer;
}

const OVER = "Studio has ended.";
function end() {
  over = true;
  document.getElementById("gone")?.removeAttribute("hidden");
}

/** Fetch a page, by a form or anew, and show it. */
export async function go(address, options = {}) {
  document.body.setAttribute("aria-busy", "true");
  const mine = (asked += 1);
  going += 1;
  try {
    const answer = await ask(address, options);
    const kind = answer.headers.get("content-type") ?? "";
    if (!kind.startsWith("text/html")) throw new Error(await answer.text());
    const html = await answer.text();
    // A page that was only looked at again is out of date once somebody has asked for more.
    if (!options.method && mine === asked && answer.url === location.href && busy()) waiting = true; // somebody began to type
    else if (options.method || mine === asked) swap(html, answer.url);
  } catch (error) {
    say(error instanceof TypeError ? "Studio does not answer." : error.message);
  } finally {
    going -= 1;
    if (!going) document.body.removeAttribute("aria-busy");
  }
}

/** Send a form's fields, or others, and show the page that comes back. */
export function send(address, fields) {
  return go(address, { method: "POST", body: new URLSearchParams(fields) });
}

/** Show this page anew. */
export function refresh() {
  return go(location.href);
}

function say(words) {
  const box = document.getElementById("notices");
  if (!box) return;
  const line = document.createElement("p");
  line.className = "notice bad";
  line.textContent = words;
  box.replaceChildren(line);
}

// --- forms ------------------------------------------------------------------------------------------------

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (over && form.method !== "dialog") event.preventDefault();
  if (form.method !== "post" || form.hasAttribute("data-plain")) return;
  event.preventDefault();
  if (form.dataset.sure && !confirm(form.dataset.sure)) return;
  const address = event.submitter?.hasAttribute("formaction") ? event.submitter.formAction : form.action;
  const fields = new FormData(form, event.submitter);
  // Enter in such a field is a change and a submit, with the same values.
  const same = `${address} ${new URLSearchParams(fields)}`;
  if (form.querySelector("[data-auto]") !== null || form.hasAttribute("data-auto")) {
    if (form.sent === same) return;
    form.sent = same;
  }
  send(address, fields);
});

document.addEventListener("change", (event) => {
  if (event.target.closest("[data-auto]") && event.target.form) event.target.form.requestSubmit();
});

for (const kind of ["click", "auxclick"]) {
  document.addEventListener(kind, (event) => {
    if (over && event.target.closest("a[href]:not([href^='#'])")) event.preventDefault();
  }, true);
}

document.addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-open]");
  if (opener) document.querySelector(opener.dataset.open)?.showModal();
  const copier = event.target.closest("[data-copy]");
  if (copier) {
    await navigator.clipboard.writeText(document.querySelector(copier.dataset.copy).textContent);
    copier.textContent = "Copied";
    setTimeout(() => { copier.textContent = "Copy"; }, 1500);
  }
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.altKey || typing()) return;
  event.preventDefault();
  send(event.shiftKey ? "studio/redo" : "studio/undo", { screen: document.body.dataset.screen });
});

addEventListener("popstate", () => {
  if (place() !== here) refresh(); // a link within the page, such as the one to the work, changes nothing
});

/** Whether the focus is in a field in which somebody may be typing. */
export function typing() {
  const fields = "input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea, select, [contenteditable=true]";
  return document.activeElement?.matches?.(fields) ?? false;
}

// --- files ------------------------------------------------------------------------------------------------

/** Upload a file to a screen; `more` is added to the address. */
export async function upload(file, screen, more = "", sure = "") {
  const policy = file.name.toLowerCase().endsWith(".toml"); // it is for the open table
  if (sure && !policy && !confirm(sure)) return;
  try {
    await ask("static/shoal.svg"); // before another program gets the file
  } catch {
    refresh(); // says why
    return;
  }
  const words = document.querySelector("[data-drop-words]");
  const request = new XMLHttpRequest();
  request.open("POST", `upload/${screen}${more}`);
  request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
  request.upload.onprogress = (event) => {
    if (words && event.lengthComputable) words.textContent = `${file.name}: ${Math.round((100 * event.loaded) / event.total)} %`;
  };
  asked += 1;
  going += 1; // its page has the notices, too
  request.onloadend = () => {
    going -= 1;
    if (request.status && request.getResponseHeader("x-studio-mark") !== mark) end();
    else if ((request.getResponseHeader("content-type") ?? "").startsWith("text/html")) swap(request.responseText, request.responseURL);
    else refresh();
  };
  request.send(file);
}

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault(); // otherwise the browser would open the file
    const place = event.target.closest?.("[data-drop]");
    place?.classList.toggle("over", kind === "dragover");
    const [file] = event.dataTransfer.files;
    if (kind === "drop" && place && file) upload(file, place.dataset.drop, place.dataset.dropMore, place.dataset.sure);
  });
}

document.addEventListener("change", (event) => {
  const place = event.target.closest?.("[data-drop]");
  const [file] = (event.target.type === "file" && event.target.files) || [];
  if (place && file) upload(file, place.dataset.drop, place.dataset.dropMore, place.dataset.sure);
});

// --- news from the server -------------------------------------------------------------------------------

function told(news) {
  for (const job of news.jobs) {
    for (const box of document.querySelectorAll(`[data-job="${job.number}"]`)) {
      const bar = box.querySelector("progress");
      if (bar) bar.value = job.share;
      const words = box.querySelector("[data-job-words]");
      if (words && job.state === "running") words.textContent = job.stage;
      const time = box.querySelector("[data-job-time]");
      const left = job.left === null ? "" : `, about ${Math.max(1, Math.round(job.left))} s left`;
      if (time) time.textContent = `${Math.round(job.elapsed)} s${left}`;
    }
  }
  latest = news.version;
  catchUp();
}

/** Show this page anew if it is out of date; not while one is on its way, which may know the news and has the notices. */
function catchUp() {
  if (!going && Number(document.getElementById("work")?.dataset.version) < latest) {
    if (busy()) waiting = true;
    else refresh();
  }
}

/** Whether showing the page anew would take something away from somebody: typed text, or what they drag. */
function busy() {
  const one = document.activeElement;
  const typed = typing() && one.tagName !== "SELECT" && one.value !== one.defaultValue;
  return typed || document.querySelector("[data-busy]") !== null;
}

document.addEventListener("focusout", () => {
  if (!waiting) return;
  setTimeout(() => {
    if (typing()) return;
    waiting = false;
    refresh();
  }, 200);
});

let silent = 0;
function listen() {
  const source = new EventSource("events");
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    if (news.mark !== mark) {
      source.close();
      end();
      return;
    }
    silent = 0;
    told(news);
  };
  source.onerror = () => {
    source.close();
    silent += 1;
    if (silent > 2) end();
    else if (!over) setTimeout(listen, 1000);
  };
}

listen();
shown();

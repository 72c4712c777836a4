// Compare: points and rows open their release without loading the page anew.
import { go } from "./studio.js";

export function init(work) {
  for (const link of work.querySelectorAll("a[data-go]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      go(typeof link.href === "string" ? link.href : link.href.baseVal);
    });
  }
}

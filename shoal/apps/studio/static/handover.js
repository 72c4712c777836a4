// The form for a folder sends the ticked files of the list above it.

export function init(work) {
  const form = work.querySelector("#to-folder");
  form?.addEventListener("submit", () => {
    for (const old of form.querySelectorAll("input[data-copied]")) old.remove();
    for (const box of work.querySelectorAll("#give input[name=item]:checked")) {
      const copy = document.createElement("input");
      Object.assign(copy, { type: "hidden", name: "item", value: box.value });
      copy.dataset.copied = "";
      form.append(copy);
    }
  });
}

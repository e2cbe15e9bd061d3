// Names and headings that hold what is typed, best first: an exact name, then names that begin so, then shorter ones.
const box = document.getElementById("search"), found = document.getElementById("found");
const name_of = (entry) => entry[0].split(/::|\./).pop().toLowerCase();
box.addEventListener("input", () => {
  const typed = box.value.trim().toLowerCase();
  const order = (entry) => (name_of(entry) === typed ? 0 : name_of(entry).startsWith(typed) ? 1e3 : 2e3) + entry[0].length;
  const some = typed.length < 2 ? [] : NAMES.filter((entry) => entry[0].toLowerCase().includes(typed)).sort((a, b) => order(a) - order(b));
  found.replaceChildren(...some.slice(0, 12).map(([name, kind, url]) => {
    const item = document.createElement("li"), link = document.createElement("a"), note = document.createElement("small");
    link.href = ROOT + url;
    note.textContent = " " + kind;
    link.append(name, note);
    item.append(link);
    return item;
  }));
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && found.firstChild) location.href = found.querySelector("a").href;
  if (event.key === "Escape") { box.value = ""; found.replaceChildren(); }
});

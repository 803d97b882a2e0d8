// Draws the parts of an item as templates/labeling/macros.html does, and marks in their texts what
// somebody looks for.
"use strict";

const LONG = 1000; // characters of an item from which on it is searched without being asked
const MOST_MARKS = 1000;

const search = document.getElementById("search");
const term = document.getElementById("term");
const found = document.getElementById("found");

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function text(of) {
  return element("div", { class: "text", dir: "auto" }, of); // a string becomes a text node
}

function table(rows) {
  const drawn = rows.map(([name, value]) => element(
    "tr", {},
    element("th", { scope: "row", class: "text", dir: "auto" }, name),
    element("td", { class: "text", dir: "auto" }, value),
  ));
  return element("table", {}, element("tbody", {}, ...drawn));
}

function body(part) {
  if (part.kind === "image") return element("img", { src: part.address, alt: part.name });
  if (part.kind === "html") {
    return element("iframe", { src: part.address, sandbox: "", title: part.name });
  }
  if (part.kind === "table") return table(part.rows);
  return part.text ? text(part.text) : "";
}

function section(part) {
  const made = element("section", { class: "part" });
  if (part.name) made.append(element("h2", {}, part.name));
  if (part.note) made.append(element("p", { class: "note" }, part.note));
  made.append(body(part));
  if (part.kind === "link") {
    made.append(element("button", { type: "button", class: "quiet copy" }, "Copy the link"));
  }
  if (part.rest) {
    const summary = element("summary", {}, part.more);
    made.append(element("details", { class: "rest" }, summary, text(part.rest)));
  }
  return made;
}

// Does for parts that are drawn, by whom ever, what HTML alone cannot.
function enliven(box) {
  for (const copy of box.querySelectorAll(".copy")) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(copy.parentElement.querySelector(".text").textContent);
      copy.textContent = "Copied";
    });
  }
  for (const picture of box.querySelectorAll("img")) {
    const broken = () => picture.replaceWith(
      element("p", { class: "note" }, "This picture cannot be shown: it is not whole, or gone."),
    );
    picture.addEventListener("error", broken);
    if (picture.complete && picture.naturalWidth === 0) broken();
  }
  return box;
}

// Searching

function unmark(box) {
  for (const mark of box.querySelectorAll("mark")) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }
}

// Marks what is looked for in the texts of an item; opens what it was in.
function markIn(box) {
  unmark(box);
  const wanted = term.value.trim();
  const isLong = [...box.querySelectorAll(".text")]
    .reduce((length, one) => length + one.textContent.length, 0) > LONG;
  search.hidden = wanted === "" && !isLong && document.activeElement !== term;
  found.textContent = "";
  if (wanted === "") return;
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  let count = 0;
  for (const one of box.querySelectorAll(".text")) count += markText(one, pattern, count);
  for (const rest of box.querySelectorAll("details:has(mark)")) rest.open = true;
  found.textContent = count === 0 ? "not found" : `${count} found`;
}

function markText(one, pattern, before) {
  const whole = one.textContent;
  const made = [];
  let end = 0;
  for (const hit of whole.matchAll(pattern)) {
    if (before + made.length / 2 >= MOST_MARKS) break;
    made.push(whole.slice(end, hit.index), element("mark", {}, hit[0]));
    end = hit.index + hit[0].length;
  }
  if (made.length > 0) one.replaceChildren(...made, whole.slice(end));
  return made.length / 2;
}

// Shows the next mark, after the last the first.
function nextMark(box) {
  const marks = [...box.querySelectorAll("mark")];
  if (marks.length === 0) return;
  const place = (marks.findIndex((mark) => mark.className === "now") + 1) % marks.length;
  for (const mark of marks) mark.className = "";
  marks[place].className = "now";
  marks[place].scrollIntoView({ block: "center" });
  found.textContent = `${place + 1} of ${marks.length}`;
}

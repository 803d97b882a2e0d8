// Where there are more classes than number keys, letters narrow the list and Enter answers.
"use strict";

const filter = document.getElementById("class"); // null where each class has a key
const matching = document.getElementById("matching");
const choices = filter ? [...document.querySelectorAll("#answers .answer")] : [];
const classes = choices.filter((button) => button.closest(".choices"));
let picked = null; // what Enter answers

function plain(words) {
  return words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

function word(button) {
  return button.firstChild.textContent.trim();
}

function pick(button) {
  picked?.classList.remove("picked");
  picked = button;
  picked?.classList.add("picked");
  picked?.scrollIntoView({ block: "nearest" });
  const there = classes.filter((each) => !each.hidden).length;
  const count = `${there} of ${classes.length}`;
  matching.textContent = picked ? `${count}; Enter answers "${word(picked)}"` : count;
}

// The answers after the list always show: they are taken by their words like a class.
function narrow() {
  const wanted = plain(filter.value);
  for (const button of classes) button.hidden = !plain(word(button)).includes(wanted);
  const found = wanted ? choices.filter((button) => plain(word(button)).includes(wanted)) : [];
  pick(found.find((button) => plain(word(button)).startsWith(wanted)) ?? found[0] ?? null);
}

function step(by) {
  const open = choices.filter((button) => !button.hidden);
  const place = open.indexOf(picked);
  const next = place < 0 && by < 0 ? open.length - 1 : place + by;
  pick(open[(next + open.length) % open.length]);
}

// With another item the list is whole again. Who types the class goes on typing.
function startChoice() {
  if (filter) {
    filter.value = "";
    narrow();
    filter.closest("form").querySelector(".choices").scrollTop = 0;
  }
  if (!filter || document.activeElement !== filter) item.focus({ preventScroll: true });
}

function onFilterKey(event) {
  if (event.key === "ArrowDown") step(1);
  else if (event.key === "ArrowUp") step(-1);
  else if (event.key === "Escape") startAgain();
  else if (event.key !== "Enter") return;
  else if (picked && !event.repeat) answer(picked.value);
  event.preventDefault();
}

function startAgain() {
  filter.blur();
  startChoice();
}

function beginChoices() {
  document.getElementById("filter").hidden = false;
  filter.addEventListener("input", narrow);
  filter.addEventListener("keydown", onFilterKey);
  narrow();
}

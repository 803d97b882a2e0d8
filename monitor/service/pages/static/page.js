// One key answers and shows the next item at once; answers are sent behind it, in their order.
// What was not sent yet is kept in the tab, so that neither a reload nor a server that is away
// loses it. An answer that is sent twice is taken once: each says what it follows.
"use strict";

const FEW = 7; // items left on the screen when more are asked for
const KEPT = 20; // answered items that undo shows again at once
const MOST_WAITING = 10; // answers that may wait for the server before nobody goes on

const main = document.querySelector("main");
const item = document.getElementById("item");
const answers = document.getElementById("answers");
const undo = document.getElementById("undo");
const keys = document.getElementById("keys");
const guideline = document.getElementById("guideline");
const notice = document.getElementById("notice");
const progress = document.getElementById("progress");
const answerOf = new Map(); // the answer of each key
for (const button of document.querySelectorAll("#answers .answer")) {
  for (const key of (button.getAttribute("aria-keyshortcuts") ?? "").split(" ")) answerOf.set(key, button.value);
}
const formToken = undo.elements.form_token.value;
const store = `answers of ${main.dataset.annotator}`;

let waiting = JSON.parse(sessionStorage.getItem(store) ?? "[]");
let queue = []; // items to come, the one on the screen first
let given = []; // answers of this page, the last one last
let moment = null; // what shows while an item is still to come
let sending = false;
let asking = false;
let away = false;
let byTab = false; // whether the last key led elsewhere on the page

function later(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function tell(message) {
  notice.textContent = message;
  notice.hidden = message === "";
}

function keep() {
  sessionStorage.setItem(store, JSON.stringify(waiting));
}

// Showing

// All items stand on the page and one shows, so that what it loads is there before it is seen.
function add(one) {
  if ([...queue, ...given].some((other) => other.task === one.task)) return;
  queue.push(draw(one));
}

function draw(one) {
  one.box = enliven(element("div", { hidden: "" }, ...one.parts.map(section)));
  item.append(one.box);
  return one;
}

function put(box) {
  for (const other of item.children) other.hidden = other !== box;
}

function show() {
  const [now] = queue;
  answers.elements.task.value = now.task;
  answers.elements.revision.value = now.revision;
  put(now.box);
  markIn(now.box);
  window.scrollTo(0, 0);
  startChoice();
}

// Answering

function answer(value) {
  if (queue.length === 0 || waiting.length >= MOST_WAITING) return;
  const now = queue.shift();
  const said = { path: "/label/answer", task: now.task, revision: now.revision, answer: value };
  now.revision += 1;
  given.push(now);
  forget(given.at(-KEPT - 1));
  undo.querySelector("button").disabled = false;
  if (queue.length > 0) show();
  else put(moment);
  send(said);
  refill();
}

// Lets go of an item that nobody will go back to by this page: the server shows it again.
function forget(one) {
  one?.box?.remove();
  if (one) one.box = null;
}

function takeBack() {
  if (given.length === 0 || !given.at(-1).box) {
    takeBackByForm();
    return;
  }
  const last = given.pop();
  const said = { path: "/label/undo", task: last.task, revision: last.revision };
  last.revision += 1;
  queue.unshift(last);
  show();
  undo.querySelector("button").disabled = given.length === 0 && !undo.elements.task.value;
  send(said);
}

// Takes back an answer to an item that this page cannot show again: the server shows it.
function takeBackByForm() {
  if (waiting.length > 0) return;
  const last = given.pop();
  if (last) {
    undo.elements.task.value = last.task;
    undo.elements.revision.value = last.revision;
  }
  if (undo.elements.task.value) undo.submit();
}

function send(said) {
  waiting.push(said);
  keep();
  flush();
}

async function flush() {
  if (sending) return;
  sending = true;
  while (waiting.length > 0) {
    const { path, ...fields } = waiting[0];
    const body = new URLSearchParams({ form_token: formToken, ...fields });
    const response = await asked(path, { method: "POST", body, keepalive: true });
    if (response === null) {
      await later(1000);
      continue;
    }
    if (response.status === 401 || response.status === 403) {
      tell((await saidIn(response)).message);
      return; // kept: a new visit sends it
    }
    waiting.shift();
    keep();
    const said = await saidIn(response);
    if (response.ok) progress.textContent = said.progress;
    else tell(said.message);
  }
  sending = false;
  await refill();
}

// What an answer of the server says; what refuses a request before the page sees it says so in words.
async function saidIn(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { message: text };
  }
}

// Asks the server; null while it is away. An answer of what stands before it is none: only what the
// page itself says (JSON), or that nobody may ask it, ends the waiting.
async function asked(path, options = {}) {
  try {
    const response = await fetch(path, { headers: { accept: "application/json" }, ...options });
    const isOurs = response.headers.get("content-type")?.startsWith("application/json");
    if (response.status < 500 && (isOurs || [401, 403].includes(response.status))) {
      if (away) tell("");
      away = false;
      return response;
    }
  } catch {
    // it does not answer
  }
  away = true;
  const kept = waiting.length === 0 ? "" : ` Answers kept in this tab: ${waiting.length}.`;
  tell(`The server does not answer; trying again.${kept} Do not close this tab.`);
  return null;
}

async function refill() {
  if (!item || asking || queue.length > FEW) return;
  asking = true;
  const response = await asked("/label/next");
  if (response?.ok) {
    const next = await response.json();
    if (next.round === main.dataset.round) next.items.forEach(add);
  }
  asking = false;
  if (response === null) {
    await later(1000);
    refill();
  } else if (queue.length === 0 && waiting.length === 0) location.assign("/label");
  else if (queue.length > 0 && answers.elements.task.value !== queue[0].task) show();
}

// What begins it

function onKey(event) {
  byTab = event.key === "Tab";
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.target.closest("input, textarea, select")) return;
  if (keys.getAttribute("aria-pressed") === "false") return;
  const key = event.key.toLowerCase();
  if (answerOf.has(key)) answer(answerOf.get(key));
  else if (key === "c" && filter) filter.focus();
  else if (key === "u") takeBack();
  else if (key === "g" && guideline) guideline.open = !guideline.open;
  else if (key === "/") look();
  else return;
  event.preventDefault();
}

function look() {
  search.hidden = false;
  term.focus();
  term.select();
}

function onSearchKey(event) {
  if (event.key === "Enter" && queue.length > 0) nextMark(queue[0].box);
  else if (event.key === "Escape") item.focus();
  else return;
  event.preventDefault();
}

// A click into a frame would take the keys away from the answers; who comes by Tab wants to scroll.
function onFrame() {
  if (document.activeElement?.localName === "iframe" && !byTab) {
    setTimeout(() => item.focus({ preventScroll: true }));
  }
}

function onForm(event) {
  event.preventDefault();
  answer(event.submitter.value);
}

function begin() {
  const { task, revision } = answers.elements; // on the screen already
  const box = enliven(item.firstElementChild);
  queue.push({ task: task.value, revision: Number(revision.value), box });
  moment = text("One moment...");
  item.append(moment);
  put(box);
  markIn(box);
  keys.hidden = false;
  if (filter) beginChoices();
  keys.setAttribute("aria-pressed", localStorage.getItem("keys") !== "off");
  keys.addEventListener("click", () => {
    const on = keys.getAttribute("aria-pressed") === "false";
    keys.setAttribute("aria-pressed", on);
    localStorage.setItem("keys", on ? "on" : "off");
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("pointerdown", () => (byTab = false));
  window.addEventListener("blur", onFrame);
  term.addEventListener("input", () => queue.length > 0 && markIn(queue[0].box));
  term.addEventListener("keydown", onSearchKey);
  answers.addEventListener("submit", onForm);
  // The second click of a double one meets the next item, which nobody has read.
  answers.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  undo.addEventListener("submit", (event) => {
    event.preventDefault();
    takeBack();
  });
  refill();
}

async function resume() {
  const count = waiting.length;
  if (count > 0) {
    tell(`Answers kept in this tab are sent now: ${count}.`);
    await flush();
    if (waiting.length === 0) location.reload();
    return;
  }
  if (item) begin();
}

// What waits survives a reload of the tab, but not its end.
window.addEventListener("beforeunload", (event) => waiting.length > 0 && event.preventDefault());
resume();
